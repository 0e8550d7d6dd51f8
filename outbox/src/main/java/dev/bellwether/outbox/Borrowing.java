package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Borrows connections of a data source, each within a time: many a source waits for a silent server forever.
 *
 * <p>What is given up waits on, with a thread here and perhaps a session there. So of those there are a few: who comes
 * then waits for the first of them that is served, and begins one of its own rarely, in case they wait for a server
 * that has gone. Thread-safe.
 */
final class Borrowing {
    private static final Logger LOG = LoggerFactory.getLogger(Borrowing.class);
    private static final int MOST = 8;
    private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MOST_PAUSES = 10;

    private final DataSource database;
    private final Duration patience;
    private final String threads;
    private final LongSupplier nanoTime;
    /** Who waits for a connection, and who of them began no attempt. */
    private final Deque<CompletableFuture<Connection>> waiting = new ArrayDeque<>(); // guarded by this, as are the next

    private final Deque<CompletableFuture<Connection>> guests = new ArrayDeque<>();
    private int attempts;
    private long begunNanos;

    /**
     * Serves this source.
     *
     * @param threads how threads are called that wait for it
     */
    Borrowing(DataSource database, Duration patience, String threads, LongSupplier nanoTime) {
        this.database = database;
        this.patience = patience;
        this.threads = threads;
        this.nanoTime = nanoTime;
    }

    Connection borrow() throws SQLException {
        var wanted = new CompletableFuture<Connection>();
        try {
            begin(wanted);
            return wanted.get(patience.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            var late = new SQLTransientConnectionException(
                    "no connection to the database within " + patience.toMillis() + " ms");
            if (wanted.completeExceptionally(late)) {
                throw late;
            }
            return wanted.join();
        } catch (InterruptedException e) {
            if (!wanted.cancel(false) && !wanted.isCompletedExceptionally()) {
                wanted.join().close();
            }
            Thread.currentThread().interrupt();
            throw new SQLTransientConnectionException("interrupted while waiting for a connection", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException cause) {
                throw cause;
            }
            throw new SQLTransientConnectionException("no connection to the database", e.getCause());
        } finally {
            forget(wanted);
        }
    }

    private synchronized void begin(CompletableFuture<Connection> wanted) {
        waiting.add(wanted);
        var now = nanoTime.getAsLong();
        var pauses = Math.min(MOST_PAUSES, attempts - MOST + 1);
        if (pauses > 0 && now - begunNanos < pauses * PAUSE_NANOS) {
            guests.add(wanted);
            return;
        }
        var thread = new Thread(() -> attempt(wanted), threads);
        thread.setDaemon(true);
        thread.start();
        attempts++;
        begunNanos = now;
    }

    private synchronized void forget(CompletableFuture<Connection> wanted) {
        waiting.removeIf(one -> one == wanted);
        guests.removeIf(one -> one == wanted);
    }

    private synchronized void ended() {
        attempts--;
    }

    private synchronized @Nullable CompletableFuture<Connection> first(Deque<CompletableFuture<Connection>> of) {
        return of.poll();
    }

    private void attempt(CompletableFuture<Connection> own) {
        Connection connection;
        try {
            connection = database.getConnection();
        } catch (SQLException | RuntimeException | Error e) {
            ended();
            var told = own.completeExceptionally(e) ? null : first(guests);
            if (told != null) {
                told.completeExceptionally(e);
            }
            return;
        }
        ended();
        for (var next = own; next != null; next = first(waiting)) {
            if (next.complete(connection)) {
                return;
            }
        }
        try {
            connection.close(); // nobody waits for it any more
        } catch (SQLException | RuntimeException e) {
            LOG.debug("a connection that came late could not be given back", e);
        }
    }
}
