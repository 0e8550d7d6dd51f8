package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Puts a table of another form in the place of one, in PostgreSQL, under the same name. Confined to a thread. */
final class Migration {
    /*
     * One transaction. It holds the table alone when it copies, so nobody has an open transaction that has written into
     * it: all rows are seen. The epochs are raised before, so that a leader deletes, and writes down, nothing more, and
     * who follows it asks for the form behind that (Store.acquire). Ids go on, for the sequence is the same, so what is
     * known of gaps stays true. A writer that waits with an INSERT finds the new table by its name.
     */
    /** More would hold writers up for more than about a second. */
    private static final int MOST = 100_000;

    private static final long PAUSE_MILLIS = 300;
    private static final Set<String> LATER = Set.of("55P03", "40P01");

    private final Connection connection;
    private final PostgresStore from;
    private final PostgresStore to;
    private final OutboxTable table;
    private final WakeUpSql wakeUps;
    private final String next;

    Migration(Connection connection, Store from, Store to) {
        this.connection = connection;
        this.from = (PostgresStore) from;
        this.to = (PostgresStore) to;
        this.table = from.table;
        wakeUps = new WakeUpSql(table);
        next = table.name() + "_next";
    }

    /** Tries until it is done; returns whether there was something to do. */
    boolean within(Duration patience) throws SQLException {
        OutboxSchema.create(connection, from); // what stands beside the table may be missing
        return Store.isolated(connection, Connection.TRANSACTION_READ_COMMITTED, () -> {
            var until = System.nanoTime() + patience.toNanos();
            while (true) {
                try {
                    return once();
                } catch (SQLException e) {
                    if (!LATER.contains(String.valueOf(e.getSQLState()))) {
                        throw e;
                    }
                    pause(until, e);
                }
            }
        });
    }

    private void pause(long until, SQLException cause) throws SQLException {
        if (System.nanoTime() - until >= 0) {
            throw new SQLTimeoutException(
                    "outbox table " + table.name()
                            + " keeps its form: there was always an open transaction that has used"
                            + " it, and it must be free for a moment. End the long ones, or wait for longer.",
                    cause);
        }
        try {
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SQLTimeoutException("interrupted while waiting for table " + table.name(), e);
        }
    }

    private boolean once() throws SQLException {
        return from.transaction(
                connection,
                () -> { // which ends, or writers would wait for a machine that has vanished
                    execute("SET LOCAL lock_timeout = '200ms'");
                    execute("SET LOCAL enable_seqscan = off");
                    return replace();
                });
    }

    private boolean replace() throws SQLException {
        if (from.asFound(connection).form() != from.form()) {
            return false;
        }
        refuseWhatWouldBeLost();
        make();
        execute("LOCK TABLE " + String.join(", ", olds()) + " IN ACCESS EXCLUSIVE MODE");
        refuseWhatWouldBeLost(); // what has come since
        execute("LOCK TABLE " + table.relay() + " IN SHARE ROW EXCLUSIVE MODE"); // nobody leads for the first time
        execute("UPDATE " + table.relay() + " SET " + Store.raiseEpoch("", true));
        copy();
        if (hasTrigger()) {
            execute(wakeUps.triggerOn(next)); // behind the copy, which is to wake nobody
        }
        handOver();
        wakeUps.notify(connection, WakeUpSql.MOVED); // by the old name still; who is idle might not look for long
        execute("DROP TABLE " + String.join(", ", olds()));
        execute("ALTER TABLE " + next + " RENAME TO " + simple(table.name()));
        return true;
    }

    private List<String> olds() {
        return from.form() == OutboxForm.ROTATED ? List.of(table.name(), table.done()) : List.of(table.name());
    }

