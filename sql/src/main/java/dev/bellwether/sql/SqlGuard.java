package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Checks a mandate in the transaction that it is to protect, where the data and the elections are in one database.
 *
 * <p>Immutable. A transaction that passes the check holds a lock until it ends, and no successor is granted the seat
 * before. A leader that has a successor does not pass, however long it was paused before it asked. So of two leaders'
 * guarded transactions, all of the first's come before all of the second's. Nothing is promised for what the
 * transaction does outside the database.
 *
 * <p>Keep guarded transactions short: the successor waits for them. On PostgreSQL, MariaDB and MySQL the leader's
 * renewals go on meanwhile; on H2 and SQLite they wait too, so that a guarded transaction that outlasts the lease costs
 * the mandate.
 *
 * <p>End a transaction that was refused at once. On MariaDB and MySQL it keeps a gap of an index locked, unless it is
 * READ COMMITTED, and one other election gets no leader meanwhile.
 */
public final class SqlGuard {
    private final SqlConfig config;

    private SqlGuard(SqlConfig config) {
        this.config = config;
    }

    /** Guards by the tables of the default settings. */
    public static SqlGuard defaults() {
        return of(SqlConfig.defaults());
    }

    /** Guards by the tables of these settings. */
    public static SqlGuard of(SqlConfig config) {
        return new SqlGuard(config);
    }

    /**
     * Returns normally if the mandate holds, and sees to it that nobody else's begins before this transaction ends.
     *
     * @throws NotLeaderException if it does not: roll back
     * @throws ElectionException if the connection commits each statement by itself, so that there is nothing to protect
     */
    public void check(Connection connection, Mandate mandate) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new ElectionException("the guard of \"" + mandate.election()
                    + "\" needs a transaction: call setAutoCommit(false) on the connection first");
        }
        mandate.ensure();
        var dialect = Dialect.of(connection);
        try (var statement = connection.prepareStatement(dialect.fill(dialect.guard(), config))) {
            bind(statement, 1, mandate);
            if (!passes(statement)) {
                throw new NotLeaderException("candidate \"" + mandate.candidate() + "\" does not hold the seat of \""
                        + mandate.election() + "\" under token " + mandate.token() + " any more: roll back");
            }
        }
    }

    /**
     * Returns a condition for a statement of yours, such as {@code UPDATE … WHERE id = ? AND } this, which then does
     * what {@link #check} does, except for asking the mandate itself. A statement that changes no row was refused: roll
     * back. It has two parameters, the election's name and the token: see {@link #bind}.
     */
    public String condition(Connection connection) throws SQLException {
        var dialect = Dialect.of(connection);
        return dialect.fill("EXISTS (" + dialect.guardQuery() + ")", config);
    }

    /** Sets the parameters of {@link #condition}, the first of which has this index. Returns the next index. */
    public int bind(PreparedStatement statement, int index, Mandate mandate) throws SQLException {
        statement.setString(index, mandate.election());
        statement.setLong(index + 1, mandate.token());
        return index + 2;
    }

    private static boolean passes(PreparedStatement statement) throws SQLException {
        if (!statement.execute()) {
            return statement.getUpdateCount() == 1;
        }
        try (var result = statement.getResultSet()) {
            return result.next();
        }
    }
}
