package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who has written into an outbox of MariaDB or MySQL in a transaction that is still open, by the metadata locks of its
 * table. Confined to the thread that has the connection.
 */
final class MetadataLocks implements OpenWriters {
    /*
     * A statement locks the metadata of its tables before it draws an id. The lock goes after the engine has committed
     * or rolled back, not at the end of the statement. So anybody who drew an id that we do not see is over, or holds
     * the lock now.
     *
     * Each look proves that it sees such locks: it takes one itself, by the branch that returns nothing, and must find
     * it listed. If it does not (an instrument is off, or the name is spelt differently), it says nothing, and gaps
     * stay.
     *
     * XA comes after the locks: a transaction loses its name, or its lock, when it is prepared. Were it asked for
     * first, one that is prepared between the two would be in neither.
     */
    private static final Logger LOG = LoggerFactory.getLogger(MetadataLocks.class);
    private static final long DETECT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final Pattern VERSION = Pattern.compile("(?:5\\.5\\.5-)?(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})");
    private static final Set<String> READERS = Set.of("SHARED", "SHARED_HIGH_PRIO", "SHARED_READ", "SHARED_READ_ONLY");

    /** Where the locks are listed. */
    enum Source {
        /** MariaDB's plugin {@code metadata_lock_info}. */
        PLUGIN,
        /** {@code performance_schema.metadata_locks}. */
        SCHEMA
    }

    private final Connection reading;
    private final Connection deleting;
    private final String table;
    private final boolean mariaDb;
    private @Nullable Source source;
    private String sql = "";
    private String own = "";
    private String deletes = "";
    private long detectDue = System.nanoTime();
    private boolean blind;

    private MetadataLocks(Connection reading, Connection deleting, String table, boolean mariaDb) {
        this.reading = reading;
        this.deleting = deleting;
        this.table = table;
        this.mariaDb = mariaDb;
    }

    /**
     * Looks through one connection, leaving out what another does, which only deletes.
     *
     * @throws IllegalStateException if the server is too old, or several nodes write: their locks are not here
     */
    static MetadataLocks of(Connection reading, Connection deleting, String table) throws SQLException {
        tooOld(reading, table).ifPresent(refusal -> {
            throw new IllegalStateException(refusal);
        });
        var mariaDb = isMariaDb(reading);
        severalNodes(reading, mariaDb).ifPresent(nodes -> {
            throw new IllegalStateException(Refusals.nodes(table, nodes));
        });
        return new MetadataLocks(reading, deleting, table, mariaDb);
    }

    static boolean isMariaDb(Connection connection) throws SQLException {
        return isMariaDb(version(connection));
    }

    private static boolean isMariaDb(String version) {
        return version.toLowerCase(Locale.ROOT).contains("mariadb");
    }

    private static String version(Connection connection) throws SQLException {
        return text(connection, "SELECT version()");
    }

    /** Returns what is to be said of a server that is too old to delete what was published. */
    static Optional<String> tooOld(Connection connection, String table) throws SQLException {
        var version = version(connection);
        var mariaDb = isMariaDb(version);
        var numbers = VERSION.matcher(version);
        if (!numbers.find()) {
            return Optional.empty();
        }
        var number = Integer.parseInt(numbers.group(1)) * 1_000_000
                + Integer.parseInt(numbers.group(2)) * 1_000
                + Integer.parseInt(numbers.group(3));
        return number < (mariaDb ? 10_006_000 : 8_000_004)
                ? Optional.of(Refusals.version(table, version, mariaDb ? "MariaDB 10.6" : "MySQL 8.0.4"))
                : Optional.empty();
    }

    /** Returns what lets several nodes write at once, if something does. */
    static Optional<String> severalNodes(Connection connection, boolean mariaDb) throws SQLException {
        if (text(connection, "SHOW GLOBAL STATUS LIKE 'wsrep_connected'", 2).equals("ON")
                && number(connection, "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'", 2) > 1) {
            return Optional.of("a Galera cluster");
        }
        var single = text(connection, "SHOW GLOBAL VARIABLES LIKE 'group_replication_single_primary_mode'", 2);
        var group = text(connection, "SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'", 2);
        return !mariaDb && single.equals("OFF") && !group.isEmpty()
                ? Optional.of("a replication group in multi-primary mode")
                : Optional.empty();
    }

    @Override
    public Optional<Holders> look() throws SQLException {
        if (source == null && !detected()) {
            return Optional.empty();
        }
        try {
            var names = locks();
            var prepared = names.isPresent() && prepared();
            if (names.isEmpty()) {
                return blind("the locks of its writers are not listed");
            }
            if (source == Source.SCHEMA && lost() > 0) {
                return blind("the database had no room to list all locks");
            }
            blind = false;
            return Optional.of(new Holders(names.get(), prepared));
        } catch (SQLException e) {
            if (!isRefusal(e)) {
                throw e;
            }
            source = null; // a right was withdrawn: what remains is looked for again
            return blind(String.valueOf(e.getMessage()));
        }
    }

    private Optional<Holders> blind(String why) {
        if (!blind) {
            blind = true;
            LOG.warn(
                    "outbox {}:  it is not visible which transactions write into it: {}. Order is kept, but reading"
                            + " costs more with each id that is never used. Run bellwether outbox doctor.",
                    table,
                    why);
        }
        return Optional.empty();
    }

