package dev.bellwether.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** Sees to it that the tables are there. */
final class Tables {
    private static final String PROBE =
            "SELECT election, token, candidate, nonce, priority, metadata, since_at, expires_at,"
                    + " term, stand_down, ended, era, listed, note, {now} FROM {from} WHERE 1 = 0";
    private static final String PROBE_CANDIDATES =
            "SELECT election, candidate, priority, metadata, until_at, heard_at FROM {c} WHERE 1 = 0";

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private Tables() {}

    /** Checks that the tables have what we need, having created them if they were missing and may be created. */
    static void require(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        try {
            probe(connection, dialect, config);
        } catch (SQLException e) {
            if (SqlErrors.kindOf(e) != SqlErrors.Kind.NO_TABLE || !config.createTable()) {
                throw e;
            }
            create(connection, dialect, config);
        }
    }

    /** Returns the SQL that lets the user of this connection stand. */
    static String grant(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        var rights = "GRANT SELECT, INSERT, UPDATE, DELETE ON ";
        var schema = config.table().indexOf('.') < 0
                ? ""
                : config.table().substring(0, config.table().indexOf('.'));
        return switch (dialect) {
            case POSTGRESQL -> {
                var user = text(connection, "SELECT quote_ident(current_user)");
                yield (schema.isEmpty() ? "" : "GRANT USAGE ON SCHEMA " + schema + " TO " + user + "; ") + rights
                        + config.table() + ", " + config.candidateTable() + " TO " + user;
            }
            case MARIADB -> {
                var user = text(connection, "SELECT CURRENT_USER()");
                var at = user.lastIndexOf('@');
                var grantee = " TO '" + user.substring(0, at).replace("'", "''") + "'@'" + user.substring(at + 1) + "'";
                var database = schema.isEmpty() ? text(connection, "SELECT DATABASE()") + '.' : "";
                yield rights + database + config.table() + grantee + "; " + rights + database + config.candidateTable()
                        + grantee;
            }
            case H2 ->
                rights + config.table() + ", " + config.candidateTable() + " TO "
                        + text(connection, "SELECT CURRENT_USER");
            case SQLITE -> ""; // it knows no users
        };
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            result.next();
            return String.valueOf(result.getString(1));
        }
    }

    /** Returns the name of the table with that of its schema, on PostgreSQL. */
    static String qualifiedName(Connection connection, SqlConfig config) throws SQLException {
        var sql = "SELECT concat_ws('.', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid ="
                + " c.relnamespace"
                + " WHERE c.oid = CAST(? AS regclass)";
        try (var statement = connection.prepareStatement(sql)) {
            statement.setString(1, config.table());
            try (var result = statement.executeQuery()) {
                result.next();
                return result.getString(1);
            }
        }
    }

    /**
     * Creates what is missing. Another process may be quicker, and not every database waits for it: who fails looks
     * whether all is there by now, and else tries again, because the other has made one table and not yet the next.
     */
    private static void create(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        for (var tries = dialect.ddl().size(); ; tries--) {
            try {
                for (var sql : dialect.ddl()) {
                    execute(connection, dialect, dialect.fill(sql, config));
                }
                return;
            } catch (SQLException e) {
                try {
                    probe(connection, dialect, config);
                    return;
                } catch (SQLException stillMissing) {
                    if (tries == 0) {
                        e.addSuppressed(stillMissing);
                        throw e;
                    }
                }
            }
        }
    }

    private static void probe(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        execute(connection, dialect, dialect.fill(PROBE.replace("{from}", dialect.pathOfToken("{e} e")), config));
        execute(connection, dialect, dialect.fill(PROBE_CANDIDATES, config));
    }

    /** Returns whether a candidate could stand. */
    static boolean isWritable(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        try {
            requireWritable(connection, dialect, config);
            return true;
        } catch (SQLException e) {
            if (SqlErrors.kindOf(e) == SqlErrors.Kind.NO_RIGHT || SqlErrors.kindOf(e) == SqlErrors.Kind.READ_ONLY) {
                return false;
            }
            throw e;
        }
    }

    /**
     * Changes nothing, but needs the rights to: what a candidate must be allowed, and nobody who only looks. No
     * election has an empty name, and MariaDB with sql_safe_updates refuses what asks for no key.
     */
    static void requireWritable(Connection connection, Dialect dialect, SqlConfig config) throws SQLException {
        // a claim skips what others have locked, which servers that are too old do not understand
        execute(
                connection,
                dialect,
                dialect.fill("SELECT e.election FROM {e} e WHERE 1 = 0" + dialect.lockToGrant(), config));
        execute(connection, dialect, dialect.fill("UPDATE {e} SET token = token + 1 WHERE election = ''", config));
        execute(
                connection,
                dialect,
                dialect.fill("INSERT INTO {e} (election) SELECT election FROM {e} WHERE 1 = 0", config));
        execute(connection, dialect, dialect.fill("UPDATE {c} SET priority = 0 WHERE election = ''", config));
        execute(
                connection,
                dialect,
                dialect.fill(
                        "INSERT INTO {c} (election, candidate, priority, metadata, until_at)"
                                + " SELECT election, candidate, priority, metadata, until_at FROM {c} WHERE 1 = 0",
                        config));
        execute(connection, dialect, dialect.fill("DELETE FROM {c} WHERE election = ''", config));
    }

    private static void execute(Connection connection, Dialect dialect, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            dialect.patiently(PATIENCE, () -> statement.execute(sql));
        }
    }
}
