package dev.bellwether.benchmarks.outbox;

import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import java.sql.SQLException;
import java.util.Map;
import org.postgresql.ds.PGSimpleDataSource;

/** Bellwether's relay at its default settings, its election on the same broker. */
final class Ours implements Contestant {
    private static final OutboxTable TABLE = OutboxTable.named("outbox");

    @Override
    public String name() {
        return "bellwether";
    }

    @Override
    public boolean isQuick() {
        return true;
    }

    @Override
    public Pen pen(Stand stand) throws SQLException {
        return new InsertPen(
                stand,
                "INSERT INTO outbox (topic, record_key, record_value) VALUES ('" + Stand.TOPIC
                        + "', convert_to(?, 'UTF8'), convert_to(?, 'UTF8'))");
    }

    @Override
    public void reset(Stand stand) throws SQLException {
        try (var connection = stand.connect();
                var statement = connection.createStatement()) {
            for (var sql : OutboxSchema.ddl(connection, TABLE).split(";\n", -1)) {
                if (!sql.isBlank()) {
                    statement.execute(sql);
                }
            }
            statement.execute("TRUNCATE outbox");
            statement.execute("DELETE FROM outbox_relay");
        }
    }

    @Override
    public void fill(Stand stand, int rows, int bytes, boolean headers) throws SQLException {
        stand.execute("INSERT INTO outbox (topic, record_key, record_value, headers) SELECT '" + Stand.TOPIC
                + "', convert_to('key-' || i % 10000, 'UTF8'), substr(value, 1, " + bytes + "), "
                + (headers
                        ? "'type: OrderCreated' || E'\\ntraceparent: 00-' || md5(i::text) || '-00f067aa0ba902b7-01'"
                        : "NULL")
                + " FROM generate_series(1, " + rows + ") i JOIN payloads ON n = i % 1000");
    }

    static RelayConfig config(Stand stand) {
        return RelayConfig.named("bench")
                .table(TABLE)
                .producer(Map.of("bootstrap.servers", stand.bootstrap()))
                .build();
    }

    @Override
    public AutoCloseable start(Stand stand) {
        var database = new PGSimpleDataSource();
        database.setUrl(stand.uri());
        return OutboxRelay.start(database, config(stand));
    }

    @Override
    public long left(Stand stand) throws SQLException {
        return stand.number("SELECT 1 FROM outbox LIMIT 1");
    }
}
