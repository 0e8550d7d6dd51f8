package dev.bellwether.benchmarks.kafka;

import static dev.bellwether.benchmarks.Usage.cpu;
import static dev.bellwether.benchmarks.Usage.heap;
import static dev.bellwether.benchmarks.Usage.threads;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * What elections cost while nothing happens, and how many mandates are lost for nothing; beside the same number of
 * loops in the manner of goNELI.
 */
public final class Idle {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private Idle() {}

    /** Many elections in this process, all led by it. */
    private interface Crowd extends AutoCloseable {
        boolean allLead();

        /** Returns how often one that led did so no more. */
        int lost();

        @Override
        void close();
    }

    private interface Make {
        Crowd of(int count, Duration lease, String bootstrap);
    }

    /** Takes the lease in milliseconds, the seconds to look, and numbers of elections; {@code ours} for ours alone. */
    public static void main(String[] args) throws InterruptedException {
        var numbers = new ArrayList<>(List.of(args));
        Map<String, Make> makes = new LinkedHashMap<>();
        makes.put("bellwether", Idle::ours);
        if (!numbers.remove("ours")) {
            makes.put(new NeliLike().name(), Idle::neliLike);
        }
        var lease = Duration.ofMillis(numbers.isEmpty() ? 10_000 : Long.parseLong(numbers.remove(0)));
        var time = Duration.ofSeconds(numbers.isEmpty() ? 20 : Long.parseLong(numbers.remove(0)));
        var counts = numbers.isEmpty()
                ? List.of(1, 100, 1_000)
                : numbers.stream().map(Integer::valueOf).toList();
        for (var count : counts) {
            for (var make : makes.entrySet()) {
                try (var brokers = KafkaBrokers.start(1, 0, Map.of())) {
                    look(make.getKey(), make.getValue(), brokers, count, lease, time);
                }
            }
        }
    }

    private static Crowd ours(int count, Duration lease, String bootstrap) {
        var lost = new AtomicInteger();
        var config = CandidacyConfig.builder()
                .lease(lease)
                .listener(event -> {
                    if (event instanceof LeadershipEvent.Fenced) {
                        lost.incrementAndGet();
                    }
                })
                .build();
        var elections = Elections.connect("kafka://" + bootstrap);
        var candidacies = IntStream.range(0, count)
                .mapToObj(i -> elections.stand("election-" + i, config))
                .toList();
        return new Crowd() {
            @Override
            public boolean allLead() {
                return candidacies.stream().allMatch(Candidacy::isLeader);
            }

            @Override
            public int lost() {
                return lost.get();
            }

            @Override
            public void close() {
                elections.close();
            }
        };
    }

    private static Crowd neliLike(int count, Duration lease, String bootstrap) {
        var make = new NeliLike();
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(NeliLike.TOPIC, 1, (short) 1)))
                    .all()
                    .get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException("cannot make the topic", e);
        }
        var loops = IntStream.range(0, count)
                .mapToObj(i -> make.stand(bootstrap, "election-" + i, lease))
                .toList();
        return new Crowd() {
            @Override
            public boolean allLead() {
                return loops.stream().allMatch(KafkaContestant::leads);
            }

            @Override
            public int lost() {
                return loops.stream().mapToInt(KafkaContestant::lost).sum();
            }

            @Override
            public void close() {
                loops.forEach(KafkaContestant::close);
            }
        };
    }

    private static void look(String name, Make make, KafkaBrokers brokers, int count, Duration lease, Duration time)
            throws InterruptedException {
        var heap = heap();
        var threads = threads();
        var begun = System.nanoTime();
        try (var crowd = make.of(count, lease, brokers.bootstrap())) {
            while (!crowd.allLead()) {
                if (System.nanoTime() - begun > PATIENCE.toNanos()) {
                    System.out.printf(
                            "%,6d elections, lease %d ms, %-11s: do not all lead within %d s%n",
                            count, lease.toMillis(), name, PATIENCE.toSeconds());
                    return;
                }
                Thread.sleep(5);
            }
            var led = (System.nanoTime() - begun) / 1_000_000;
            var lost = crowd.lost();
            var client = clientCpu();
            var broker = cpu(brokers.broker(1).pid());
            var from = System.nanoTime();
            Thread.sleep(time.toMillis());
            var wall = System.nanoTime() - from;
            System.out.printf(
                    "%,6d elections, lease %d ms, %-11s: all lead after %,d ms; threads %d; sockets %d; client %.1f %% of a core,"
                            + " broker %.1f %%; heap %.2f MB each; %d mandates lost in %d s%n",
                    count,
                    lease.toMillis(),
                    name,
                    led,
                    threads() - threads,
                    sockets(),
                    100.0 * (clientCpu() - client) / wall,
                    100.0 * (cpu(brokers.broker(1).pid()) - broker) / wall,
                    (heap() - heap) / 1e6 / count,
                    crowd.lost() - lost,
                    time.toSeconds());
        }
    }

    private static long clientCpu() {
        return cpu(ProcessHandle.current().pid());
    }

    private static long sockets() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.UnixOperatingSystemMXBean os
                ? os.getOpenFileDescriptorCount()
                : -1;
    }
}
