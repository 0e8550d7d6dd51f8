package dev.bellwether.benchmarks.kafka;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** What elections cost while nothing happens, and how many mandates are lost for nothing. */
public final class Idle {
    private Idle() {}

    /** Takes the lease in milliseconds, the seconds to look, and numbers of elections. */
    public static void main(String[] args) throws InterruptedException {
        var lease = Duration.ofMillis(args.length > 0 ? Long.parseLong(args[0]) : 10_000);
        var time = Duration.ofSeconds(args.length > 1 ? Long.parseLong(args[1]) : 20);
        var counts = new ArrayList<Integer>();
        for (var i = 2; i < args.length; i++) {
            counts.add(Integer.parseInt(args[i]));
        }
        if (counts.isEmpty()) {
            counts.addAll(List.of(1, 100, 1_000));
        }
        for (var count : counts) {
            try (var brokers = KafkaBrokers.start(1, 0, Map.of())) {
                look(brokers, count, lease, time);
            }
        }
    }

    private static void look(KafkaBrokers brokers, int count, Duration lease, Duration time)
            throws InterruptedException {
        var lost = new AtomicInteger();
        var config = CandidacyConfig.builder()
                .lease(lease)
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Fenced) {
                        lost.incrementAndGet();
                    }
                })
                .build();
        var heap = heap();
        var threads = threads();
        try (var elections = Elections.connect("kafka://" + brokers.bootstrap())) {
            var begun = System.nanoTime();
            List<Candidacy> candidacies = new ArrayList<>();
            for (var i = 0; i < count; i++) {
                candidacies.add(elections.stand("election-" + i, config));
            }
            for (var candidacy : candidacies) {
                if (candidacy.await(Duration.ofMinutes(2)).isEmpty()) {
                    throw new IllegalStateException(candidacy + " does not lead");
                }
            }
            var led = (System.nanoTime() - begun) / 1_000_000;
            lost.set(0);
            var client = clientCpu();
            var broker = cpu(brokers.broker(1).pid());
            var from = System.nanoTime();
            Thread.sleep(time.toMillis());
            var wall = System.nanoTime() - from;
            System.out.printf(
                    "%,6d elections, lease %d ms: all lead after %,d ms; threads %d; sockets %d; client %.1f %% of a core,"
                            + " broker %.1f %%; heap %.2f MB each; %d mandates lost in %d s%n",
                    count,
                    lease.toMillis(),
                    led,
                    threads() - threads,
                    sockets(),
                    100.0 * (clientCpu() - client) / wall,
                    100.0 * (cpu(brokers.broker(1).pid()) - broker) / wall,
                    (heap() - heap) / 1e6 / count,
                    lost.get(),
                    time.toSeconds());
        }
    }

    private static long clientCpu() {
        return cpu(ProcessHandle.current().pid());
    }

    private static long cpu(long pid) {
        return ProcessHandle.of(pid)
                .flatMap(process -> process.info().totalCpuDuration())
                .map(Duration::toNanos)
                .orElse(0L);
    }

    private static int threads() {
        return ManagementFactory.getThreadMXBean().getThreadCount();
    }

    private static long sockets() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.UnixOperatingSystemMXBean os
                ? os.getOpenFileDescriptorCount()
                : -1;
    }

    private static long heap() {
        for (var i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
