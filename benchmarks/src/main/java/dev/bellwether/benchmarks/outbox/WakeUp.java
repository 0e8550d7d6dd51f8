package dev.bellwether.benchmarks.outbox;

import static dev.bellwether.benchmarks.outbox.Latency.at;

import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * How long a single message of an idle table takes, from before its insert to when the relay has read it and to when a
 * reader of committed records has it: with wake-ups and without. The relay is called by the database alone, as if it
 * ran in another process.
 */
public final class WakeUp {
    private static final int WARM_UP = 50;
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(150);
    private static final int MORE_PAUSE_NANOS = (int) TimeUnit.MILLISECONDS.toNanos(200);

    private WakeUp() {}

    private enum Way {
        WAKE_UP("idle_woken", "stashed, woken"),
        TRIGGER("idle_trigger", "inserted, woken by the trigger"),
        LOOKS("idle_looks", "not woken, looks each 50 ms"),
        LOOKS_SELDOM("idle_seldom", "not woken, looks each second");

        private final String name;
        final String title;

        Way(String name, String title) {
            this.name = name;
            this.title = title;
        }

        OutboxTable table() {
            return OutboxTable.named(name);
        }

        boolean isWoken() {
            return this == WAKE_UP || this == TRIGGER;
        }

        void prepare(OutboxServers servers) throws SQLException {
            try (var connection = servers.connect();
                    var statement = connection.createStatement()) {
                OutboxSchema.create(connection, table());
                if (this == TRIGGER) {
                    statement.execute(OutboxSchema.wakeUpTrigger(connection, table()));
                }
            }
        }

        OutboxRelay relay(OutboxServers servers) {
            var database = new PGSimpleDataSource();
            database.setUrl(servers.uri());
            var config = RelayConfig.named(name)
                    .table(table())
                    .wakeUp(isWoken())
                    .producer(Map.of("bootstrap.servers", servers.bootstrap()));
            if (this == LOOKS_SELDOM) {
                config.maxPoll(Duration.ofSeconds(1));
            }
            return OutboxRelay.start(database, config.build());
        }

        void write(Connection connection, String value) throws SQLException {
            if (this != TRIGGER) {
                Outbox.of(table()).stash(connection, Message.of(OutboxServers.TOPIC, "k", value));
                connection.commit();
                return;
            }
            try (var insert = connection.prepareStatement(
                    "INSERT INTO " + name
                            + " (topic, record_key, record_value) VALUES (?, convert_to('k', 'UTF8'), convert_to(?, 'UTF8'))")) {
                insert.setString(1, OutboxServers.TOPIC);
                insert.setString(2, value);
                insert.executeUpdate();
            }
            connection.commit();
        }
    }

    /** Takes how many messages are measured each way: 100 by default. */
    public static void main(String[] args) throws Exception {
        var messages = args.length > 0 ? Integer.parseInt(args[0]) : 100;
        try (var servers = OutboxServers.start()) {
            for (var way : Way.values()) {
                measure(servers, way, messages);
            }
        }
    }

    private static void measure(OutboxServers servers, Way way, int messages) throws Exception {
        way.prepare(servers);
        var over = new AtomicBoolean();
        var ready = new AtomicBoolean();
        BlockingQueue<Long> arrivals = new ArrayBlockingQueue<>(16);
        var reader = new Thread(() -> read(servers, arrivals, ready, over));
        reader.start();
        var read = new long[messages];
        var arrived = new long[messages];
        var random = new Random(7);
        try (var relay = way.relay(servers);
                var connection = servers.connect()) {
            connection.setAutoCommit(false);
            while (!ready.get()) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            for (var i = -WARM_UP; i < messages; i++) {
                LockSupport.parkNanos(LEAST_PAUSE_NANOS + random.nextInt(MORE_PAUSE_NANOS));
                var before = relay.stats().get(0).published();
                var began = System.nanoTime();
                way.write(connection, Integer.toString(i));
                while (relay.stats().get(0).inFlight() == 0
                        && relay.stats().get(0).published() == before) {
                    LockSupport.parkNanos(20_000);
                }
                var seen = System.nanoTime();
                var came = arrivals.poll(60, TimeUnit.SECONDS);
                if (came == null) {
                    throw new IllegalStateException("a message did not arrive within 60 s: " + way.title);
                }
                if (i >= 0) {
                    read[i] = seen - began;
                    arrived[i] = came - began;
                }
            }
        } finally {
            over.set(true);
            reader.join();
        }
        report(way, "read by the relay", read);
        report(way, "at the consumer", arrived);
    }

    private static void read(
            OutboxServers servers, BlockingQueue<Long> arrivals, AtomicBoolean ready, AtomicBoolean over) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", servers.bootstrap(), "isolation.level", "read_committed"),
                new StringDeserializer(),
                new StringDeserializer())) {
            var partitions = consumer.partitionsFor(OutboxServers.TOPIC).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            ready.set(true);
            while (!over.get()) {
                var records = consumer.poll(Duration.ofMillis(100)).count();
                for (var i = 0; i < records; i++) {
                    arrivals.add(System.nanoTime());
                }
            }
        }
    }

    private static void report(Way way, String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%-32s %-18s p50 %7.1f ms, p95 %7.1f ms, p99 %7.1f ms, max %7.1f ms%n",
                way.title, what, at(nanos, 0.5), at(nanos, 0.95), at(nanos, 0.99), at(nanos, 1));
    }
}
