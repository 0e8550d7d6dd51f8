package dev.bellwether.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one connection over which statements go: kept if it is ours, borrowed for each use if it is the user's.
 *
 * <p>Confined to one thread, except {@link #abort}.
 */
final class Session {
    private static final Logger log = LoggerFactory.getLogger(Session.class);

    private final Source source;
    private volatile @Nullable Connection current;

    Session(Source source) {
        this.source = source;
    }

    /** What is done over the connection. */
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Does it, and waits for no answer longer than this. A connection on which anything failed is not used again. */
    <T> T use(Duration patience, Work<T> work) throws SQLException {
        var connection = current;
        if (connection == null) {
            connection = source.open(patience);
            current = connection;
        }
        var whole = false;
        var before = limit(connection, Math.toIntExact(patience.toMillis()));
        try {
            var committed = commitByItself(connection);
            var value = work.on(connection);
            if (!committed) {
                connection.setAutoCommit(false);
            }
            whole = true;
            return value;
        } finally {
            if (!whole) {
                drop(connection);
            } else if (!source.isOurs()) {
                if (before >= 0) {
                    limit(connection, before);
                }
                drop(connection);
            }
        }
    }

    /** Ends whatever is waited for. For any thread. */
    void abort() {
        var connection = current;
        if (connection != null) {
            try {
                connection.abort(Runnable::run);
            } catch (SQLException | AbstractMethodError e) {
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

    private void drop(Connection connection) {
        current = null;
        try {
            connection.close();
        } catch (SQLException e) {
            log.debug("could not close a connection to {}", source, e);
        }
    }

    /**
     * Makes each statement a transaction of its own, unless we begin one. A data source may lend its connections otherwise, and
     * what is not committed is undone when they are given back. Returns whether it was so already.
     */
    static boolean commitByItself(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            return true;
        }
        connection.setAutoCommit(true);
        return false;
    }

    /** Bounds the wait for the network. Returns the bound before, or -1 if the driver has none: it is local, or waits for ever. */
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
