package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection of the user's data source. It fails if the database is silent or a lock cannot be had, it commits each
 * statement, and it is given back as it was. Confined to one thread at a time, except {@link #breakOff}, which any
 * thread may call.
 */
final class LentConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LentConnection.class);

    private final Connection connection;
    private final Store store;
    private final Duration patience;
    private final int timeoutBefore;
    private final boolean commitsBefore;
    private int isolationBefore;
    /** Who made it fit for its work; null if nobody has. */
    private @Nullable Store preparedBy;

    private LentConnection(Connection connection, Store store, Duration patience) throws SQLException {
        this.connection = connection;
        this.store = store;
        this.patience = patience;
        timeoutBefore = connection.getNetworkTimeout();
        commitsBefore = connection.getAutoCommit();
    }

    /** Takes over a connection, also if that fails: then it has been closed. */
    static LentConnection of(Connection connection, OutboxTable table, Duration patience) throws SQLException {
        try {
            var lent = new LentConnection(connection, Store.of(connection, table), patience);
            connection.setNetworkTimeout(Runnable::run, (int) patience.toMillis());
            connection.setAutoCommit(true); // a pool may have it off, and nobody would commit what is made here
            lent.store.limitWaits(connection, patience);
            return lent;
        } catch (SQLException | RuntimeException | Error e) {
            end(connection);
            throw e;
        }
    }

    /** Makes it fit for reading or deleting, until it is given back. */
    void prepare(Store by, boolean deletes) throws SQLException {
        isolationBefore = connection.getTransactionIsolation();
        preparedBy = by;
        by.prepare(connection, deletes);
    }

    Connection connection() {
        return connection;
    }

    /** Gives it back as it was; breaks it off if that cannot be. */
    @Override
    public void close() {
        try {
            var by = preparedBy;
            if (by != null) {
                by.restore(connection);
                // by the same means as it was changed, else the pool believes in another than the session has
                connection.setTransactionIsolation(isolationBefore);
            }
            store.unlimitWaits(connection);
            connection.setAutoCommit(commitsBefore);
            connection.setNetworkTimeout(Runnable::run, timeoutBefore);
            connection.close();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("a connection was broken when it was given back", e);
            end(connection);
        }
    }

    /** Breaks it off while a thread may be waiting for the database, and gives it back when that thread has ended. */
    void breakOff(Thread user) {
        abort(connection);
        var thread = new Thread(() -> closeAfter(user), user.getName() + "-connection");
        thread.setDaemon(true);
        thread.start();
    }

    private void closeAfter(Thread user) {
        try {
            user.join(patience.toMillis()); // a pool's connection is not for two threads
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        closeBroken(connection);
    }

    /*
     * A pool gets its place back by close() alone. But to close a connection that is not as it was would be to lend it
     * to others like that: it is aborted first, so that the pool finds it broken.
     */
    private static void end(Connection connection) {
        abort(connection);
        closeBroken(connection);
    }

    /** Ends whatever is waited for on it. From any thread. */
    static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException | AbstractMethodError e) { // a pool's, on any thread
            LOG.debug("a connection could not be broken off", e);
        }
    }

    private static void closeBroken(Connection connection) {
        try {
            connection.close();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("a broken connection could not be closed", e);
        }
    }
}