    private static String simple(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private void make() throws SQLException {
        var like = "CREATE TABLE " + next + " (LIKE " + table.name()
                + " INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS";
        if (to instanceof RotatedStore rotated) {
            execute(like + ") PARTITION BY " + rotated.ring().key("id"));
            for (var sql : rotated.partsOf(next)) {
                execute(sql);
            }
            for (var sql : rotated.doneDdl()) {
                execute(sql);
            }
        } else {
            execute(like + ", CONSTRAINT " + simple(table.name()) + "_pkey PRIMARY KEY (id)) " + PostgresStore.VACUUM);
        }
    }

    private boolean hasTrigger() throws SQLException {
        return !texts("SELECT tgname FROM pg_trigger WHERE tgrelid = '" + table.name() + "'::regclass AND "
                        + wakeUps.isTrigger())
                .isEmpty();
    }

    private void copy() throws SQLException {
        var rows = from instanceof RotatedStore rotated ? rotated.unpublishedRows() : "SELECT * FROM " + table.name();
        try (var statement = connection.createStatement()) {
            var copied = statement.executeUpdate("INSERT INTO " + next + " " + rows + " LIMIT " + (MOST + 1));
            if (copied > MOST) {
                throw new IllegalStateException("outbox table " + table.name() + " keeps its form: more than " + MOST
                        + " rows wait in it, and writers would have to wait for so long as these are copied."
                        + " Let a relay publish them first.");
            }
        }
    }

    /** The new tables get the owner and the rights of the old one, and the new table the sequence. */
    private void handOver() throws SQLException {
        var owner = texts("SELECT quote_ident(rolname) FROM pg_class c JOIN pg_roles r ON r.oid = relowner WHERE "
                        + "c.oid = '"
                        + table.name() + "'::regclass AND rolname <> current_user")
                .stream()
                .findFirst();
        if (owner.isPresent()) {
            for (var made : made()) {
                execute("ALTER TABLE " + made + " OWNER TO " + owner.get());
            }
        }
        for (var sequence : texts("SELECT pg_get_serial_sequence('" + table.name() + "', 'id')")) {
            execute("ALTER SEQUENCE " + sequence + " OWNED BY " + next + ".id");
        }
        for (var right : texts("SELECT privilege_type || ' ON " + next + " TO ' || " + grantee()
                + " || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END FROM " + rights(table.name()))) {
            execute("GRANT " + right);
        }
        if (to instanceof RotatedStore rotated) {
            // who looks how many rows wait in the table has to know which of them are published
            for (var monitor : texts("SELECT DISTINCT " + grantee() + " FROM " + rights(table.name())
                    + " AND privilege_type = 'SELECT'")) {
                execute("GRANT SELECT ON " + table.done() + " TO " + monitor);
            }
            for (var relay : relays()) {
                execute("GRANT SELECT, INSERT ON " + table.done() + " TO " + relay);
                for (var part = 0; part < rotated.ring().parts(); part++) {
                    execute("GRANT SELECT, TRUNCATE ON " + rotated.part(part) + ", " + rotated.donePart(part) + " TO "
                            + relay);
                }
            }
        }
    }

    /** Who updates the relays' table, or owns it, is a relay. */
    private List<String> relays() throws SQLException {
        return texts("SELECT DISTINCT " + grantee() + " FROM " + rights(table.relay())
                + " AND privilege_type = 'UPDATE'" + " UNION SELECT relowner::regrole::text FROM pg_class WHERE oid = '"
                + table.relay() + "'::regclass");
    }

    private List<String> made() {
        var made = new ArrayList<String>();
        made.add(next);
        if (to instanceof RotatedStore rotated) {
            made.add(table.done());
            for (var part = 0; part < rotated.ring().parts(); part++) {
                made.add(rotated.part(part));
                made.add(rotated.donePart(part));
            }
        }
        return made;
    }

    private static String grantee() {
        return "CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END";
    }

    private static String rights(String of) {
        return "pg_class, aclexplode(relacl) WHERE oid = '" + of + "'::regclass AND grantee <> relowner";
    }

    /** What stands by itself is dropped with a table and not said; a view, or a foreign key, is refused by the drop. */
    private void refuseWhatWouldBeLost() throws SQLException {
        var of = "'" + table.name() + "'::regclass";
        var lost = texts("SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = " + of
                + " AND NOT tgisinternal AND NOT "
                + wakeUps.isTrigger()
                + " UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite WHERE ev_class = " + of
                + " UNION ALL SELECT 'row level security' FROM pg_class WHERE oid = " + of + " AND relrowsecurity"
                + " UNION ALL SELECT 'publication ' || pubname FROM pg_publication_rel JOIN pg_publication p"
                + " ON p.oid = prpubid WHERE prrelid = " + of
                + " UNION ALL SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE indrelid = " + of
                + " AND NOT indisprimary"
                + " UNION ALL SELECT 'rights on column ' || attname FROM pg_attribute WHERE attrelid = " + of
                + " AND attacl IS NOT NULL"
                + " UNION ALL SELECT 'identity or generated column ' || attname FROM pg_attribute WHERE attrelid = "
                + of
                + " AND NOT attisdropped AND (attidentity <> '' OR attgenerated <> '')"
                + (from.form() == OutboxForm.PLAIN
                        ? " UNION ALL SELECT 'child ' || inhrelid::regclass FROM pg_inherits WHERE inhparent = " + of
                                + " OR inhrelid = " + of
                        : ""));
        if (!lost.isEmpty()) {
            throw new IllegalStateException("outbox table " + table.name()
                    + " keeps its form, for it has what the table that takes its place would" + " not have: "
                    + String.join(", ", lost) + ". Take that away first.");
        }
    }

    private void execute(String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private List<String> texts(String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            var texts = new ArrayList<String>();
            while (result.next()) {
                if (result.getString(1) != null) {
                    texts.add(result.getString(1));
                }
            }
            return texts;
        }
    }
}
