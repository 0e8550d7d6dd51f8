package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.Costs;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.List;

/**
 * What elections cost on ZooKeeper, beside LeaderLatch. Argument: seconds of counting. Spring Integration has no
 * figures: it has a thread for each candidate, and is a LeaderSelector else.
 */
final class CostFigures {
    private static final Duration SESSION = Duration.ofSeconds(30);
    private static final int CANDIDATES = 500;

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) {
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var server = servers.servers().get(0);
            var costs = new Costs(
                    "ZooKeeper on 1 server",
                    Integer.parseInt(servers.addresses().replaceAll(".*:", "")),
                    () -> server.figure("zk_packets_received"),
                    "requests/s",
                    Costs.time(arguments));
            for (var kind : List.of(ZooKeeperContestant.BELLWETHER, ZooKeeperContestant.LATCH)) {
                Costs.Make make = session -> client(kind.connect(servers.addresses(), session));
                costs.standBy(kind.name(), make, SESSION);
                costs.many(kind.name(), make, SESSION, 1_000);
                costs.many(kind.name(), make, SESSION, 10_000);
                costs.crowd(kind.name(), make, SESSION, CANDIDATES);
            }
        }
    }

    private static Costs.Client client(ZooKeeperContestant contestant) {
        return new Costs.Client() {
            @Override
            public Costs.Seat stand(String election) {
                var standing = contestant.stand(election);
                return new Costs.Seat() {
                    @Override
                    public boolean leads() {
                        return standing.leads();
                    }

                    @Override
                    public void leave() {
                        standing.close();
                    }
                };
            }

            @Override
            public void close() {
                contestant.close();
            }
        };
    }
}
