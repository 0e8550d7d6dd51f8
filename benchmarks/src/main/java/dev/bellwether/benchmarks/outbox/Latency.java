package dev.bellwether.benchmarks.outbox;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * How long it takes from before an insert to when a reader of committed records has the record, at a steady rate of
 * transactions of one row each. A transaction that is late by our own fault counts from when it was due.
 */
public final class Latency {
    private static final int WRITERS = 8;
    private static final int BYTES = 256;
    private static final int WARM_UP_SECONDS = 60; // until compilers have done with the relay's code and the broker's
    private static final Duration GIVEN_UP = Duration.ofSeconds(30);

    private Latency() {}

    /**
     * Takes transactions per second, 1,000 by default; seconds, 30; the isolation of the reader, or "held" for
     * committed ones while a transaction that has written into our table stays open; and who takes part.
     */
    public static void main(String[] args) throws Exception {
        var rate = args.length > 0 ? Integer.parseInt(args[0]) : 1_000;
        var seconds = args.length > 1 ? Integer.parseInt(args[1]) : 30;
        var mode = args.length > 2 ? args[2] : "read_committed";
        var isolation = mode.equals("held") ? "read_committed" : mode;
        try (var stand = OutboxServers.start()) {
            for (var contestant : Contestants.named(args, 3)) {
                contestant.reset(stand);
                try (var held = mode.equals("held") ? Drain.hold(stand) : null;
                        var relay = contestant.start(stand)) {
                    Objects.requireNonNull(relay, contestant.name());
                    measure(stand, contestant, rate, WARM_UP_SECONDS, isolation);
                    report(contestant, rate, seconds, mode, measure(stand, contestant, rate, seconds, isolation));
                    if (held != null) {
                        held.rollback();
                    }
                }
            }
        }
    }

    private static void report(OutboxContestant contestant, int rate, int seconds, String mode, long[] nanos) {
        var came = Arrays.stream(nanos).filter(n -> n != 0).sorted().toArray();
        if (came.length < nanos.length) {
            System.out.printf(
                    "%-24s cannot keep up with %,d tx/s: %,d of %,d had come %d s after the last was due%n",
                    contestant.name(), rate, came.length, nanos.length, GIVEN_UP.toSeconds());
            return;
        }
        System.out.printf(
                "%-24s %,d tx/s for %d s, %s: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms%n",
                contestant.name(), rate, seconds, mode, at(came, 0.5), at(came, 0.95), at(came, 0.99), at(came, 1));
    }

    static double at(long[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1e6;
    }

    private static long[] measure(
            OutboxServers stand, OutboxContestant contestant, int rate, int seconds, String isolation)
            throws InterruptedException {
        var total = rate * seconds;
        var nanos = new long[total];
        var ready = new AtomicBoolean();
        var over = new AtomicBoolean();
        var run = Long.toString(System.nanoTime(), 36);
        var reader = new Thread(() -> read(stand, run, nanos, ready, over, isolation));
        reader.start();
        while (!ready.get()) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        var began = System.nanoTime();
        var writers = new Thread[WRITERS];
        for (var w = 0; w < WRITERS; w++) {
            var first = w;
            writers[w] = new Thread(() -> write(stand, contestant, run, first, total, began, 1_000_000_000L / rate));
            writers[w].start();
        }
        for (var writer : writers) {
            writer.join();
        }
        reader.join(GIVEN_UP.toMillis());
        over.set(true);
        reader.join();
        return nanos;
    }

    private static void write(
            OutboxServers stand,
            OutboxContestant contestant,
            String run,
            int first,
            int total,
            long began,
            long interval) {
        try (var pen = contestant.pen(stand)) {
            for (var i = first; i < total; i += WRITERS) {
                var due = began + i * interval;
                while (System.nanoTime() - due < 0) {
                    LockSupport.parkNanos(due - System.nanoTime());
                }
                var value = run + ' ' + i + ' ' + due + ' ';
                pen.write("key-" + i % 10_000, value + "x".repeat(BYTES - value.length()));
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void read(
            OutboxServers stand, String run, long[] nanos, AtomicBoolean ready, AtomicBoolean over, String isolation) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", stand.bootstrap(), "isolation.level", isolation),
                new StringDeserializer(),
                new StringDeserializer())) {
            var partitions = consumer.partitionsFor(OutboxServers.TOPIC).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            ready.set(true);
            for (var count = 0; count < nanos.length && !over.get(); ) {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    var parts = record.value().split(" ", 4);
                    if (!parts[0].equals(run)) {
                        continue; // of the run before
                    }
                    var i = Integer.parseInt(parts[1]);
                    if (nanos[i] == 0) {
                        nanos[i] = System.nanoTime() - Long.parseLong(parts[2]);
                        count++;
                    }
                }
            }
        }
    }
}
