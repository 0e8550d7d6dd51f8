package dev.bellwether.benchmarks.outbox;

import java.nio.ByteBuffer;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * How long it takes from before an insert to when a reader of committed records has the record, at a steady rate of transactions of
 * one row each. A transaction that is late by our own fault counts from when it was due.
 */
public final class Latency {
    private static final int WRITERS = 8;

    private Latency() {}

    /** Takes transactions per second, 1,000 by default; seconds, 30; and the isolation of the reader. */
    public static void main(String[] args) throws Exception {
        var rate = args.length > 0 ? Integer.parseInt(args[0]) : 1_000;
        var seconds = args.length > 1 ? Integer.parseInt(args[1]) : 30;
        var isolation = args.length > 2 ? args[2] : "read_committed";
        var contestant = new Ours();
        try (var stand = Stand.start()) {
            contestant.reset(stand);
            try (var relay = contestant.start(stand)) {
                measure(stand, rate, Math.min(10, seconds), isolation);
                var nanos = measure(stand, rate, seconds, isolation);
                Arrays.sort(nanos);
                System.out.printf(
                        "%s, %,d tx/s for %d s, %s: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms%s%n",
                        contestant.name(),
                        rate,
                        seconds,
                        isolation,
                        at(nanos, 0.5),
                        at(nanos, 0.95),
                        at(nanos, 0.99),
                        at(nanos, 1),
                        relay == null ? "?" : "");
            }
        }
    }

    private static double at(long[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1e6;
    }

    private static long[] measure(Stand stand, int rate, int seconds, String isolation) throws InterruptedException {
        var total = rate * seconds;
        var nanos = new long[total];
        var ready = new AtomicBoolean();
        var reader = new Thread(() -> read(stand, nanos, ready, isolation));
        reader.start();
        while (!ready.get()) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        var began = System.nanoTime();
        var writers = new Thread[WRITERS];
        for (var w = 0; w < WRITERS; w++) {
            var first = w;
            writers[w] = new Thread(() -> write(stand, first, total, began, 1_000_000_000L / rate));
            writers[w].start();
        }
        for (var writer : writers) {
            writer.join();
        }
        reader.join();
        return nanos;
    }

    private static void write(Stand stand, int first, int total, long began, long interval) {
        try (var connection = stand.connect();
                var insert = connection.prepareStatement(
                        "INSERT INTO outbox (topic, record_key, record_value) VALUES ('" + Stand.TOPIC + "', ?, ?)")) {
            for (var i = first; i < total; i += WRITERS) {
                var due = began + i * interval;
                while (System.nanoTime() - due < 0) {
                    LockSupport.parkNanos(due - System.nanoTime());
                }
                insert.setBytes(1, ("key-" + i % 10_000).getBytes(java.nio.charset.StandardCharsets.UTF_8));
                insert.setBytes(
                        2, ByteBuffer.allocate(256).putInt(i).putLong(due).array());
                insert.executeUpdate();
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void read(Stand stand, long[] nanos, AtomicBoolean ready, String isolation) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", stand.bootstrap(), "isolation.level", isolation),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            var partitions = consumer.partitionsFor(Stand.TOPIC).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            ready.set(true);
            for (var count = 0; count < nanos.length; ) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    var value = ByteBuffer.wrap(record.value());
                    nanos[value.getInt()] = System.nanoTime() - value.getLong();
                    count++;
                }
            }
        }
    }
}
