package dev.bellwether.benchmarks.etcd;

import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.fixtures.EtcdServer;
import dev.bellwether.fixtures.EtcdServers;
import java.time.Duration;
import java.util.regex.Pattern;

/** What elections cost on etcd. Argument: seconds of counting. */
final class CostFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;
    private static final Pattern RECEIVED = Pattern.compile("(?m)^grpc_server_msg_received_total\\{[^}]*\\} (\\S+)$");

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        try (var servers = EtcdServers.start(1)) {
            var member = servers.member(0);
            var costs = new Costs(
                    "etcd on 1 server", member.port(), () -> messages(member), "messages/s", Costs.time(arguments));
            Costs.Make make = lease -> new OurClient(Elections.connect(servers.uri("/ours")), lease);
            costs.standBy("Bellwether", make, LEASE);
            costs.many("Bellwether", make, LEASE, 1_000);
            costs.many("Bellwether", make, LEASE, 10_000);
            costs.crowd("Bellwether", make, LEASE, CANDIDATES);
        }
    }

    /** Returns how many messages clients have sent, the gateway's included. */
    private static long messages(EtcdServer member) {
        return (long) RECEIVED.matcher(member.get("/metrics"))
                .results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .sum();
    }
}
