package dev.bellwether.benchmarks.kafka;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * How long a seat stays empty: after a crash of its leader, and when he leaves in order. A crash is a link that is cut,
 * both ways and without a word, which to the others looks the same.
 */
public final class FailOver {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<KafkaContestant.Make> MAKES = List.of(new BellwetherOnKafka(), new NeliLike());

    private FailOver() {}

    /** Takes the number of rounds, 30 by default, and sessions in milliseconds. */
    public static void main(String[] args) throws InterruptedException, ExecutionException {
        var rounds = args.length > 0 ? Integer.parseInt(args[0]) : 30;
        var sessions = new ArrayList<Duration>();
        for (var i = 1; i < args.length; i++) {
            sessions.add(Duration.ofMillis(Long.parseLong(args[i])));
        }
        if (sessions.isEmpty()) {
            List.of(100, 300, 1_000, 6_000).forEach(millis -> sessions.add(Duration.ofMillis(millis)));
        }
        try (var brokers = KafkaBrokers.start(1, 1, Map.of());
                var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(NeliLike.TOPIC, 1, (short) 1)))
                    .all()
                    .get();
            measure(MAKES, brokers, sessions, rounds);
        }
    }

    /** Measures on brokers of which each has one link. */
    static void measure(List<KafkaContestant.Make> makes, KafkaBrokers brokers, List<Duration> sessions, int rounds)
            throws InterruptedException {
        System.out.printf("%d rounds, milliseconds: p50 / p99 / max%n", rounds);
        for (var session : sessions) {
            for (var make : makes) {
                measure("warm-up", make, brokers, session, 3, false);
                report("crash", make, session, measure("crash", make, brokers, session, rounds, true));
                report("hand-over", make, session, measure("hand-over", make, brokers, session, rounds, false));
            }
        }
    }

    private static List<Long> measure(
            String what, KafkaContestant.Make make, KafkaBrokers brokers, Duration session, int rounds, boolean crash)
            throws InterruptedException {
        var took = new ArrayList<Long>();
        var disturbed = 0;
        while (took.size() < rounds && disturbed < 3 * rounds) {
            var election = what + '-' + UUID.randomUUID();
            var leader = make.stand(crash ? brokers.bootstrap(0) : brokers.bootstrap(), election, session);
            await(leader);
            try (var standby = make.stand(brokers.bootstrap(), election, session)) {
                if (!settled(leader, standby, session)) {
                    disturbed++; // the machine is too busy for such a session, or the newcomer took the seat
                    leader.close();
                    continue;
                }
                var begun = System.nanoTime();
                var left = new CountDownLatch(1);
                if (crash) {
                    brokers.link(0).cut();
                } else {
                    new Thread(() -> {
                                leader.close();
                                left.countDown();
                            })
                            .start();
                }
                await(standby);
                took.add(System.nanoTime() - begun);
                if (crash) {
                    brokers.link(0).heal();
                    leader.close();
                } else if (!left.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    throw new IllegalStateException("the leader does not leave");
                }
            }
        }
        if (disturbed > 0) {
            System.out.printf("  (%d rounds more, in which the seat moved before we did anything)%n", disturbed);
        }
        return took;
    }

    private static void await(KafkaContestant one) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!one.leads()) {
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("nobody leads after " + PATIENCE);
            }
            LockSupport.parkNanos(200_000);
        }
    }

    /** Waits until the newcomer has had time to join, and returns whether the first one led all the while. */
    private static boolean settled(KafkaContestant leader, KafkaContestant standby, Duration session) {
        var until = System.nanoTime() + Math.max(400_000_000, session.toNanos() / 2);
        while (System.nanoTime() - until < 0) {
            if (standby.leads()) {
                return false;
            }
            LockSupport.parkNanos(200_000);
        }
        return leader.leads();
    }

    private static void report(String what, KafkaContestant.Make make, Duration session, List<Long> took) {
        if (took.isEmpty()) {
            System.out.printf(
                    "session %5d ms  %-11s  %-9s  not once undisturbed%n", session.toMillis(), make.name(), what);
            return;
        }
        Collections.sort(took);
        System.out.printf(
                "session %5d ms  %-11s  %-9s  %6.0f / %6.0f / %6.0f%n",
                session.toMillis(), make.name(), what, at(took, 0.5), at(took, 0.99), at(took, 1));
    }

    static double at(List<Long> sorted, double quantile) {
        return sorted.get((int) Math.min(sorted.size() - 1, Math.floor(quantile * sorted.size()))) / 1e6;
    }
}
