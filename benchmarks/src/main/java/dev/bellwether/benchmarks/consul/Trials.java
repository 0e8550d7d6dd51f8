package dev.bellwether.benchmarks.consul;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** Trials on one server of Consul. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var servers = ConsulServers.start(1);
                var ground = new LinkedServer(
                        "Consul on 1 server",
                        servers.member(0).port(),
                        PLACES,
                        link -> "consul://127.0.0.1:" + link + "/ours")) {
            trial.hold("Bellwether", BellwetherContestant.class, ground);
        }
    }
}
