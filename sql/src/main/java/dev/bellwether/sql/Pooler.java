package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.postgresql.PGConnection;

/**
 * What PgBouncer or its like, between us and PostgreSQL, makes of our connections.
 *
 * <p>Immutable.
 */
enum Pooler {
    /** There is none: a connection is a session of the server. */
    NONE,
    /** Each connection has a session of the server to itself, as if there were none. */
    SESSION,
    /** A session of the server serves one connection now and another then. */
    TRANSACTION;

    /*
     * A pooler tells each client a number as that of the server's process, by which the client may cancel a statement.
     * It is made up, since the process changes; the server itself tells the true one. Two open connections that are
     * served by one process share it, and so does one that is served by two. A pool hands out the session that was used
     * last, or all in turn, so that two who ask in turn find it out unless others come between: therefore several
     * tries.
     */
    private static final int TRIES = 5;

    /** Returns whether there is one between this connection and the server. */
    static boolean isBetween(Connection connection) throws SQLException {
        try {
            return connection.isWrapperFor(PGConnection.class)
                    && connection.unwrap(PGConnection.class).getBackendPID() != process(connection);
        } catch (NoClassDefFoundError otherDriver) {
            return false; // which nobody can say
        }
    }

    /** Returns the process of the server that has served this. */
    static int process(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT pg_backend_pid()")) {
            result.next();
            return result.getInt(1);
        }
    }

    /** Finds out what this connection goes through; opens another to the same place if there is a pooler. */
    static Pooler of(Connection connection, Source source, Duration patience) throws SQLException {
        if (!isBetween(connection)) {
            return NONE;
        }
        var first = process(connection);
        try (var other = source.open(patience)) {
            for (var i = 0; i < TRIES; i++) {
                if (process(other) == first || process(connection) != first) {
                    return TRANSACTION;
                }
            }
        }
        return SESSION;
    }

    /**
     * Keeps our statements out of the sessions of others: who prepares one in a session that it shares may find that of
     * another there, under the same name.
     */
    static Connection settled(Connection connection, boolean prepares) throws SQLException {
        var whole = false;
        try {
            if (!prepares && isBetween(connection)) {
                connection.unwrap(PGConnection.class).setPrepareThreshold(0);
            }
            whole = true;
            return connection;
        } finally {
            if (!whole) {
                connection.close();
            }
        }
    }

    /**
     * Checks that a transaction may have several statements, which some of ours have, and each guarded one.
     *
     * @throws ElectionException if a pooler forbids it
     */
    static void requireTransactions(Connection connection, Source source) throws SQLException {
        if (!isBetween(connection)) {
            return;
        }
        connection.setAutoCommit(false);
        try {
            process(connection);
            connection.commit();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            if (String.valueOf(e.getMessage()).contains("statement pooling")) {
                throw new ElectionException(
                        source
                                + " is reached through a pooler in statement mode, which allows no transactions:"
                                + " orders to an election need them, and so does SqlGuard. Set pool_mode ="
                                + " transaction or session for this database in the pooler, or give the server's own"
                                + " address (it said: "
                                + source.redact(String.valueOf(e.getMessage())).strip() + ")",
                        e);
            }
            throw e;
        }
    }
}
