package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxAdmin.Finding;
import dev.bellwether.outbox.OutboxAdmin.Severity;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Looks at an outbox in PostgreSQL for what breaks the order, or costs speed. */
final class PostgresDoctor {
    private final Connection connection;
    private final OutboxTable table;
    private final List<String> parts;
    private final List<Finding> findings = new ArrayList<>();

    /**
     * Looks at a table.
     *
     * @param parts what is emptied by TRUNCATE; none if rows are deleted
     */
    PostgresDoctor(Connection connection, OutboxTable table, List<String> parts) {
        this.connection = connection;
        this.table = table;
        this.parts = parts;
    }

    List<Finding> examine() throws SQLException {
        var sequence = text("SELECT pg_get_serial_sequence('" + table.name() + "', 'id')");
        if (sequence == null) {
            error(
                    "column id of " + table.name() + " has no sequence of its own",
                    "make it a bigserial: a relay watches the lock of that sequence to tell which rows may still"
                            + " come");
        } else {
            sequence(sequence);
        }
        constraint();
        transactions();
        if (parts.isEmpty()) {
            deadRows();
        } else {
            truncation();
        }
        durability();
        return findings;
    }

    private void sequence(String name) throws SQLException {
        var cache = number("SELECT seqcache FROM pg_sequence WHERE seqrelid = '" + name + "'::regclass");
        if (cache > 1) {
            error(
                    "sequence " + name + " has CACHE " + cache
                            + ": sessions draw ids in advance, so that a later transaction may get a lower one",
                    "ALTER SEQUENCE " + name + " CACHE 1, and end the sessions that have drawn");
        } else {
            well("sequence " + name + " has CACHE 1");
        }
        var increment = number("SELECT seqincrement FROM pg_sequence WHERE seqrelid = '" + name + "'::regclass");
        if (increment != 1) {
            error(
                    "sequence " + name + " has INCREMENT " + increment
                            + ": that is what pooled ids are made with, of which a later transaction may get a"
                            + " lower one",
                    "ALTER SEQUENCE " + name
                            + " INCREMENT 1, and let the database draw the ids (Hibernate: allocationSize = 1)");
        }
        if (number("SELECT has_sequence_privilege('" + name + "', 'USAGE')::integer") == 0) {
            warn(
                    "this user has no USAGE on sequence " + name + ": it cannot requeue parked records",
                    "GRANT USAGE ON SEQUENCE " + name + " to who requeues; relays do without");
        }
        if (number("SELECT has_sequence_privilege('" + name + "', 'SELECT')::integer") == 0) {
            warn(
                    "this user may not read sequence " + name + ": whether it was set back cannot be seen",
                    "GRANT SELECT ON SEQUENCE " + name + " to it, or ask as another user");
            return;
        }
        // before the sequence: relays go on, and write down what was drawn meanwhile
        var low = OutboxSchema.exists(connection, table.relay())
                ? number("SELECT coalesce(max(low), 0) FROM " + table.relay())
                : 0; // no relay has been there yet
        var highest = number("SELECT coalesce(max(id), 0) FROM " + table.name());
        var drawn = number("SELECT last_value FROM " + name);
        if (highest > drawn) {
            error(
                    "there is a row with id " + highest + ", and the sequence is at " + drawn
                            + ": ids come from elsewhere",
                    "let the database draw the ids");
        }
        if (low > drawn) {
            error(
                    "rows up to id " + low + " were published, and the sequence is at " + drawn + ": it was set back",
                    "SELECT setval('" + name + "', greatest(" + low + ", (SELECT last_value FROM " + name + ")))");
        }
    }

    private void constraint() throws SQLException {
        var indexes = number("SELECT count(*) FROM pg_index WHERE indrelid = '" + table.name() + "'::regclass");
        if (indexes > 1) {
            warn(
                    table.name() + " has " + indexes + " indexes",
                    "keep the primary key only: each index costs every insert and every delete");
        }
        var triggers = number(
                "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgname <> 'bellwether_wake' AND tgrelid = '"
                        + table.name() + "'::regclass");
        if (triggers > 0) {
            warn(
                    table.name() + " has " + triggers + " triggers",
                    "remove it: NOTIFY, for example, lets transactions commit only one after the other");
        }
    }

    private void transactions() throws SQLException {
        if (number("SELECT (NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'))::integer") == 1) {
            warn(
                    "this user cannot see since when transactions of other users are open",
                    "GRANT pg_monitor to it, or ask as another user; the relay itself does not need it: it sees all"
                            + " locks");
        }
        var oldest = number("SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::bigint"
                + " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
        if (oldest > 60) {
            warn(
                    "a transaction has been open for " + oldest + " s",
                    "end it: until then dead rows stay, and rows that it has inserted keep those who look for them"
                            + " busy");
        }
        var prepared = number("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
                + " AND prepared < now() - interval '1 minute'");
        if (prepared > 0) {
            warn(prepared + " prepared transactions are older than a minute", "commit them or roll them back");
        }
    }

    private void truncation() throws SQLException {
        var refused = new ArrayList<String>();
        for (var part : parts) {
            if (number("SELECT has_table_privilege('" + part + "', 'TRUNCATE')::integer") == 0) {
                refused.add(part);
            }
        }
        if (refused.isEmpty()) {
            well(table.name() + " is rotated, in " + parts.size() / 2 + " parts");
        } else {
            warn(
                    "this user has no TRUNCATE on " + String.join(", ", refused)
                            + ": a relay that has none cannot give storage back",
                    "GRANT SELECT, TRUNCATE on them to the relay's user, or ask as that user");
        }
    }

    private void deadRows() throws SQLException {
        var dead = number("SELECT coalesce(n_dead_tup, 0) FROM pg_stat_user_tables WHERE relid = '" + table.name()
                + "'::regclass");
        if (dead > 1_000_000) {
            warn(
                    dead + " dead rows",
                    "look for what delays autovacuum; our schema makes it start at 50,000 and lets it run at full"
                            + " speed");
        }
        var options = text(
                "SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = '" + table.name() + "'::regclass");
        if (options == null || !options.contains("autovacuum_vacuum_scale_factor")) {
            warn(
                    table.name() + " is vacuumed like any other table: rarely",
                    "ALTER TABLE " + table.name()
                            + " SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,"
                            + " autovacuum_vacuum_cost_delay = 0)");
        }
    }

    private void durability() throws SQLException {
        if ("off".equals(text("SHOW fsync"))) {
            error("fsync is off", "switch it on: a crash of the machine may lose messages, or the whole database");
        }
        if ("off".equals(text("SHOW synchronous_commit"))) {
            error(
                    "synchronous_commit is off",
                    "set it to on: otherwise a crash of the database loses messages that were committed");
        }
    }

    private void well(String what) {
        findings.add(Finding.well(what));
    }

    private void warn(String what, String remedy) {
        findings.add(new Finding(Severity.WARNING, what, remedy));
    }

    private void error(String what, String remedy) {
        findings.add(new Finding(Severity.ERROR, what, remedy));
    }

    private @org.jspecify.annotations.Nullable String text(String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() ? result.getString(1) : null;
        }
    }

    private long number(String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.next() ? result.getLong(1) : 0;
        }
    }
}
