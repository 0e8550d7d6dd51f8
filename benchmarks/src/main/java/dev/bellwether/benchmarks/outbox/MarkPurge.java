package dev.bellwether.benchmarks.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * goharvest's mark and purge, written anew from its sources' behaviour, at its default settings: 100 records are marked
 * by one update, sent by one of eight producers chosen by the key, one of each key and a thousand in all at a time,
 * each deleted by a statement of its own when it is acknowledged; a pause of 10 ms when there is nothing to mark. In
 * Java: nobody should take it for a figure of the Go program.
 */
final class MarkPurge implements OutboxContestant {
    private static final int MARK = 100;
    private static final int SENDERS = 8;
    private static final int IN_FLIGHT = 1_000;

    @Override
    public String name() {
        return "mark-purge";
    }

    @Override
    public boolean isQuick() {
        return false;
    }

    @Override
    public Pen pen(OutboxServers stand) throws SQLException {
        return new InsertPen(
                stand,
                "INSERT INTO harvest (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys,"
                        + " kafka_header_values) VALUES (now(), '" + OutboxServers.TOPIC + "', ?, ?, '{}', '{}')");
    }

    @Override
    public void reset(OutboxServers stand) throws SQLException {
        stand.execute("CREATE TABLE IF NOT EXISTS harvest (id bigserial PRIMARY KEY, create_time timestamptz NOT NULL,"
                + " kafka_topic varchar(249) NOT NULL, kafka_key varchar(100) NOT NULL, kafka_value varchar(10000),"
                + " kafka_header_keys text[] NOT NULL, kafka_header_values text[] NOT NULL, leader_id uuid)");
        stand.execute("TRUNCATE harvest");
    }

    @Override
    public void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws SQLException {
        stand.execute("INSERT INTO harvest (create_time, kafka_topic, kafka_key, kafka_value, kafka_header_keys,"
                + " kafka_header_values) SELECT now(), '" + OutboxServers.TOPIC
                + "', 'key-' || i % 10000, substr(encode(value, 'hex'), 1, "
                + bytes + "), "
                + (headers
                        ? "ARRAY['type', 'traceparent'], ARRAY['OrderCreated', '00-' || md5(i::text) || '-00f067aa0ba902b7-01']"
                        : "'{}', '{}'")
                + " FROM generate_series(1, " + rows + ") i JOIN payloads ON n = i % 1000");
    }

    @Override
    public AutoCloseable start(OutboxServers stand) throws SQLException {
        return new Harvester(stand);
    }

    @Override
    public long left(OutboxServers stand) throws SQLException {
        return stand.number("SELECT 1 FROM harvest LIMIT 1");
    }

    private record Marked(long id, String topic, String key, String value, List<String> names, List<String> values) {}

    /** One leader: a marker, eight senders, and a connection for each purge under way. */
    private static final class Harvester implements AutoCloseable {
        private final UUID leader = UUID.randomUUID();
        private final List<Thread> threads = new ArrayList<>();
        private final List<KafkaProducer<String, String>> producers = new ArrayList<>();
        private final List<SynchronousQueue<Marked>> cells = new ArrayList<>();
        private final BlockingQueue<Marked> acknowledged = new LinkedBlockingQueue<>();
        private final Set<String> keysInFlight = new HashSet<>();
        private int inFlight;
        private volatile boolean ending;

        Harvester(OutboxServers stand) throws SQLException {
            for (var i = 0; i < SENDERS; i++) {
                var cell = new SynchronousQueue<Marked>();
                cells.add(cell);
                var producer = new KafkaProducer<>(
                        Map.<String, Object>of(
                                "bootstrap.servers", stand.bootstrap(), "enable.idempotence", true, "linger.ms", 5),
                        new StringSerializer(),
                        new StringSerializer());
                producers.add(producer);
                run(() -> send(cell, producer));
                var purging = stand.connect();
                run(() -> purge(purging));
            }
            var marking = stand.connect();
            run(() -> mark(marking));
        }

        private void run(Body body) {
            var thread = new Thread(() -> {
                try {
                    body.run();
                } catch (SQLException e) {
                    if (!ending) {
                        throw new IllegalStateException(e);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            threads.add(thread);
            thread.start();
        }

        private interface Body {
            void run() throws SQLException, InterruptedException;
        }

        private void mark(Connection connection) throws SQLException, InterruptedException {
            try (connection;
                    var mark = connection.prepareStatement(
                            "UPDATE harvest SET leader_id = ? WHERE id IN (SELECT id FROM harvest"
                                    + " WHERE leader_id IS NULL OR leader_id <> ? ORDER BY id LIMIT ?) RETURNING id, kafka_topic,"
                                    + " kafka_key, kafka_value, kafka_header_keys, kafka_header_values")) {
                while (!ending) {
                    mark.setObject(1, leader);
                    mark.setObject(2, leader);
                    mark.setInt(3, MARK);
                    var marked = new ArrayList<Marked>();
                    try (var result = mark.executeQuery()) {
                        while (result.next()) {
                            marked.add(new Marked(
                                    result.getLong(1),
                                    result.getString(2),
                                    result.getString(3),
                                    result.getString(4),
                                    List.of((String[]) result.getArray(5).getArray()),
                                    List.of((String[]) result.getArray(6).getArray())));
                        }
                    }
                    if (marked.isEmpty()) {
                        TimeUnit.MILLISECONDS.sleep(10);
                    }
                    marked.sort(Comparator.comparingLong(Marked::id));
                    for (var one : marked) {
                        cells.get(Math.floorMod(one.key().hashCode(), SENDERS)).put(one);
                    }
                }
            }
        }

        private void send(SynchronousQueue<Marked> cell, KafkaProducer<String, String> producer)
                throws InterruptedException {
            while (true) {
                var one = cell.take();
                awaitTurn(one.key());
                var message = new ProducerRecord<>(one.topic(), one.key(), one.value());
                for (var i = 0; i < one.names().size(); i++) {
                    message.headers()
                            .add(
                                    one.names().get(i),
                                    one.values().get(i).getBytes(java.nio.charset.StandardCharsets.UTF_8));
                }
                var unused = producer.send(message, (metadata, failure) -> acknowledged.add(one));
            }
        }

        private synchronized void awaitTurn(String key) throws InterruptedException {
            while (inFlight >= IN_FLIGHT || keysInFlight.contains(key)) {
                wait();
            }
            inFlight++;
            keysInFlight.add(key);
        }

        private synchronized void done(String key) {
            inFlight--;
            keysInFlight.remove(key);
            notifyAll();
        }

        private void purge(Connection connection) throws SQLException, InterruptedException {
            try (connection;
                    var delete = connection.prepareStatement("DELETE FROM harvest WHERE id = ?")) {
                while (true) {
                    var one = acknowledged.take();
                    delete.setLong(1, one.id());
                    delete.executeUpdate();
                    done(one.key());
                }
            }
        }

        @Override
        public void close() {
            ending = true;
            threads.forEach(Thread::interrupt);
            try {
                for (var thread : threads) {
                    thread.join();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // they have been told to end
            }
            producers.forEach(KafkaProducer::close);
        }
    }
}
