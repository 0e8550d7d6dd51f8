package dev.bellwether.benchmarks.redis;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import java.time.Duration;
import java.util.regex.Pattern;

/** What elections cost on Valkey. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;
    private static final Pattern CALLED = Pattern.compile("cmdstat_(?:eval|ping|subscribe|unsubscribe):calls=(\\d+)");

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        try (var server = ValkeyServers.start()) {
            var costs = new Costs(
                    "Valkey on 1 server", server.port(), () -> commands(server), "commands/s", Costs.time(arguments));
            Costs.Make make = lease -> new OurClient(Elections.connect(server.uri("?prefix=ours")), lease);
            costs.standBy("Bellwether", make, LEASE);
            costs.many("Bellwether", make, LEASE, 1_000);
            costs.many("Bellwether", make, LEASE, 10_000);
            costs.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }

    /** Returns how many commands clients have sent: those within scripts are none of theirs. */
    private static long commands(ValkeyServer server) {
        return CALLED.matcher(server.ask("INFO", "commandstats"))
                .results()
                .mapToLong(found -> Long.parseLong(found.group(1)))
                .sum();
    }
}
