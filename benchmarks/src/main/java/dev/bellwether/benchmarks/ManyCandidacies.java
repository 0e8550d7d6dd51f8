package dev.bellwether.benchmarks;

import static dev.bellwether.benchmarks.Usage.heap;
import static dev.bellwether.benchmarks.Usage.threads;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What ten thousand candidacies cost on one {@link Elections}: threads, heap, and processor time while nothing happens.
 */
public final class ManyCandidacies {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final int ROUNDS = 5;

    private ManyCandidacies() {}

    /** Runs with the number of candidacies as argument, 10,000 by default. */
    public static void main(String[] args) throws InterruptedException {
        var count = args.length > 0 ? Integer.parseInt(args[0]) : 10_000;
        var heapBefore = heap();
        var threadsBefore = threads();
        try (var elections = Elections.connect("memory:many")) {
            var begun = System.nanoTime();
            List<Candidacy> candidacies = new ArrayList<>(count);
            for (var i = 0; i < count; i++) {
                candidacies.add(elections.stand(
                        "election-" + i,
                        CandidacyConfig.builder().lease(LEASE).candidate("me").build()));
            }
            for (var candidacy : candidacies) {
                if (candidacy.await(Duration.ofMinutes(1)).isEmpty()) {
                    throw new IllegalStateException(candidacy + " does not lead");
                }
            }
            System.out.printf("%,d candidacies, lease %s, memory store, JDK %s%n", count, LEASE, Runtime.version());
            System.out.printf("all lead after          %,d ms%n", (System.nanoTime() - begun) / 1_000_000);
            System.out.printf("threads added           %d%n", threads() - threadsBefore);
            System.out.printf(
                    "heap per candidacy      %,d B (with its seat in the store)%n", (heap() - heapBefore) / count);
            for (var round = 1; round <= ROUNDS; round++) {
                var cpu = cpu();
                var wall = System.nanoTime();
                Thread.sleep(5_000);
                System.out.printf(
                        "processor, idle (%d/%d)   %.1f %% of a core, renewals included%n",
                        round, ROUNDS, 100.0 * (cpu() - cpu) / (System.nanoTime() - wall));
            }
            var lost = candidacies.stream()
                    .filter(candidacy -> !candidacy.isLeader())
                    .count();
            System.out.printf("leaderships lost        %d%n", lost);
        }
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
