package dev.bellwether.benchmarks.outbox;

import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxForm;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import dev.bellwether.outbox.RelayStats;
import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/** Bellwether's relay at its default settings, its election on the same broker. Confined to one thread. */
final class BellwetherContestant implements OutboxContestant {
    private final int shards;
    private final boolean once;
    private final OutboxForm form;
    /**
     * Of its own for each kind, so that progress and marks go on from run to run, as where a relay is started again.
     */
    private final OutboxTable table;

    private long filled;
    private @Nullable OutboxRelay relay;

    BellwetherContestant(int shards) {
        this(shards, true, OutboxForm.PLAIN);
    }

    private BellwetherContestant(int shards, boolean once, OutboxForm form) {
        this.shards = shards;
        this.once = once;
        this.form = form;
        table = OutboxTable.named("outbox" + kind().replace('-', '_'));
    }

    /** With a table whose parts are emptied by TRUNCATE. */
    static BellwetherContestant rotated() {
        return new BellwetherContestant(1, true, OutboxForm.ROTATED);
    }

    /** Without progress, and so with rewinds for readers of committed records, too. */
    static BellwetherContestant withRewinds() {
        return new BellwetherContestant(1, false, OutboxForm.PLAIN);
    }

    @Override
    public String name() {
        return "bellwether" + kind();
    }

    private String kind() {
        return (once ? "" : "-with-rewinds")
                + (form == OutboxForm.PLAIN ? "" : "-rotated")
                + (shards == 1 ? "" : "-" + shards + "-shards");
    }

    @Override
    public boolean isQuick() {
        return true;
    }

    @Override
    public Pen pen(OutboxServers stand) throws SQLException {
        return new InsertPen(
                stand,
                "INSERT INTO " + table.name() + " (topic, record_key, record_value) VALUES ('" + OutboxServers.TOPIC
                        + "', convert_to(?, 'UTF8'), convert_to(?, 'UTF8'))");
    }

    @Override
    public void reset(OutboxServers stand) throws SQLException {
        try (var connection = stand.connect();
                var statement = connection.createStatement()) {
            OutboxSchema.create(connection, table, form);
            statement.execute(
                    "TRUNCATE " + table.name() + (form == OutboxForm.PLAIN ? "" : ", " + table.name() + "_done"));
        }
        filled = 0;
    }

    @Override
    public void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws SQLException {
        stand.execute("INSERT INTO " + table.name() + " (topic, record_key, record_value, headers) SELECT '"
                + OutboxServers.TOPIC
                + "', convert_to('key-' || i % 10000, 'UTF8'), substr(value, 1, " + bytes + "), "
                + (headers
                        ? "'type: OrderCreated' || E'\\ntraceparent: 00-' || md5(i::text) || '-00f067aa0ba902b7-01'"
                        : "NULL")
                + " FROM generate_series(1, " + rows + ") i JOIN payloads ON n = i % 1000");
        filled += rows;
    }

    private RelayConfig config(OutboxServers stand) {
        return RelayConfig.named("bench" + kind())
                .table(table)
                .shards(shards)
                .once(once)
                .producer(Map.of("bootstrap.servers", stand.bootstrap()))
                .build();
    }

    @Override
    public AutoCloseable start(OutboxServers stand) {
        relay = OutboxRelay.start(database(stand), config(stand));
        return relay;
    }

    private static PGSimpleDataSource database(OutboxServers stand) {
        var database = new PGSimpleDataSource();
        database.setUrl(stand.uri());
        return database;
    }

    /**
     * Asks the relay, and the database only at the end: to look there for what is left is to walk over all that is
     * dead.
     */
    @Override
    public long left(OutboxServers stand) throws SQLException {
        var deleted = relay == null
                ? 0
                : relay.stats().stream().mapToLong(RelayStats::deleted).sum();
        if (deleted < filled) {
            return filled - deleted;
        }
        return form == OutboxForm.PLAIN
                ? stand.number("SELECT 1 FROM " + table.name() + " LIMIT 1")
                : OutboxAdmin.of(database(stand), table).state().backlog();
    }
}
