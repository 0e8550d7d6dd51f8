package dev.bellwether.benchmarks.outbox;

import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.source.SourceRecord;
import org.jspecify.annotations.Nullable;

/**
 * Debezium's outbox router in its embedded engine: the write-ahead log by pgoutput, an idempotent producer, and a batch
 * is marked when all of it is confirmed. Rows stay in the table, which costs it nothing here and somebody else's time
 * later.
 */
final class DebeziumRouter implements OutboxContestant {
    private static final String SLOT = "bench_router";

    private final AtomicLong expected = new AtomicLong();
    private final AtomicLong confirmed = new AtomicLong();
    private final AtomicReference<@Nullable IllegalStateException> failure = new AtomicReference<>();

    @Override
    public String name() {
        return "debezium-router";
    }

    @Override
    public boolean isQuick() {
        return true;
    }

    @Override
    public void reset(OutboxServers stand) throws SQLException {
        stand.execute(
                "CREATE TABLE IF NOT EXISTS routed (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype varchar(255) NOT NULL,"
                        + " aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, traceparent text, payload bytea)");
        stand.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '" + SLOT
                + "'");
        stand.execute("DROP PUBLICATION IF EXISTS bench_router");
        stand.execute("TRUNCATE routed");
        stand.execute("CREATE PUBLICATION bench_router FOR TABLE routed");
        stand.execute("SELECT pg_create_logical_replication_slot('" + SLOT + "', 'pgoutput')");
        expected.set(0);
        confirmed.set(0);
    }

    @Override
    public void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws SQLException {
        stand.execute("INSERT INTO routed (aggregatetype, aggregateid, type, traceparent, payload) SELECT '"
                + OutboxServers.TOPIC
                + "', 'key-' || i % 10000, 'OrderCreated', "
                + (headers ? "'00-' || md5(i::text) || '-00f067aa0ba902b7-01'" : "NULL") + ", substr(value, 1, " + bytes
                + ") FROM generate_series(1, " + rows + ") i JOIN payloads ON n = i % 1000");
        expected.addAndGet(rows);
    }

    @Override
    public AutoCloseable start(OutboxServers stand) {
        var producer = new KafkaProducer<>(
                Map.<String, Object>of(
                        "bootstrap.servers",
                        stand.bootstrap(),
                        "enable.idempotence",
                        true,
                        "linger.ms",
                        5,
                        "batch.size",
                        256 << 10,
                        "compression.type",
                        "lz4"),
                new ByteArraySerializer(),
                new ByteArraySerializer());
        var engine = DebeziumEngine.create(Connect.class)
                .using(properties(stand))
                .notifying(
                        (List<ChangeEvent<SourceRecord, SourceRecord>> records,
                                DebeziumEngine.RecordCommitter<ChangeEvent<SourceRecord, SourceRecord>> committer) ->
                                publish(producer, records, committer))
                .using((success, message, error) -> {
                    if (!success) {
                        failure.set(new IllegalStateException("debezium: " + message, error));
                    }
                })
                .build();
        var runner = Executors.newSingleThreadExecutor();
        runner.execute(engine);
        return () -> {
            try {
                engine.close();
            } finally {
                runner.shutdown();
                runner.awaitTermination(30, TimeUnit.SECONDS);
                producer.close();
            }
        };
    }

    private void publish(
            KafkaProducer<byte[], byte[]> producer,
            List<ChangeEvent<SourceRecord, SourceRecord>> events,
            DebeziumEngine.RecordCommitter<ChangeEvent<SourceRecord, SourceRecord>> committer)
            throws InterruptedException {
        var sent = new ArrayList<Future<RecordMetadata>>(events.size());
        for (var event : events) {
            var routed = event.value();
            var record = new ProducerRecord<>(
                    routed.topic(),
                    String.valueOf(routed.key()).getBytes(StandardCharsets.UTF_8),
                    bytes(routed.value()));
            routed.headers()
                    .forEach(header -> record.headers()
                            .add(header.key(), String.valueOf(header.value()).getBytes(StandardCharsets.UTF_8)));
            sent.add(producer.send(record));
        }
        try {
            for (var one : sent) {
                one.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        for (var event : events) {
            committer.markProcessed(event);
        }
        committer.markBatchFinished();
        confirmed.addAndGet(events.size());
    }

    private static Properties properties(OutboxServers stand) {
        var properties = new Properties();
        properties.putAll(Map.ofEntries(
                Map.entry("name", "bench"),
                Map.entry("connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
                Map.entry("offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore"),
                Map.entry("offset.flush.interval.ms", "1000"),
                Map.entry("topic.prefix", "bench"),
                Map.entry("database.hostname", "localhost"),
                Map.entry("database.port", Integer.toString(stand.port())),
                Map.entry("database.user", "postgres"),
                Map.entry("database.password", "postgres"),
                Map.entry("database.dbname", "postgres"),
                Map.entry("plugin.name", "pgoutput"),
                Map.entry("slot.name", SLOT),
                Map.entry("publication.name", "bench_router"),
                Map.entry("publication.autocreate.mode", "disabled"),
                Map.entry("snapshot.mode", "no_data"),
                Map.entry("table.include.list", "public.routed"),
                Map.entry("poll.interval.ms", "5"),
                Map.entry("max.batch.size", "5000"),
                Map.entry("max.queue.size", "20000"),
                Map.entry("transforms", "outbox"),
                Map.entry("transforms.outbox.type", "io.debezium.transforms.outbox.EventRouter"),
                Map.entry("transforms.outbox.route.topic.replacement", "${routedByValue}"),
                Map.entry(
                        "transforms.outbox.table.fields.additional.placement",
                        "type:header:type,traceparent:header:traceparent")));
        return properties;
    }

    /** Columns of bytes come as buffers from the stream of changes. */
    private static byte[] bytes(Object value) {
        return value instanceof ByteBuffer buffer ? Utils.toArray(buffer) : (byte[]) value;
    }

    @Override
    public long left(OutboxServers stand) {
        var failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        return expected.get() - confirmed.get();
    }

    @Override
    public Pen pen(OutboxServers stand) throws SQLException {
        return new InsertPen(
                stand,
                "INSERT INTO routed (aggregatetype, aggregateid, type, payload) VALUES ('" + OutboxServers.TOPIC
                        + "', ?, 'OrderCreated', convert_to(?, 'UTF8'))");
    }
}
