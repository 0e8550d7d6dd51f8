package dev.bellwether.benchmarks.nats;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.nats.NatsConfig;
import dev.bellwether.nats.NatsElections;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.servers.Ports;
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.api.KeyValueConfiguration;
import io.nats.client.api.StorageType;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;

/**
 * How long a seat stays empty after a crash of its leader and when he leaves in order, and how many messages a server
 * sees of a hundred idle standbys. Give it the path of a nats-server; {@code choria-60} as a second word measures the
 * model of Choria's at its default TTL (five minutes), which leaves in order as it crashes: without a word.
 */
public final class Figures {
    private static final Duration PATIENCE = Duration.ofMinutes(4);
    private static final int PAIRS = 20;
    private static final int STANDBYS = 100;
    private static final Duration WINDOW = Duration.ofSeconds(20);
    private static final Pattern COUNT = Pattern.compile("\"(in|out)_msgs\":\\s*(\\d+)");

    private Figures() {}

    /** See the class. */
    public static void main(String[] args) throws Exception {
        var port = Ports.free();
        var monitor = Ports.free();
        var folder = Files.createTempDirectory("bellwether-bench-nats");
        var server = new ProcessBuilder(
                        args[0],
                        "-a",
                        "127.0.0.1",
                        "-p",
                        Integer.toString(port),
                        "-m",
                        Integer.toString(monitor),
                        "-js",
                        "-sd",
                        folder.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("log").toFile())
                .start();
        try {
            LockSupport.parkNanos(1_000_000_000L);
            System.out.println("milliseconds: least / p50 / most");
            if (args.length > 1 && args[1].equals("choria-60")) {
                choria(port, Duration.ofSeconds(60));
                return;
            }
            for (var seconds : new int[] {2, 10}) {
                ours(port, Duration.ofSeconds(seconds), true);
                ours(port, Duration.ofSeconds(seconds), false);
            }
            choria(port, Duration.ofSeconds(4));
            idle(port, monitor);
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    private static void ours(int port, Duration lease, boolean crash) throws IOException, InterruptedException {
        var took = new ArrayList<Long>();
        for (var i = 0; i < PAIRS; i++) {
            try (var proxy = FaultProxy.to("127.0.0.1", port);
                    var standbys = Elections.connect("nats://127.0.0.1:" + port + "?bucket=ours")) {
                var connection = connect(proxy.port());
                var leaders = NatsElections.using(
                        connection, NatsConfig.builder().bucket("ours").build(), ElectionsConfig.defaults());
                var election = "pair-" + lease.toSeconds() + crash + i;
                var leader = leaders.stand(election, CandidacyConfig.ofLease(lease));
                await(leader::isLeader);
                var standby = standbys.stand(election, CandidacyConfig.ofLease(lease));
                await(() -> standby.status().following().isPresent());
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(lease.toNanos() / 3));
                var began = System.nanoTime();
                if (crash) {
                    proxy.cut();
                } else {
                    new Thread(leader::close).start();
                }
                await(standby::isLeader);
                took.add(System.nanoTime() - began);
                proxy.heal();
                leaders.close();
                connection.close();
            }
        }
        report("bellwether, lease " + lease.toSeconds() + " s, " + (crash ? "crash" : "hand-over"), took);
    }

    private static void choria(int port, Duration ttl) throws IOException, InterruptedException, JetStreamApiException {
        var connection = connect(port);
        connection
                .keyValueManagement()
                .create(KeyValueConfiguration.builder()
                        .name("choria" + ttl.toSeconds())
                        .ttl(ttl)
                        .storageType(StorageType.File)
                        .build());
        var bucket = connection.keyValue("choria" + ttl.toSeconds());
        var took = Collections.synchronizedList(new ArrayList<Long>());
        var pairs = new ArrayList<Thread>();
        for (var i = 0; i < PAIRS; i++) {
            var election = "pair" + i;
            var pair = new Thread(() -> {
                var leader = new ChoriaLike(bucket, election, "one", ttl, Duration.ofSeconds(5));
                await(leader::isLeader);
                try (var standby = new ChoriaLike(
                        bucket, election, "two", ttl, ttl.multipliedBy(3).dividedBy(4))) {
                    LockSupport.parkNanos(ThreadLocalRandom.current()
                            .nextLong(ttl.multipliedBy(3).dividedBy(4).toNanos()));
                    var began = System.nanoTime();
                    leader.stop();
                    await(standby::isLeader);
                    took.add(System.nanoTime() - began);
                }
            });
            pair.start();
            pairs.add(pair);
        }
        for (var pair : pairs) {
            pair.join();
        }
        report("model of Choria's, TTL " + ttl.toSeconds() + " s, crash or end", took);
        connection.close();
    }

    private static void idle(int port, int monitor) throws IOException, InterruptedException {
        var all = new ArrayList<Elections>();
        var candidacies = new ArrayList<Candidacy>();
        for (var i = 0; i <= STANDBYS; i++) {
            var elections = Elections.connect("nats://127.0.0.1:" + port + "?bucket=idle");
            all.add(elections);
            var candidacy = elections.stand("idle", CandidacyConfig.defaults());
            candidacies.add(candidacy);
            if (i == 0) {
                await(candidacy::isLeader);
            }
        }
        await(() -> candidacies.stream()
                        .filter(one -> one.status().following().isPresent())
                        .count()
                == STANDBYS);
        LockSupport.parkNanos(Duration.ofSeconds(10).toNanos());
        var before = messages(monitor);
        LockSupport.parkNanos(WINDOW.toNanos());
        var after = messages(monitor);
        System.out.printf(
                "bellwether, lease 10 s, %d idle standbys and a leader: %.1f messages a second to the server, %.1f from it%n",
                STANDBYS,
                (after.get(0) - before.get(0)) / (double) WINDOW.toSeconds(),
                (after.get(1) - before.get(1)) / (double) WINDOW.toSeconds());
        all.forEach(Elections::close);
    }

    /** Returns what the server has received, and sent. */
    static List<Long> messages(int monitor) throws IOException, InterruptedException {
        var answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + monitor + "/varz"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        var counts = new long[2];
        var matcher = COUNT.matcher(answer.body());
        while (matcher.find()) {
            counts[matcher.group(1).equals("in") ? 0 : 1] = Long.parseLong(matcher.group(2));
        }
        return List.of(counts[0], counts[1]);
    }

    private static Connection connect(int port) throws IOException, InterruptedException {
        return Nats.connect(Options.builder()
                .server("nats://127.0.0.1:" + port)
                .ignoreDiscoveredServers()
                .build());
    }

    private static void await(BooleanSupplier condition) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("not within " + PATIENCE);
            }
            LockSupport.parkNanos(500_000);
        }
    }

    private static void report(String what, List<Long> took) {
        var sorted = new ArrayList<>(took);
        Collections.sort(sorted);
        System.out.printf(
                "%-45s %,8d / %,8d / %,8d   (%d rounds)%n",
                what,
                sorted.get(0) / 1_000_000,
                sorted.get(sorted.size() / 2) / 1_000_000,
                sorted.get(sorted.size() - 1) / 1_000_000,
                sorted.size());
    }
}
