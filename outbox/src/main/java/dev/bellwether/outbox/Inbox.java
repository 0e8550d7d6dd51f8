package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/**
 * Where a consumer records which events it has handled, in the transaction that handles them. So each takes effect
 * once, however often it is delivered.
 *
 * <p>For those whose deliveries may repeat: readers of uncommitted records, other producers' topics, queues, calls that
 * are tried again. Immutable and thread-safe; the connection is the caller's, and so is its transaction.
 *
 * <p>It promises nothing about order, nor about what the work does outside of the transaction. An event that comes
 * again after it was {@linkplain #forget forgotten} is handled again.
 */
public final class Inbox {
    private static final int LONGEST_CONSUMER = 100;
    private static final int LONGEST_ID = 200;
    private static final int FORGOTTEN_AT_ONCE = 1_000;
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,49}(\\.[A-Za-z_][A-Za-z0-9_]{0,49})?");

    private final String table;
    private final String consumer;

    private Inbox(String table, String consumer) {
        this.table = table;
        this.consumer = consumer;
    }

    /**
     * Serves one consumer, in the table {@code inbox}.
     *
     * @param consumer names those who share the work, such as a consumer group: each event is handled once by each
     *     name. At most 100 characters.
     */
    public static Inbox of(String consumer) {
        return new Inbox("inbox", text("consumer", consumer, LONGEST_CONSUMER));
    }

    /** Returns an inbox with another table: {@code table} or {@code schema.table}. */
    public Inbox in(String table) {
        if (!NAME.matcher(table).matches()) {
            throw new IllegalArgumentException("inbox table \"" + table
                    + "\": it must be a name, or schema.name, of letters, digits and underscores, at most 50 each");
        }
        return new Inbox(table, consumer);
    }

    /** What is to be done with an event. */
    @FunctionalInterface
    public interface Work<E extends Exception> {
        /** Handles the event, over the connection of the same transaction. If this throws, roll back. */
        void handle() throws E;
    }

    /**
     * Does the work, unless this event was handled before; returns whether it was done now. Both take effect when the
     * caller commits, or neither does.
     *
     * <p>If the same event is being handled by another transaction, this waits for its end: if that one commits, this
     * returns false; if it rolls back, the work is done here. With isolation REPEATABLE READ or SERIALIZABLE,
     * PostgreSQL fails instead with the state 40001: roll back, and try again.
     *
     * <p>If the work throws, or anything else, roll back: the event is then handled when it comes again.
     *
     * @param eventId what tells this event from all others, the same at each delivery: for records of an outbox, the
     *     header {@code event-id}. At most 200 characters.
     * @throws IllegalStateException if the connection is in auto-commit mode: the id would be recorded without the work
     */
    public <E extends Exception> boolean once(Connection connection, String eventId, Work<E> work)
            throws SQLException, E {
        var id = text("event id", eventId, LONGEST_ID);
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("inbox " + table + ", consumer " + consumer + ", event " + id
                    + ": this connection commits each statement by itself, so the event would count as handled even"
                    + " if the work fails. Begin a transaction: connection.setAutoCommit(false)");
        }
        if (!Dialect.of(connection).remember(connection, table, consumer, id)) {
            return false;
        }
        work.handle();
        return true;
    }

    /**
     * Forgets events of this consumer that were handled so long ago, and returns how many: a thousand at a time, each
     * in a transaction of its own. Any process may do so, at any time, such as once an hour. An event that is delivered
     * again later than that is handled again, so choose a time that is longer than any delivery may be late: for a
     * topic of Kafka, its retention. Safe to repeat.
     */
    public long forget(DataSource database, Duration olderThan) throws SQLException {
        if (olderThan.isNegative() || olderThan.isZero()) {
            throw new IllegalArgumentException(
                    "olderThan is " + olderThan + ": it must be longer than any delivery may be late");
        }
        try (var connection = database.getConnection()) {
            var commits = connection.getAutoCommit();
            var dialect = Dialect.of(connection);
            return Store.andBack(
                    () -> {
                        connection.setAutoCommit(true);
                        dialect.prepare(connection);
                        return Store.andBack(
                                () -> dialect.isolated(connection, () -> forget(connection, dialect, olderThan)),
                                () -> dialect.restore(connection));
                    },
                    () -> connection.setAutoCommit(commits));
        }
    }

    private long forget(Connection connection, Dialect dialect, Duration olderThan) throws SQLException {
        var forgotten = 0L;
        int count;
        do {
            count = dialect.forget(connection, table, consumer, olderThan.toMillis());
            forgotten += count;
        } while (count > 0); // of a thousand that another forgets meanwhile, fewer are ours
        return forgotten;
    }

    /** Returns the statements, each ended by a semicolon, that make the table on this kind of database. */
    public String ddl(Connection connection) throws SQLException {
        return Dialect.of(connection).ddl(table).stream()
                .map(sql -> sql + ";\n")
                .collect(Collectors.joining());
    }

    /**
     * Makes the table if it is missing; several may do so at a time. If auto-commit is off, that belongs to the
     * transaction of this connection: commit it.
     */
    public void create(Connection connection) throws SQLException {
        var ddl = Dialect.of(connection).ddl(table);
        OutboxSchema.execute(connection, Store.of(connection, OutboxTable.named(table)), ddl);
    }

    private static String text(String what, String text, int longest) {
        if (text.isEmpty() || text.length() > longest || text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(what + " \"" + text + "\" has " + text.length()
                    + " characters: it must have 1 to " + longest + ", none of them NUL");
        }
        return text;
    }

    @Override
    public String toString() {
        return "Inbox[table=" + table + ", consumer=" + consumer + ']';
    }

    /** What we say to one kind of database. */
    private enum Dialect {
        POSTGRES {
            @Override
            List<String> ddl(String table) {
                var index = table.substring(table.indexOf('.') + 1) + "_handled";
                return List.of(
                        """
                        CREATE TABLE IF NOT EXISTS %s (
                            consumer varchar(100) NOT NULL,
                            event_id varchar(200) NOT NULL,
                            handled timestamptz NOT NULL DEFAULT clock_timestamp(),
                            PRIMARY KEY (consumer, event_id)
                        )""".formatted(table),
                        "CREATE INDEX IF NOT EXISTS " + index + " ON " + table + " (consumer, handled)");
            }

            /** Without an error, which would end the caller's transaction. */
            @Override
            String remember(String table) {
                return "INSERT INTO " + table + " (consumer, event_id) VALUES (?, ?) ON CONFLICT DO NOTHING";
            }

            @Override
            int forget(Connection connection, String table, String consumer, long olderMillis) throws SQLException {
                try (var delete = connection.prepareStatement("DELETE FROM " + table
                        + " WHERE ctid = ANY(ARRAY(SELECT ctid FROM " + table
                        + " WHERE consumer = ? AND handled < clock_timestamp() - " + olderMillis
                        + " * interval '1 millisecond' LIMIT " + FORGOTTEN_AT_ONCE + "))")) {
                    delete.setString(1, consumer);
                    return delete.executeUpdate();
                }
            }

            /** In any higher one, a statement fails at a row that another forgets meanwhile. */
            @Override
            long isolated(Connection connection, Store.Transaction<Long> forgetting) throws SQLException {
                return Store.isolated(connection, Connection.TRANSACTION_READ_COMMITTED, forgetting);
            }

            @Override
            void bind(PreparedStatement statement, int at, String text) throws SQLException {
                statement.setString(at, text);
            }
        },
        MYSQL {
            /** Bytes, since texts that differ in case, accents or blanks at the end may count as equal. */
            @Override
            List<String> ddl(String table) {
                return List.of("""
                        CREATE TABLE IF NOT EXISTS %s (
                            consumer varbinary(400) NOT NULL,
                            event_id varbinary(800) NOT NULL,
                            handled timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
                            PRIMARY KEY (consumer, event_id),
                            KEY handled (consumer, handled)
                        ) ENGINE = InnoDB""".formatted(table));
            }

            @Override
            String remember(String table) {
                return "INSERT IGNORE INTO " + table + " (consumer, event_id) VALUES (?, ?)";
            }

            /** By their ids: a delete of a range waits for the row behind it, too, which may be of an event at work. */
            @Override
            int forget(Connection connection, String table, String consumer, long olderMillis) throws SQLException {
                var old = old(connection, table, consumer, olderMillis);
                if (old.isEmpty()) {
                    return 0;
                }
                try (var delete = connection.prepareStatement("DELETE FROM " + table
                        + " WHERE consumer = ? AND event_id IN (" + "?, ".repeat(old.size() - 1) + "?)")) {
                    bind(delete, 1, consumer);
                    for (var i = 0; i < old.size(); i++) {
                        delete.setBytes(i + 2, old.get(i));
                    }
                    return delete.executeUpdate();
                }
            }

            private List<byte[]> old(Connection connection, String table, String consumer, long olderMillis)
                    throws SQLException {
                try (var query = connection.prepareStatement("SELECT event_id FROM " + table
                        + " WHERE consumer = ? AND handled < UTC_TIMESTAMP(3) - INTERVAL " + olderMillis * 1_000
                        + " MICROSECOND LIMIT " + FORGOTTEN_AT_ONCE)) {
                    bind(query, 1, consumer);
                    try (var result = query.executeQuery()) {
                        var old = new ArrayList<byte[]>();
                        while (result.next()) {
                            old.add(result.getBytes(1));
                        }
                        return old;
                    }
                }
            }

            @Override
            void prepare(Connection connection) throws SQLException {
                MysqlStore.beInUtc(connection);
            }

            @Override
            void restore(Connection connection) throws SQLException {
                MysqlStore.beInZoneAgain(connection);
            }

            @Override
            void bind(PreparedStatement statement, int at, String text) throws SQLException {
                statement.setBytes(at, text.getBytes(UTF_8));
            }
        };

        static Dialect of(Connection connection) throws SQLException {
            var product = connection.getMetaData().getDatabaseProductName();
            return switch (product.toLowerCase(Locale.ROOT)) {
                case "postgresql" -> POSTGRES;
                case "mysql", "mariadb" -> MYSQL;
                default ->
                    throw new IllegalArgumentException(
                            "an inbox lives in PostgreSQL, MariaDB or MySQL; this is " + product);
            };
        }

        abstract List<String> ddl(String table);

        /** Returns an insert that waits for who inserts the same, and does nothing if it is there. */
        abstract String remember(String table);

        /** Forgets events of a consumer that are older than that, as many as go at once; returns how many. */
        abstract int forget(Connection connection, String table, String consumer, long olderMillis) throws SQLException;

        /** Does that in the isolation that it needs. */
        long isolated(Connection connection, Store.Transaction<Long> forgetting) throws SQLException {
            return forgetting.run();
        }

        /** Makes a connection fit for that. */
        void prepare(Connection connection) throws SQLException {}

        /** Makes it what it was. */
        void restore(Connection connection) throws SQLException {}

        abstract void bind(PreparedStatement statement, int at, String text) throws SQLException;

        /** Returns whether it was not there. */
        boolean remember(Connection connection, String table, String consumer, String id) throws SQLException {
            try (var insert = connection.prepareStatement(remember(table))) {
                bind(insert, 1, consumer);
                bind(insert, 2, id);
                return insert.executeUpdate() == 1;
            }
        }
    }
}
