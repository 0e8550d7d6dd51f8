package dev.bellwether.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears what is announced, over a connection of its own on a thread of its own.
 *
 * <p>All methods are for any thread. Announcements are told as they come; one that was made while there was no connection is
 * lost, so that whoever relies on them must look for himself once it is there again.
 */
final class PostgresListener {
    /*
     * A pooler between us and the server may accept LISTEN and never deliver. So we believe only what we have seen: after LISTEN, a
     * probe is sent over the other connection, and must arrive. The same goes on later, without a statement more: who announces
     * must hear himself.
     */
    private static final Logger log = LoggerFactory.getLogger(PostgresListener.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final int NAP_MILLIS = 10_000;
    private static final int PROBE_MILLIS = 2_000;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long POOLED_RETRY_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long WAKE_MILLIS = 500;
    private static final long CLOSE_MILLIS = 2_000;

    private final Source source;
    private final String channel;
    private final Ears ears;
    private final Thread thread;
    private volatile @Nullable Connection connection;
    private volatile @Nullable Connection aborted;
    private volatile boolean closed;
    private volatile boolean probed;
    private boolean warned;

    /** What the listener serves. */
    interface Ears {
        /** Sends a probe over another connection. */
        void probe();

        /** It is certain from now on that announcements arrive; earlier ones may have been missed. */
        void listening();

        /** Announcements do not arrive. */
        void deaf();

        /** One came. */
        void heard(PostgresSeats.Announcement announcement);
    }

    PostgresListener(Source source, String channel, Ears ears) {
        this.source = source;
        this.channel = channel;
        this.ears = ears;
        thread = new Thread(this::run, "bellwether-sql-listen-" + SERIAL.incrementAndGet());
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void close() {
        closed = true;
        ears.probe(); // wakes it, so that a borrowed connection is given back in good order
        LockSupport.unpark(thread);
        try {
            thread.join(WAKE_MILLIS);
            if (thread.isAlive()) {
                abort();
                thread.join(CLOSE_MILLIS);
            }
        } catch (InterruptedException e) {
            abort();
            Thread.currentThread().interrupt();
        }
    }

    private void abort() {
        var current = connection;
        if (current != null) {
            aborted = current;
            try {
                current.abort(Runnable::run);
            } catch (SQLException e) {
                log.debug("could not abort the listening connection to {}", source, e);
            }
        }
    }

    private void run() {
        while (!closed) {
            var retryNanos = RETRY_NANOS;
            try (var opened = source.open(Duration.ofMillis(PROBE_MILLIS))) {
                connection = opened;
                retryNanos = listen(opened);
            } catch (SQLException e) {
                log.debug("not listening to {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            } catch (RuntimeException e) {
                log.error("a fault in listening to {}", source, e);
            }
            connection = null;
            ears.deaf();
            if (!closed) {
                LockSupport.parkNanos(retryNanos);
            }
        }
    }

    /** Listens until the connection breaks. Returns how long to wait before the next try. */
    private long listen(Connection opened) throws SQLException {
        var before = Session.limit(opened, PROBE_MILLIS);
        var committed = Session.commitByItself(opened);
        var notifications = opened.unwrap(PGConnection.class);
        try (var statement = opened.createStatement()) {
            statement.execute("LISTEN " + channel);
        }
        try {
            probed = false;
            ears.probe();
            var deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PROBE_MILLIS);
            while (!closed && !probed && System.nanoTime() - deadline < 0) {
                hear(notifications, PROBE_MILLIS);
            }
            if (!probed && !closed) {
                if (!warned) {
                    warned = true;
                    log.warn(
                            "what is announced on {} does not arrive, perhaps because of a pooler that shares connections"
                                    + " between clients: polling instead. Hand-over takes longer; give a direct address",
                            source);
                }
                return POOLED_RETRY_NANOS;
            }
            warned = false;
            ears.listening();
            while (!closed) {
                hear(notifications, NAP_MILLIS);
            }
        } finally {
            leave(opened, before, committed);
        }
        return RETRY_NANOS;
    }

    private void hear(PGConnection notifications, int millis) throws SQLException {
        var heard = notifications.getNotifications(millis);
        if (heard != null) {
            for (var one : heard) {
                var announcement = PostgresSeats.parse(one.getParameter());
                if (announcement.row() == null) {
                    probed = true;
                } else {
                    ears.heard(announcement);
                }
            }
        }
    }

    /** Gives a borrowed connection back as it was, unless nothing is left of it. */
    private void leave(Connection opened, int networkTimeout, boolean committed) {
        if (opened.equals(aborted)) {
            return;
        }
        try (var statement = opened.createStatement()) {
            statement.execute("UNLISTEN " + channel);
            opened.setAutoCommit(committed);
            Session.limit(opened, Math.max(0, networkTimeout));
        } catch (SQLException e) {
            log.debug("could not stop listening to {}", source, e); // it is broken, and the pool will see that
        }
    }
}
