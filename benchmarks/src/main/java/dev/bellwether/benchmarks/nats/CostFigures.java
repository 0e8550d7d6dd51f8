package dev.bellwether.benchmarks.nats;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.servers.Ports;
import java.time.Duration;

/** What elections cost on NATS. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        var monitor = Ports.free();
        try (var server = NatsServers.alone("http: \"127.0.0.1:" + monitor + "\"")) {
            var costs = new Costs(
                    "NATS on 1 server",
                    server.port(),
                    () -> Figures.messages(monitor).get(0),
                    "messages/s",
                    Costs.time(arguments));
            Costs.Make make = lease -> new OurClient(Elections.connect(server.uri("bucket=ours")), lease);
            costs.standBy("Bellwether", make, LEASE);
            costs.many("Bellwether", make, LEASE, 1_000);
            costs.many("Bellwether", make, LEASE, 10_000);
            costs.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }
}
