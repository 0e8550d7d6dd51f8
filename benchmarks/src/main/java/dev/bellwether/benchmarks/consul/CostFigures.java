package dev.bellwether.benchmarks.consul;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.ConsulServer;
import dev.bellwether.fixtures.ConsulServers;
import java.time.Duration;
import java.util.regex.Pattern;

/** What elections cost on Consul. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;
    /** Requests that were answered, also those that waited for a change. */
    private static final Pattern ANSWERED =
            Pattern.compile("(?m)^consul_(?:http_[A-Z]+_v1_(?!agent)|api_http)\\w*_?count(?:\\{[^}]*\\})? (\\S+)$");

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        var counting = "-hcl=telemetry { prometheus_retention_time = \"1h\" disable_hostname = true }";
        try (var servers = ConsulServers.start(1, counting)) {
            var member = servers.member(0);
            var costs = new Costs(
                    "Consul on 1 server", member.port(), () -> requests(member), "requests/s", Costs.time(arguments));
            Costs.Make make =
                    lease -> new OurClient(Elections.connect("consul://127.0.0.1:" + member.port() + "/ours"), lease);
            costs.standBy("Bellwether", make, LEASE);
            costs.many("Bellwether", make, LEASE, 1_000);
            costs.many("Bellwether", make, LEASE, 10_000);
            costs.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }

    private static double requests(ConsulServer member) {
        return ANSWERED.matcher(member.get("/v1/agent/metrics?format=prometheus"))
                .results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .sum();
    }
}
