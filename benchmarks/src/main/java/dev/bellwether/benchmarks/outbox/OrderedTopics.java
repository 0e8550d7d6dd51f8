package dev.bellwether.benchmarks.outbox;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A stand-in for the ordered mode of gruelbox's transaction-outbox, of which only releases without that mode could be
 * had; its numbers are ours and not checked against the library: each key is a topic; a flush takes the first entry of
 * each topic, up to 4,096, pushes its next attempt back, and gives it to 16 threads; each of them, in a transaction,
 * locks the entry, sends one record, waits for its confirmation, and deletes the entry. It flushes again at once while
 * there is something, and after 5 ms when there was nothing. Nobody should take it for a figure of the library.
 */
final class OrderedTopics implements OutboxContestant {
    private static final int THREADS = 16;
    private static final int FLUSH = 4_096;
    private static final Duration ATTEMPTS = Duration.ofSeconds(30);
    private static final String INSERT = "INSERT INTO topics_outbox (topic, seq, value, trace, next_attempt)"
            + " VALUES (?, nextval('topics_seq'), ?, NULL, now() - interval '1 second')";

    private record Entry(UUID id, int version) {}

    @Override
    public String name() {
        return "ordered-topics";
    }

    @Override
    public boolean isQuick() {
        return false;
    }

    @Override
    public void reset(OutboxServers stand) throws SQLException {
        stand.execute("CREATE SEQUENCE IF NOT EXISTS topics_seq");
        stand.execute(
                "CREATE TABLE IF NOT EXISTS topics_outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), topic varchar(250) NOT NULL,"
                        + " seq bigint NOT NULL, value text, trace text, next_attempt timestamp(6) NOT NULL,"
                        + " processed boolean NOT NULL DEFAULT false, version integer NOT NULL DEFAULT 0)");
        stand.execute("CREATE INDEX IF NOT EXISTS topics_next ON topics_outbox (topic, processed, seq)");
        stand.execute("TRUNCATE topics_outbox");
    }

    @Override
    public void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws SQLException {
        stand.execute("INSERT INTO topics_outbox (topic, seq, value, trace, next_attempt) SELECT 'key-' || i % 10000,"
                + " nextval('topics_seq'), substr(encode(value, 'hex'), 1, " + bytes + "), "
                + (headers ? "'00-' || md5(i::text) || '-00f067aa0ba902b7-01'" : "NULL")
                + ", now() - interval '1 second' FROM generate_series(1, " + rows
                + ") i JOIN payloads ON n = i % 1000");
    }

    @Override
    public AutoCloseable start(OutboxServers stand) {
        var pool = new HikariDataSource();
        pool.setJdbcUrl(stand.uri());
        pool.setMaximumPoolSize(THREADS + 1);
        var producer = new KafkaProducer<>(
                Map.<String, Object>of("bootstrap.servers", stand.bootstrap(), "enable.idempotence", true),
                new StringSerializer(),
                new StringSerializer());
        var workers = Executors.newFixedThreadPool(THREADS);
        var flusher = new Thread(() -> flush(pool, producer, workers));
        flusher.start();
        return () -> {
            flusher.interrupt();
            flusher.join();
            workers.shutdownNow();
            workers.awaitTermination(10, TimeUnit.SECONDS);
            producer.close();
            pool.close();
        };
    }

    private static void flush(HikariDataSource pool, KafkaProducer<String, String> producer, ExecutorService workers) {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                var batch = next(pool);
                for (var entry : batch) {
                    workers.execute(() -> process(pool, producer, entry));
                }
                if (batch.isEmpty()) {
                    TimeUnit.MILLISECONDS.sleep(5);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (SQLException e) {
            if (!Thread.currentThread().isInterrupted()) {
                System.out.println("ordered-topics: " + e);
            }
        }
    }

    /** Takes the first entry of each topic, and pushes it back. */
    private static List<Entry> next(HikariDataSource pool) throws SQLException {
        try (var connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            var batch = new ArrayList<Entry>();
            try (var select = connection.prepareStatement("WITH raw AS (SELECT id, version, next_attempt,"
                            + " row_number() OVER (PARTITION BY topic ORDER BY seq) AS rn FROM topics_outbox WHERE processed = false)"
                            + " SELECT id, version FROM raw WHERE rn = 1 AND next_attempt < ? LIMIT " + FLUSH);
                    var push = connection.prepareStatement(
                            "UPDATE topics_outbox SET next_attempt = ?, version = version + 1 WHERE id = ? AND version = ?")) {
                select.setTimestamp(1, Timestamp.from(Instant.now()));
                try (var result = select.executeQuery()) {
                    while (result.next()) {
                        batch.add(new Entry(result.getObject(1, UUID.class), result.getInt(2) + 1));
                    }
                }
                for (var entry : batch) {
                    push.setTimestamp(1, Timestamp.from(Instant.now().plus(ATTEMPTS)));
                    push.setObject(2, entry.id());
                    push.setInt(3, entry.version() - 1);
                    push.addBatch();
                }
                push.executeBatch();
            }
            connection.commit();
            return batch;
        }
    }

    private static void process(HikariDataSource pool, KafkaProducer<String, String> producer, Entry entry) {
        try (var connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            if (send(connection, producer, entry)) {
                try (var delete =
                        connection.prepareStatement("DELETE FROM topics_outbox WHERE id = ? AND version = ?")) {
                    delete.setObject(1, entry.id());
                    delete.setInt(2, entry.version());
                    delete.executeUpdate();
                }
            }
            connection.commit();
        } catch (SQLException | ExecutionException e) {
            System.out.println("ordered-topics: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean send(Connection connection, KafkaProducer<String, String> producer, Entry entry)
            throws SQLException, ExecutionException, InterruptedException {
        try (var lock = connection.prepareStatement("SELECT topic, value, trace FROM topics_outbox"
                + " WHERE id = ? AND version = ? FOR UPDATE SKIP LOCKED")) {
            lock.setObject(1, entry.id());
            lock.setInt(2, entry.version());
            try (var result = lock.executeQuery()) {
                if (!result.next()) {
                    return false;
                }
                var record = new ProducerRecord<>(OutboxServers.TOPIC, result.getString(1), result.getString(2));
                var trace = result.getString(3);
                if (trace != null) {
                    record.headers().add("type", "OrderCreated".getBytes(java.nio.charset.StandardCharsets.UTF_8));
                    record.headers().add("traceparent", trace.getBytes(java.nio.charset.StandardCharsets.UTF_8));
                }
                producer.send(record).get();
                return true;
            }
        }
    }

    @Override
    public long left(OutboxServers stand) throws SQLException {
        return stand.number("SELECT 1 FROM topics_outbox WHERE NOT processed LIMIT 1");
    }

    @Override
    public Pen pen(OutboxServers stand) throws SQLException {
        return new InsertPen(stand, INSERT);
    }
}
