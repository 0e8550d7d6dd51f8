package dev.bellwether.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one connection over which statements go: kept if it is ours, borrowed for each use if it is the user's.
 *
 * <p>Confined to one thread, except {@link #abort} and {@link #isStarved}.
 */
final class SqlConnection {
    /*
     * A database that refuses us is not asked all the time: after each failure there is a pause, which grows, and in
     * which a use fails with the error of the last try. The longest is short against a retry interval, so that the end
     * of an outage is noticed in time.
     */
    private static final Logger log = LoggerFactory.getLogger(SqlConnection.class);
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);
    private static final long MOST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private final Source source;
    private volatile @Nullable Connection current;
    private volatile @Nullable Long openingSinceNanos;
    private boolean isLimited; // in how long it waits for locks, whatever goes over it
    private long pauseNanos;
    private long notBeforeNanos;
    private @Nullable SQLException refusal;

    SqlConnection(Source source) {
        this.source = source;
    }

    /** What is done over the connection. */
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * Does it, and waits for no answer longer than this. A connection of ours on which anything failed is not used
     * again, unless the server has only refused a statement; a borrowed one is given back as it came.
     */
    <T> T use(Duration patience, Work<T> work) throws SQLException {
        var connection = current;
        if (connection == null) {
            connection = open(patience);
            current = connection;
        }
        var whole = false;
        var before = -1;
        Boolean committed = null;
        try {
            before = limit(connection, millis(patience));
            committed = connection.getAutoCommit(); // also if that cannot be changed
            commitByItself(connection);
            var value = work.on(
                    isLimited && LockLimit.isEnough(patience) ? connection : LockLimit.on(connection, patience));
            whole = true;
            return value;
        } catch (SQLException e) {
            whole = SqlErrors.isOfOneStatement(e) && isAsBefore(connection, e);
            throw e;
        } finally {
            if (!source.isOurs()) {
                putBack(connection, before, committed);
                drop(connection);
            } else if (!whole) {
                drop(connection);
            }
        }
    }

    /** Whether no transaction is left open, as far as the driver knows. */
    private static boolean isAsBefore(Connection connection, SQLException failed) {
        try {
            return failed.getSuppressed().length == 0 // as there is of an undoing that has failed
                    && !connection.isClosed()
                    && connection.getAutoCommit();
        } catch (SQLException e) {
            failed.addSuppressed(e);
            return false;
        }
    }

    private Connection open(Duration patience) throws SQLException {
        var last = refusal;
        if (last != null && System.nanoTime() - notBeforeNanos < 0) {
            throw new SQLException(last.getMessage(), last.getSQLState(), last.getErrorCode(), last);
        }
        openingSinceNanos = System.nanoTime();
        try {
            var opened = source.open(patience);
            isLimited = source.isOurs() && limitSession(opened);
            refusal = null;
            pauseNanos = 0;
            return opened;
        } catch (SQLException e) {
            refusal = e;
            pauseNanos = Math.max(LEAST_PAUSE_NANOS, Math.min(MOST_PAUSE_NANOS, 2 * pauseNanos));
            notBeforeNanos = System.nanoTime() + jittered(pauseNanos);
            throw e;
        } finally {
            openingSinceNanos = null;
        }
    }

    private static boolean limitSession(Connection opened) throws SQLException {
        var whole = false;
        try {
            var limited = LockLimit.ofSession(opened);
            whole = true;
            return limited;
        } finally {
            if (!whole) {
                opened.close();
            }
        }
    }

    /** Returns between half of it and all of it, so that many who were refused at once do not come back at once. */
    static long jittered(long nanos) {
        return nanos - ThreadLocalRandom.current().nextLong(nanos / 2);
    }

    /** Returns whether we have waited for a connection for longer than this. For any thread. */
    boolean isStarved(long nanos) {
        var since = openingSinceNanos;
        return since != null && System.nanoTime() - since > nanos;
    }

    /** Ends whatever is waited for. For any thread. */
    void abort() {
        var connection = current;
        if (connection != null) {
            try {
                connection.abort(Runnable::run);
            } catch (SQLException | RuntimeException | AbstractMethodError e) {
                log.debug("could not abort a connection to {}", source, e);
            }
        }
    }

    void close() {
        var connection = current;
        if (connection != null) {
            drop(connection);
        }
    }

    /**
     * Gives it back as it came.
     *
     * @param networkTimeout less than 0 if it was not changed
     * @param committed null if it was not changed
     */
    private void putBack(Connection connection, int networkTimeout, @Nullable Boolean committed) {
        try {
            if (!connection.getAutoCommit()) {
                connection.rollback(); // of what was begun and neither done nor undone
            }
            if (committed != null && connection.getAutoCommit() != committed) {
                connection.setAutoCommit(committed);
            }
        } catch (SQLException | RuntimeException e) {
            log.debug("could not put a borrowed connection to {} back as it was", source, e); // the pool will see that
        }
        if (networkTimeout >= 0) {
            limit(connection, networkTimeout);
        }
    }

    private void drop(Connection connection) {
        current = null;
        try {
            connection.close();
        } catch (SQLException | RuntimeException e) {
            log.debug("could not close a connection to {}", source, e);
        }
    }

    /**
     * Makes each statement a transaction of its own, unless we begin one. A data source may lend its connections
     * otherwise, and what is not committed is undone when they are given back. Returns whether it was so already.
     */
    static boolean commitByItself(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            return true;
        }
        connection.setAutoCommit(true);
        return false;
    }

    /** Returns the time as drivers want it, who know 24.8 days at most. */
    static int millis(Duration time) {
        return time.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0
                ? Integer.MAX_VALUE
                : Math.max(1, (int) time.toMillis());
    }

    /**
     * Bounds the wait for the network. Returns the bound before, or -1 if the driver has none: it is local, or waits
     * forever.
     */
    static int limit(Connection connection, int millis) {
        try {
            var before = connection.getNetworkTimeout();
            connection.setNetworkTimeout(Runnable::run, millis);
            return before;
        } catch (SQLFeatureNotSupportedException | AbstractMethodError e) {
            return -1;
        } catch (SQLException e) {
            log.debug("could not set the network timeout", e);
            return -1;
        }
    }
}
