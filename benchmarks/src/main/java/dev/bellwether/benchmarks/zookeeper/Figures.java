package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.zookeeper.ZooKeeperServer;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Hand-over, crash fail-over, a start of 500 candidates, requests per departure, and what 1,000 elections in one
 * process take: ours and LeaderLatch's in turn, on one server, in one run.
 */
final class Figures {
    private static final List<ZooKeeperContestant.Kind> KINDS =
            List.of(ZooKeeperContestant.BELLWETHER, ZooKeeperContestant.LATCH);
    private static final Duration SESSION = Duration.ofSeconds(2);
    private static final Duration LONG_SESSION = Duration.ofSeconds(40);
    private static final int CANDIDATES = 500;
    private static final int DEPARTURES = 50;
    private static final int ELECTIONS = 1_000;

    private final ZooKeeperServer server;
    private final String addresses;
    private int serial;

    private Figures(ZooKeeperServers servers) {
        server = servers.servers().get(0);
        addresses = servers.addresses();
    }

    public static void main(String[] args) {
        var rounds = args.length > 0 ? Integer.parseInt(args[0]) : 30;
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var figures = new Figures(servers);
            for (var kind : KINDS) {
                figures.handOver(kind, 20); // to warm up
            }
            System.out.printf("one server, tick 100 ms; milliseconds: p50 / max%n");
            for (var kind : KINDS) {
                print(kind, "hand-over", figures.handOver(kind, 10 * rounds));
            }
            for (var kind : KINDS) {
                print(kind, "fail-over, session 2 s", figures.failOver(kind, rounds));
            }
            for (var kind : KINDS) {
                figures.crowd(kind);
            }
            for (var kind : KINDS) {
                figures.manyElections(kind);
            }
        }
    }

    /** From the close of the leader to the next one's knowing that it leads. */
    private long[] handOver(ZooKeeperContestant.Kind kind, int rounds) {
        var took = new long[rounds];
        try (var one = kind.connect(addresses, LONG_SESSION);
                var other = kind.connect(addresses, LONG_SESSION)) {
            var election = "hand-over-" + ++serial;
            var queue = new ArrayDeque<ZooKeeperContestant.Standing>();
            queue.add(one.stand(election));
            await(queue.peek()::leads);
            for (var i = 0; i < rounds; i++) {
                var next = (i % 2 == 0 ? other : one).stand(election);
                queue.add(next);
                settle();
                var leaving = queue.remove();
                var began = System.nanoTime();
                new Thread(leaving::close).start();
                await(next::leads);
                took[i] = System.nanoTime() - began;
            }
        }
        return took;
    }

    /** From the moment at which nothing of the leader arrives any more. */
    private long[] failOver(ZooKeeperContestant.Kind kind, int rounds) {
        var took = new long[rounds];
        for (var i = 0; i < rounds; i++) {
            var election = "fail-over-" + ++serial;
            try (var proxy = FaultProxy.to("127.0.0.1", Integer.parseInt(addresses.replaceAll(".*:", "")));
                    var survivor = kind.connect(addresses, SESSION);
                    var victim = kind.connect("127.0.0.1:" + proxy.port(), SESSION)) {
                var dying = victim.stand(election);
                await(dying::leads);
                var next = survivor.stand(election);
                settle();
                proxy.cut();
                var began = System.nanoTime();
                await(next::leads);
                took[i] = System.nanoTime() - began;
                proxy.heal(); // so that close need not wait
            }
        }
        return took;
    }

    private void crowd(ZooKeeperContestant.Kind kind) {
        try (var one = kind.connect(addresses, LONG_SESSION);
                var other = kind.connect(addresses, LONG_SESSION)) {
            var election = "crowd-" + ++serial;
            var before = server.figure("zk_packets_received");
            var nodes = server.figure("zk_ephemerals_count");
            var began = System.nanoTime();
            var queue = new ArrayList<ZooKeeperContestant.Standing>();
            for (var i = 0; i < CANDIDATES; i++) {
                queue.add((i % 2 == 0 ? one : other).stand(election));
            }
            await(() -> queue.stream().anyMatch(ZooKeeperContestant.Standing::leads));
            var elected = System.nanoTime() - began;
            await(() -> server.figure("zk_ephemerals_count") - nodes >= CANDIDATES);
            awaitRest(); // those who came last have yet to find their places
            var joined = server.figure("zk_packets_received") - before;
            var start = server.figure("zk_packets_received");
            var handed = System.nanoTime();
            for (var i = 0; i < DEPARTURES; i++) {
                var leader = queue.stream()
                        .filter(ZooKeeperContestant.Standing::leads)
                        .findFirst()
                        .orElseThrow();
                queue.remove(leader);
                leader.close();
                await(() -> queue.stream().anyMatch(ZooKeeperContestant.Standing::leads));
            }
            var perDeparture = (server.figure("zk_packets_received") - start) / (double) DEPARTURES;
            System.out.printf(
                    "%-12s %-28s elected after %d ms; %.1f requests to join; %.1f requests and %.1f ms per departure%n",
                    kind.name(),
                    CANDIDATES + " candidates",
                    elected / 1_000_000,
                    joined / (double) CANDIDATES,
                    perDeparture,
                    (System.nanoTime() - handed) / 1e6 / DEPARTURES);
        }
    }

    private void manyElections(ZooKeeperContestant.Kind kind) {
        System.gc();
        var threads = ManagementFactory.getThreadMXBean().getThreadCount();
        var connections = server.figure("zk_num_alive_connections");
        try (var one = kind.connect(addresses, SESSION)) {
            var began = System.nanoTime();
            var all = new ArrayList<ZooKeeperContestant.Standing>();
            var run = ++serial;
            for (var i = 0; i < ELECTIONS; i++) {
                all.add(one.stand("many-" + run + "-" + i));
            }
            await(() -> all.stream().allMatch(ZooKeeperContestant.Standing::leads));
            var took = System.nanoTime() - began;
            settle();
            var requests = server.figure("zk_packets_received");
            var since = System.nanoTime();
            await(() -> System.nanoTime() - since > 5_000_000_000L);
            var atRest = (server.figure("zk_packets_received") - requests) / 5.0;
            System.out.printf(
                    "%-12s %-28s all lead after %d ms; %d threads, %d connections; %.1f requests a second at rest%n",
                    kind.name(),
                    ELECTIONS + " elections",
                    took / 1_000_000,
                    ManagementFactory.getThreadMXBean().getThreadCount() - threads,
                    server.figure("zk_num_alive_connections") - connections,
                    atRest);
        }
    }

    private static void print(ZooKeeperContestant.Kind kind, String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%-12s %-28s %.1f / %.1f (%d rounds)%n",
                kind.name(), what, nanos[nanos.length / 2] / 1e6, nanos[nanos.length - 1] / 1e6, nanos.length);
    }

    /** Gives the last who came the time to find its place. */
    private static void settle() {
        var since = System.nanoTime();
        await(() -> System.nanoTime() - since > 100_000_000L);
    }

    /** Waits until the server is asked next to nothing any more. */
    private void awaitRest() {
        long before;
        do {
            before = server.figure("zk_packets_received");
            settle();
            settle();
        } while (server.figure("zk_packets_received") - before > 10);
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            try {
                Thread.sleep(0, 200_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
    }
}
