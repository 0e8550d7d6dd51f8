package dev.bellwether.benchmarks;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.HandOver;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/**
 * How long nobody leads when the seat is handed over by name, beside a leader that resigns: from the last instant at
 * which the old leader was seen to lead to the first at which the new one was. And how long until the new one can work:
 * it needs 200 ms for its caches, which it fills when it is told to get ready, or else when it leads.
 *
 * <p>Three candidates, each with a connection of its own, in this process. Arguments: the program of nats-server, and
 * the number of rounds, 30 by default.
 */
public final class HandOvers {
    private static final Duration LEASE = Duration.ofSeconds(5);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration CACHES = Duration.ofMillis(200);
    private static final int WARM_UP = 5;
    /** Between two looks of the one thread that looks. */
    private static final long LOOK_NANOS = 20_000;

    private HandOvers() {}

    /** See the class. */
    public static void main(String[] args) {
        var rounds = args.length > 1 ? Integer.parseInt(args[1]) : 30;
        Costs.andEnd(() -> {
            System.out.printf(
                    "%d rounds, three candidates, lease %d s; milliseconds: p50 / p99 / max%n",
                    rounds, LEASE.toSeconds());
            try (var postgres = EmbeddedPostgres.builder()
                    .setPort(Ports.free())
                    .setPGStartupWait(Duration.ofSeconds(60))
                    .setServerConfig("fsync", "on")
                    .setServerConfig("synchronous_commit", "on")
                    .start()) {
                measure(
                        "PostgreSQL",
                        "jdbc:postgresql://127.0.0.1:" + postgres.getPort() + "/postgres?user=postgres",
                        rounds);
            }
            try (var nats = NatsServer.alone(args[0], "")) {
                measure("NATS", nats.uri("bucket=hand-over"), rounds);
            }
            try (var kafka = KafkaBrokers.start(1, 1, Map.of())) {
                measure(
                        "Kafka by log",
                        "kafka://" + kafka.bootstrap() + "?by=log&longest.lease=5s&topic=hand-over",
                        rounds);
            }
        });
    }

    private static void measure(String where, String uri, int rounds) throws InterruptedException {
        try (var race = new Race(uri)) {
            for (var i = 0; i < WARM_UP; i++) {
                race.byName();
                race.byResigning();
            }
            var vacant = List.of(new ArrayList<Long>(), new ArrayList<Long>());
            var idle = List.of(new ArrayList<Long>(), new ArrayList<Long>());
            for (var i = 0; i < rounds; i++) { // in turn, so that what disturbs one disturbs the other
                var named = race.byName();
                var resigned = race.byResigning();
                vacant.get(0).add(named.vacantNanos);
                vacant.get(1).add(resigned.vacantNanos);
                idle.get(0).add(named.idleNanos);
                idle.get(1).add(resigned.idleNanos);
            }
            tell(where, "vacant", "by name", vacant.get(0));
            tell(where, "vacant", "by resigning", vacant.get(1));
            tell(where, "until the next can work", "by name", idle.get(0));
            tell(where, "until the next can work", "by resigning", idle.get(1));
        }
    }

    private static void tell(String where, String what, String how, List<Long> nanos) {
        var sorted = nanos.stream().sorted().map(one -> one / 1e6).toList();
        System.out.printf(
                "%s, %s, %s: %.1f / %.1f / %.1f%n",
                where,
                what,
                how,
                sorted.get((sorted.size() - 1) / 2),
                sorted.get((int) Math.ceil(0.99 * sorted.size()) - 1),
                sorted.get(sorted.size() - 1));
        Samples.nanos(where, what + " after a hand-over (lease " + LEASE.toSeconds() + " s)", how, nanos);
    }

    /** One that stands, and is warm once its caches are full. */
    private static final class Runner implements AutoCloseable {
        private final String id;
        private final Elections elections;
        private volatile boolean warm;
        private volatile long worksNanos;
        private Candidacy candidacy;

