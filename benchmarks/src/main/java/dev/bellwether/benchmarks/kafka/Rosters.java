package dev.bellwether.benchmarks.kafka;

import static dev.bellwether.benchmarks.Usage.cpu;
import static dev.bellwether.benchmarks.Usage.threads;
import static dev.bellwether.benchmarks.kafka.FailOver.at;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What rosters cost while nothing happens, beside as many separate elections; how soon all roles of a member that is
 * cut off, both ways and without a word, are led by others; and how many keys change their role when there is one more.
 * Four members in one process, each with a connection of its own.
 */
public final class Rosters {
    private static final int MEMBERS = 4;
    private static final int PARTITIONS = 64;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration LOOK = Duration.ofSeconds(15);
    private static final Duration IDLE_LEASE = Duration.ofSeconds(10);

    private Rosters() {}

    /** Takes the number of rounds, 8 by default, and the session of those in milliseconds. */
    public static void main(String[] args) throws InterruptedException {
        var rounds = args.length > 0 ? Integer.parseInt(args[0]) : 8;
        var session = Duration.ofMillis(args.length > 1 ? Long.parseLong(args[1]) : 2_000);
        keys();
        for (var roles : List.of(1_000, 10_000)) {
            try (var brokers = KafkaBrokers.start(1, 1, Map.of())) {
                idle(brokers, roles);
                failOver(brokers, roles, session, rounds);
            }
        }
        try (var brokers = KafkaBrokers.start(1, 0, Map.of())) {
            elections(brokers, 1_000);
        }
    }

    private static Elections connect(String bootstrap) {
        return KafkaElections.using(
                Map.of("bootstrap.servers", bootstrap, "metric.reporters", RequestCount.class.getName()));
    }

    private static RosterConfig config(int roles, Duration lease) {
        return RosterConfig.builder()
                .roles(roles)
                .partitions(PARTITIONS)
                .lease(lease)
                .build();
    }

    // ---------------------------------------------------------------- idle

    private static void idle(KafkaBrokers brokers, int roles) throws InterruptedException {
        var threads = threads();
        List<Elections> open = new ArrayList<>();
        List<Roster> members = new ArrayList<>();
        var begun = System.nanoTime();
        for (var i = 0; i < MEMBERS; i++) {
            open.add(connect(brokers.bootstrap()));
            members.add(open.get(i).roster("idle", config(roles, IDLE_LEASE)));
        }
        awaitShared(members, roles);
        var led = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        look(brokers, roles + " roles, " + MEMBERS + " members", led, threads);
        open.forEach(Elections::close);
    }

    private static void elections(KafkaBrokers brokers, int count) throws InterruptedException {
        var threads = threads();
        try (var elections = connect(brokers.bootstrap())) {
            var begun = System.nanoTime();
            var config = CandidacyConfig.ofLease(IDLE_LEASE);
            var candidacies = new ArrayList<dev.bellwether.Candidacy>();
            for (var i = 0; i < count; i++) {
                candidacies.add(elections.stand("election-" + i, config));
            }
            await("all lead", () -> candidacies.stream().allMatch(dev.bellwether.Candidacy::isLeader));
            var led = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            look(brokers, count + " elections, 1 candidate each", led, threads);
        }
    }

    private static void look(KafkaBrokers brokers, String what, long led, int threadsBefore)
            throws InterruptedException {
        TimeUnit.SECONDS.sleep(3);
        var requests = RequestCount.sent();
        var client = cpu(ProcessHandle.current().pid());
        var broker = cpu(brokers.broker(1).pid());
        var from = System.nanoTime();
        Thread.sleep(LOOK.toMillis());
        var wall = System.nanoTime() - from;
        System.out.printf(
                "idle, session %d s, %-32s led after %,6d ms; threads %,5d; clients %5.1f %% of a core, broker %5.1f %%; requests %,7.0f a second%n",
                IDLE_LEASE.toSeconds(),
                what + ":",
                led,
                threads() - threadsBefore,
                100.0 * (cpu(ProcessHandle.current().pid()) - client) / wall,
                100.0 * (cpu(brokers.broker(1).pid()) - broker) / wall,
                1e9 * (RequestCount.sent() - requests) / wall);
    }

