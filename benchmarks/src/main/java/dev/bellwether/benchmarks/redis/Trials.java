package dev.bellwether.benchmarks.redis;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** Trials on one server of Valkey: ours, and Redisson's fenced lock. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;
    private static final String GROUND = "Valkey on 1 server";

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var server = ValkeyServers.start()) {
            try (var ground = new LinkedServer(
                    GROUND, server.port(), PLACES, link -> "redis://127.0.0.1:" + link + "?prefix=ours")) {
                trial.hold("Bellwether", BellwetherContestant.class, ground);
            }
            try (var ground = new LinkedServer(GROUND, server.port(), PLACES, link -> "redis://127.0.0.1:" + link)) {
                trial.hold("Redisson", RedissonInAProcess.class, ground);
            }
        }
    }
}