        private Runner(String uri, String id) {
            this.id = id;
            elections = Elections.connect(uri);
            candidacy = stand();
        }

        private Candidacy stand() {
            warm = false;
            return elections.stand(
                    "race",
                    CandidacyConfig.ofLease(LEASE).toBuilder()
                            .candidate(id)
                            .listener(this::hear)
                            .build());
        }

        private void hear(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Preparing) {
                warmUp();
            } else if (event instanceof LeadershipEvent.Acquired) {
                warmUp();
                worksNanos = System.nanoTime();
            }
        }

        private void warmUp() {
            if (!warm) {
                LockSupport.parkNanos(CACHES.toNanos());
                warm = true;
            }
        }

        /** Stands again as a process that was started again: cold. */
        private void again() {
            candidacy.close();
            candidacy = stand();
        }

        @Override
        public void close() {
            elections.close();
        }
    }

    private record Passed(long vacantNanos, long idleNanos) {}

    /** The three, of which one leads. */
    private static final class Race implements AutoCloseable {
        private final List<Runner> runners;

        private Race(String uri) {
            runners = List.of(new Runner(uri, "a"), new Runner(uri, "b"), new Runner(uri, "c"));
        }

        private Passed byName() throws InterruptedException {
            var leader = settled();
            var next = runners.get((runners.indexOf(leader) + 1) % runners.size());
            next.warm = false;
            var handOver = new CompletableFuture<HandOver>();
            var thread = new Thread(() -> handOver.complete(leader.candidacy.handOver(next.id, PATIENCE)));
            var passed = watch(leader, thread, handOver);
            if (!handOver.join().isDone() || !next.candidacy.isLeader()) {
                throw new AssertionError(handOver.join() + " instead of " + next.id);
            }
            return passed;
        }

        private Passed byResigning() throws InterruptedException {
            var leader = settled();
            runners.forEach(runner -> runner.warm = false);
            var passed = watch(leader, new Thread(leader.candidacy::resign), new CompletableFuture<>());
            leader.again();
            return passed;
        }

        /** Looks who leads until it is another, and it can work. */
        private Passed watch(Runner old, Thread departure, CompletableFuture<HandOver> handOver)
                throws InterruptedException {
            departure.start();
            var last = System.nanoTime();
            var end = last + PATIENCE.toNanos();
            while (true) {
                var now = System.nanoTime();
                if (old.candidacy.isLeader()) {
                    last = now;
                }
                for (var runner : runners) {
                    if (runner != old && runner.candidacy.isLeader()) {
                        var first = System.nanoTime();
                        departure.join();
                        return new Passed(first - last, Math.max(first, works(runner, last)) - last);
                    }
                }
                if (now - end > 0 || (handOver.isDone() && !handOver.join().isDone())) {
                    throw new AssertionError("no other leads: " + handOver);
                }
                LockSupport.parkNanos(LOOK_NANOS);
            }
        }

        private static long works(Runner runner, long since) {
            while (runner.worksNanos - since < 0) {
                LockSupport.parkNanos(1_000_000);
            }
            return runner.worksNanos;
        }

        /** A former leader knows which leader it follows before it stands again: it must be listed, too. */
        private static long listed(Runner runner) {
            return runner.elections.election("race").candidates().size();
        }

        /** Waits until one leads and the two others stand by, and returns that one. */
        private Runner settled() {
            var end = System.nanoTime() + PATIENCE.toNanos();
            while (System.nanoTime() - end < 0) {
                for (var runner : runners) {
                    var followers = runners.stream()
                            .filter(other -> other.candidacy
                                    .status()
                                    .following()
                                    .filter(runner.id::equals)
                                    .isPresent())
                            .count();
                    if (runner.candidacy.isLeader()
                            && followers == runners.size() - 1
                            && listed(runner) == runners.size()) {
                        return runner;
                    }
                }
                LockSupport.parkNanos(5_000_000);
            }
            throw new AssertionError("not all follow one");
        }

        @Override
        public void close() {
            runners.forEach(Runner::close);
        }
    }
}
