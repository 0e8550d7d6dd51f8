package dev.bellwether.benchmarks.etcd;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** Trials on one member of etcd: ours, and jetcd's Election. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var servers = EtcdServers.start(1)) {
            var port = servers.member(0).port();
            try (var ground =
                    new LinkedServer("etcd on 1 server", port, PLACES, link -> "etcd://127.0.0.1:" + link + "/ours")) {
                trial.hold("Bellwether", BellwetherContestant.class, ground);
            }
            try (var ground = new LinkedServer("etcd on 1 server", port, PLACES, link -> "http://127.0.0.1:" + link)) {
                trial.hold("jetcd", JetcdInAProcess.class, ground);
            }
        }
    }
}
