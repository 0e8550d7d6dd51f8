package dev.bellwether.benchmarks.zookeeper;

import dev.bellwether.benchmarks.Trial;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;

/**
 * Trials on three servers of ZooKeeper: ours, Curator's LeaderLatch, and Spring Integration's leader.
 * Arguments: those of {@link Trial}.
 */
final class Trials {
    private static final Duration SESSION = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, SESSION);
        try (var servers = ZooKeeperServers.start(3, PLACES)) {
            trial.hold("Bellwether", BellwetherContestant.class, new ZooKeeperGround(servers, PLACES, Trials::uri));
            trial.hold(
                    "LeaderLatch", LatchInAProcess.class, new ZooKeeperGround(servers, PLACES, addresses -> addresses));
            trial.hold(
                    "Spring Integration",
                    InitiatorInAProcess.class,
                    new ZooKeeperGround(servers, PLACES, addresses -> addresses));
        }
    }

    private static String uri(String addresses) {
        return "zk://" + addresses + "?tickTime=" + Duration.ofMillis(ZooKeeperServers.TICK_MILLIS);
    }
}