    /** Returns those that may have drawn an id; empty if the look did not see our own lock. */
    private Optional<Set<String>> locks() throws SQLException {
        var seen = false;
        var names = new HashSet<String>();
        try (var statement = reading.createStatement();
                var result = statement.executeQuery(sql)) {
            while (result.next()) {
                // MySQL lists a lock without its owner while it is made or given up: somebody holds it, for all we know
                var thread = Objects.requireNonNullElse(result.getString(1), "?");
                var mode = Objects.requireNonNullElse(result.getString(2), "?");
                if (mode.startsWith("MDL_")) {
                    mode = mode.substring(4);
                }
                if (thread.equals(own)) {
                    seen |= mode.equals("SHARED_READ");
                } else if (!thread.equals(deletes) && !READERS.contains(mode)) {
                    names.add(thread + '/' + result.getString(3));
                }
            }
        }
        return seen ? Optional.of(names) : Optional.empty();
    }

    private boolean prepared() throws SQLException {
        try (var statement = reading.createStatement();
                var result = statement.executeQuery("XA RECOVER")) {
            return result.next();
        }
    }

    private long lost() throws SQLException {
        var lost = 0L;
        try (var statement = reading.createStatement();
                var result = statement.executeQuery("SHOW GLOBAL STATUS WHERE Variable_name IN"
                        + " ('Performance_schema_metadata_lock_lost', 'Performance_schema_thread_instances_lost')")) {
            while (result.next()) {
                lost += result.getLong(2);
            }
        }
        return lost;
    }

    /** Looks for where the locks are listed, once in a while. */
    private boolean detected() throws SQLException {
        var now = System.nanoTime();
        if (now - detectDue < 0) {
            return false;
        }
        detectDue = now + DETECT_NANOS;
        try {
            var found = source(reading, mariaDb);
            if (found.isEmpty()) {
                blind("this server lists no metadata locks");
                return false;
            }
            name(found.get());
            if (own.isEmpty()) {
                blind("the locks of this relay itself are not listed");
                return false;
            }
            prepared(); // it takes a right of its own
            source = found.get();
            return true;
        } catch (SQLException e) {
            if (!isRefusal(e)) {
                throw e;
            }
            blind(String.valueOf(e.getMessage()));
            return false;
        }
    }

    /** Returns where a server lists its metadata locks, if it does. */
    static Optional<Source> source(Connection connection, boolean mariaDb) throws SQLException {
        if (mariaDb
                && number(
                                connection,
                                "SELECT count(*) FROM information_schema.plugins WHERE plugin_name ="
                                        + " 'METADATA_LOCK_INFO'"
                                        + " AND plugin_status = 'ACTIVE'",
                                1)
                        > 0) {
            return Optional.of(Source.PLUGIN);
        }
        return number(connection, "SELECT @@performance_schema", 1) == 1
                ? Optional.of(Source.SCHEMA)
                : Optional.empty();
    }

    /** Finds out under which names our two connections are listed. */
    private void name(Source found) throws SQLException {
        var folds = number(reading, "SELECT @@lower_case_table_names", 1) > 0;
        var parts = table.split("\\.", 2);
        var schema = parts.length == 1 ? text(reading, "SELECT database()") : parts[0];
        var name = parts[parts.length - 1];
        if (folds) {
            schema = schema.toLowerCase(Locale.ROOT);
            name = name.toLowerCase(Locale.ROOT);
        }
        // this branch returns nothing, and takes a lock that the other must list
        var touch = " UNION ALL SELECT 0, '', '' FROM " + table + " WHERE FALSE";
        if (found == Source.PLUGIN) {
            sql = "SELECT thread_id, lock_mode, '' FROM information_schema.metadata_lock_info WHERE lock_type ="
                    + " 'Table metadata lock' AND " + is("table_schema", schema, folds) + " AND "
                    + is("table_name", name, folds) + touch;
            own = text(reading, "SELECT connection_id()");
            deletes = text(deleting, "SELECT connection_id()");
            return;
        }
        sql = "SELECT owner_thread_id, lock_type, concat(owner_event_id, '/', object_instance_begin)"
                + " FROM performance_schema.metadata_locks WHERE object_type = 'TABLE' AND "
                + is("object_schema", schema, folds) + " AND " + is("object_name", name, folds) + touch;
        own = thread(reading);
        deletes = thread(deleting);
    }

    /**
     * Returns the name of a connection's thread: that which is listed for a lock that nobody else has. Empty if none
     * is.
     */
    private String thread(Connection connection) throws SQLException {
        var lock = "bellwether-" + UUID.randomUUID();
        var taken = OptionalLong.of(number(connection, "SELECT get_lock('" + lock + "', 0)", 1));
        try {
            return taken.getAsLong() != 1
                    ? ""
                    : text(
                            reading,
                            "SELECT owner_thread_id FROM performance_schema.metadata_locks WHERE object_type ="
                                    + " 'USER LEVEL LOCK' AND object_name = '" + lock + "'");
        } finally {
            number(connection, "SELECT release_lock('" + lock + "')", 1);
        }
    }

    /** Whether we may not ask this, or nobody may: as opposed to no answer. */
    static boolean isRefusal(SQLException e) {
        // a right is missing; no such table; XAER_RMERR is what XA RECOVER says without its right
        return String.valueOf(e.getSQLState()).startsWith("42") || e.getErrorCode() == 1227 || e.getErrorCode() == 1401;
    }

    /** Servers compare these names without their case, also where they tell tables apart by it. */
    private static String is(String column, String name, boolean folds) {
        var alike = column + " = " + quoted(name);
        return folds ? alike : alike + " AND CAST(" + column + " AS BINARY) = " + quoted(name);
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    private static String text(Connection connection, String query) throws SQLException {
        return text(connection, query, 1);
    }

    private static String text(Connection connection, String query, int column) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(query)) {
            var text = result.next() ? result.getString(column) : null;
            return text == null ? "" : text;
        }
    }

    private static long number(Connection connection, String query, int column) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(query)) {
            return result.next() ? result.getLong(column) : 0;
        }
    }
}
