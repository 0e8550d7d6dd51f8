package dev.bellwether.benchmarks.nats;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.nats.NatsServer;
import java.time.Duration;

/** Trials on a server of NATS: ours, and the model of the timing of Choria's. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var server = NatsServers.alone()) {
            on(server, "?bucket=ours", trial, "Bellwether", BellwetherContestant.class);
            on(server, "", trial, "model of Choria's", ChoriaInAProcess.class);
        }
    }

    private static void on(
            NatsServer server, String query, Trial trial, String who, Class<? extends Contestant.Maker> maker) {
        try (var ground = new LinkedServer(
                "NATS on 1 server", server.port(), PLACES, port -> "nats://127.0.0.1:" + port + query)) {
            trial.hold(who, maker, ground);
        }
    }
}
