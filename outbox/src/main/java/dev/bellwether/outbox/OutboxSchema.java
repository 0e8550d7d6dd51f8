package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxTable.Layout;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tables, for those who make them by their own means. */
public final class OutboxSchema {
    private static final Logger LOG = LoggerFactory.getLogger(OutboxSchema.class);
    private static final Set<String> MISSING = Set.of("42P01", "3F000", "42S02");
    private static final Set<String> NO_RIGHT = Set.of("42501", "42000");

    private OutboxSchema() {}

    /**
     * Returns the statements, each ended by a semicolon, that make the tables on this kind of database. Changes
     * nothing.
     */
    public static String ddl(Connection connection, OutboxTable table) throws SQLException {
        return ddl(connection, table, OutboxForm.PLAIN);
    }

    /**
     * The same, for a table of this form.
     *
     * @throws IllegalArgumentException if there is no such form on this kind of database
     */
    public static String ddl(Connection connection, OutboxTable table, OutboxForm form) throws SQLException {
        return text(Store.of(connection, table).in(form).ddl());
    }

    /**
     * Returns the statements that make a trigger on the table, so that plain INSERTs wake an idle relay, too. Messages
     * that {@link Outbox} has stashed do so without. Changes nothing.
     *
     * <p>A transaction that wakes a relay cannot be prepared (PREPARE TRANSACTION, which XA uses).
     *
     * @throws IllegalArgumentException if this database cannot wake anybody: MariaDB and MySQL
     */
    public static String wakeUpTrigger(Connection connection, OutboxTable table) throws SQLException {
        var wakeUps = Store.of(connection, table).wakeUps();
        if (wakeUps.isEmpty()) {
            throw new IllegalArgumentException("no trigger on " + table.name() + " could wake a relay: "
                    + connection.getMetaData().getDatabaseProductName()
                    + " has nothing like NOTIFY; relays of this table look for rows at intervals (maxPoll)");
        }
        return text(wakeUps.get().trigger());
    }

    /** Makes what is missing of the tables, as {@link #create}, and returns the statements that did. */
    public static String migrate(Connection connection, OutboxTable table) throws SQLException {
        var store = Store.of(connection, table).asFound(connection);
        var statements = missing(connection, store);
        execute(connection, store, statements);
        return text(statements);
    }

    /** Returns which form the table of this name has; empty if there is none. */
    public static Optional<OutboxForm> form(Connection connection, OutboxTable table) throws SQLException {
        return exists(connection, table.name())
                ? Optional.of(Store.of(connection, table).asFound(connection).form())
                : Optional.empty();
    }

    /** Returns which layout the table of this name has; empty if there is none. */
    public static Optional<Layout> layout(Connection connection, String name) throws SQLException {
        if (!exists(connection, new OutboxTable(name, Layout.BELLWETHER).name())) {
            return Optional.empty();
        }
        try (var query = connection.createStatement();
                var result = query.executeQuery("SELECT * FROM " + name + " WHERE 1 = 0")) {
            var columns = result.getMetaData();
            for (var column = 1; column <= columns.getColumnCount(); column++) {
                if (columns.getColumnName(column).equalsIgnoreCase("kafka_topic")) {
                    return Optional.of(Layout.GOHARVEST);
                }
            }
            return Optional.of(Layout.BELLWETHER);
        }
    }

    /**
     * Makes what is missing of an outbox's tables; several may do so at a time. If auto-commit is off, that belongs to
     * the transaction of this connection: commit it.
     */
    public static void create(Connection connection, OutboxTable table) throws SQLException {
        create(connection, table, OutboxForm.PLAIN);
    }

    /**
     * The same; a missing table gets this form, and one that is there keeps its own.
     *
     * @throws IllegalArgumentException if there is no such form on this kind of database
     */
    public static void create(Connection connection, OutboxTable table, OutboxForm form) throws SQLException {
        create(connection, Store.of(connection, table).in(form));
    }

