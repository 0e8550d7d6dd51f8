package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.FaultRun;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;

/**
 * The fault bench on three servers of ZooKeeper: ours, and Curator's LeaderLatch, under the same seed. Arguments:
 * seconds, seed.
 */
final class Faults {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Faults() {}

    public static void main(String[] arguments) {
        var run = FaultRun.of(arguments, LEASE);
        try (var servers = ZooKeeperServers.start(3, PLACES)) {
            run.run(
                    "Bellwether on ZooKeeper",
                    BellwetherContestant.class,
                    new ZooKeeperGround(servers, PLACES, Faults::uri));
        }
        try (var servers = ZooKeeperServers.start(3, PLACES)) {
            run.run(
                    "LeaderLatch on ZooKeeper",
                    LatchInAProcess.class,
                    new ZooKeeperGround(servers, PLACES, addresses -> addresses));
        }
    }

    static String uri(String addresses) {
        return "zk://" + addresses + "?tickTime=" + Duration.ofMillis(ZooKeeperServers.TICK_MILLIS);
    }
}