    // ---------------------------------------------------------------- fail-over

    private static void failOver(KafkaBrokers brokers, int roles, Duration session, int rounds) {
        var name = "crash-" + UUID.randomUUID();
        var took = new ArrayList<Long>();
        var whole = new ArrayList<Long>();
        var config = config(roles, session);
        List<Elections> open = new ArrayList<>();
        List<Roster> members = new ArrayList<>();
        for (var i = 0; i < MEMBERS; i++) {
            open.add(Elections.connect(
                    "kafka://" + (i == 0 ? brokers.bootstrap(0) : brokers.bootstrap()), ElectionsConfig.defaults()));
            members.add(open.get(i).roster(name, config));
        }
        awaitShared(members, roles);
        for (var round = 0; round < rounds; round++) {
            var had = members.get(0).roles();
            var begun = System.nanoTime();
            brokers.link(0).cut();
            var led = led(members.subList(1, MEMBERS), had, begun);
            took.addAll(led);
            whole.add(Collections.max(led));
            brokers.link(0).heal();
            awaitShared(members, roles);
        }
        open.forEach(Elections::close);
        Collections.sort(took);
        Collections.sort(whole);
        System.out.printf(
                "crash, session %d ms, %,d roles of %d members, %d rounds: a role led again after p50 %.0f, p99 %.0f, longest %.0f ms;"
                        + " all of a round p50 %.0f, longest %.0f ms%n",
                session.toMillis(),
                roles,
                MEMBERS,
                rounds,
                at(took, 0.5),
                at(took, 0.99),
                at(took, 1),
                at(whole, 0.5),
                at(whole, 1));
    }

    /** Returns after how long, since then, each of these roles was led by one of these. */
    private static List<Long> led(List<Roster> survivors, List<Integer> roles, long sinceNanos) {
        var missing = new ArrayList<>(roles);
        var took = new ArrayList<Long>();
        await("their roles are led", () -> {
            missing.removeIf(role -> {
                var led = survivors.stream().anyMatch(member -> member.leads(role));
                if (led) {
                    took.add(System.nanoTime() - sinceNanos);
                }
                return led;
            });
            return missing.isEmpty();
        });
        return took;
    }

    private static void awaitShared(List<Roster> members, int roles) {
        await("roles are shared", () -> {
            var least = Integer.MAX_VALUE;
            var sum = 0;
            for (var member : members) {
                var leads = member.roles().size();
                least = Math.min(least, leads);
                sum += leads;
            }
            return sum == roles && least >= roles / PARTITIONS * (PARTITIONS / MEMBERS);
        });
    }

    // ---------------------------------------------------------------- keys

    /** Keys that change their role when there is one more, beside the fraction that must. */
    private static void keys() throws InterruptedException {
        try (var elections = Elections.connect("memory:" + UUID.randomUUID());
                var roster = elections.roster("keys", config(10, IDLE_LEASE))) {
            for (var roles : List.of(10, 100, 1_000)) {
                var before = map(roster, roles);
                var after = map(roster, roles + 1);
                var moved = 0;
                var elsewhere = 0;
                for (var i = 0; i < before.length; i++) {
                    moved += before[i] == after[i] ? 0 : 1;
                    elsewhere += before[i] == after[i] || after[i] == roles ? 0 : 1;
                }
                System.out.printf(
                        "keys: from %,d roles to one more, %.3f %% of %,d keys move (ideal %.3f %%), %d of them between old roles%n",
                        roles, 100.0 * moved / before.length, before.length, 100.0 / (roles + 1), elsewhere);
            }
        }
    }

    private static int[] map(Roster roster, int roles) {
        roster.resize(roles);
        await("it has as many roles", () -> roster.roleCount() == roles);
        var map = new int[1_000_000];
        for (var i = 0; i < map.length; i++) {
            map[i] = roster.roleOf("key-" + i);
        }
        return map;
    }

    // ---------------------------------------------------------------- small things

    private static void await(String what, BooleanSupplier condition) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("not after " + PATIENCE + ": " + what);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }
}