    /** A relay does without the table of what is blocked if it may not make it: it serves those who look. */
    static void create(Connection connection, Store store) throws SQLException {
        var missing = missing(connection, store);
        if (missing.isEmpty()) {
            return;
        }
        var needed = exists(connection, store.table.name())
                && exists(connection, store.table.relay())
                && exists(connection, store.table.parked());
        var before = savepoint(connection);
        try {
            execute(connection, store, missing);
        } catch (SQLException e) {
            backTo(before, connection, e);
            if (!needed) {
                throw e;
            }
            LOG.debug("table {} could not be made", store.table.blocked(), e);
        }
    }

    private static List<String> missing(Connection connection, Store store) throws SQLException {
        if (!exists(connection, store.table.name())) {
            return store.ddl();
        }
        var complete = exists(connection, store.table.relay())
                && exists(connection, store.table.parked())
                && existsOrMayNotBeRead(connection, store.table.blocked());
        return complete ? List.of() : store.sideDdl();
    }

    /**
     * Makes tables. On PostgreSQL all or none, because a table without its parts would refuse what is written into it,
     * and one at a time: there, of two who make a table that is missing, one fails, IF NOT EXISTS or not.
     */
    static void execute(Connection connection, Store store, List<String> statements) throws SQLException {
        try (var statement = connection.createStatement()) {
            var locks = store instanceof PostgresStore && !statements.isEmpty();
            if (locks && connection.getAutoCommit()) {
                store.transaction(connection, () -> executeAll(statement, statements, locks));
            } else {
                executeAll(statement, statements, locks);
            }
        }
    }

    private static boolean executeAll(Statement statement, List<String> statements, boolean locks) throws SQLException {
        if (locks) {
            statement.execute("SELECT pg_advisory_xact_lock("
                    + OutboxSchema.class.getName().hashCode() + ")");
        }
        for (var sql : statements) {
            statement.execute(sql);
        }
        return true;
    }

    static boolean exists(Connection connection, String table) throws SQLException {
        var before = savepoint(connection);
        try (var query = connection.createStatement();
                var result = query.executeQuery("SELECT 1 FROM " + table + " WHERE 1 = 0")) {
            return !result.next();
        } catch (SQLException e) {
            backTo(before, connection, e);
            // no such table, or no such schema: a right that is missing is something else
            if (MISSING.contains(String.valueOf(e.getSQLState()))) {
                return false;
            }
            throw e;
        }
    }

    /** In a transaction of PostgreSQL, nothing can follow a statement that fails: unless one goes back before it. */
    private static @Nullable Savepoint savepoint(Connection connection) throws SQLException {
        return connection.getAutoCommit() ? null : connection.setSavepoint();
    }

    private static void backTo(@Nullable Savepoint before, Connection connection, SQLException failure) {
        if (before == null) {
            return;
        }
        try {
            connection.rollback(before);
        } catch (SQLException e) { // MySQL has committed it along with a table that it made
            failure.addSuppressed(e);
        }
    }

    private static boolean existsOrMayNotBeRead(Connection connection, String table) throws SQLException {
        try {
            return exists(connection, table);
        } catch (SQLException e) {
            if (isRightMissing(e)) {
                return true;
            }
            throw e;
        }
    }

    /** Returns whether a table is there that one can do without, and may be read. */
    static boolean mayBeRead(Connection connection, String table) throws SQLException {
        try {
            return exists(connection, table);
        } catch (SQLException e) {
            if (isRightMissing(e)) {
                return false;
            }
            throw e;
        }
    }

    /** Returns whether a statement failed because its table is missing, or a right: until somebody changes that. */
    static boolean isTableOrRightMissing(SQLException e) {
        return MISSING.contains(String.valueOf(e.getSQLState())) || isRightMissing(e);
    }

    private static boolean isRightMissing(SQLException e) {
        return NO_RIGHT.contains(String.valueOf(e.getSQLState()));
    }

    private static String text(List<String> statements) {
        return statements.stream().map(sql -> sql + ";\n").collect(Collectors.joining());
    }
}
