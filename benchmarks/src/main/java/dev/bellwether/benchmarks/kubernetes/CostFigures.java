package dev.bellwether.benchmarks.kubernetes;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.KubernetesServers;
import java.time.Duration;
import java.util.regex.Pattern;

/** What elections cost on an API server of Kubernetes: requests that change a Lease. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;
    private static final Pattern WRITES = Pattern.compile(
            "(?m)^apiserver_request_total\\{(?=[^}]*resource=\"leases\")[^}]*verb=\"(?:POST|PUT|PATCH|DELETE)\"[^}]*\\} (\\S+)$");

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        try (var servers = KubernetesServers.start(1, 1)) {
            var costs = new Costs(
                    "Kubernetes on 1 API server",
                    servers.member(0).port(),
                    () -> writes(servers),
                    "writes/s",
                    Costs.time(arguments));
            Costs.Make make = lease -> new OurClient(Elections.connect(servers.uri("ours", "")), lease);
            costs.standBy("Bellwether", make, LEASE);
            costs.many("Bellwether", make, LEASE, 1_000);
            costs.many("Bellwether", make, LEASE, 10_000);
            costs.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }

    private static double writes(KubernetesServers servers) {
        return WRITES.matcher(servers.get(0, "/metrics"))
                .results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .sum();
    }
}
