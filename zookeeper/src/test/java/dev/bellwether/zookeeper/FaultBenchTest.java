package dev.bellwether.zookeeper;

import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.servers.Scripts;
import dev.bellwether.testkit.zookeeper.ZooKeeperGround;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the soak profile. */
class FaultBenchTest {
    /** The session's timeout, too. */
    private static final Duration LEASE = Duration.ofMillis(1_500);

    @Test
    void noFaultMakesTwoLeadersOnThreeServers() {
        try (var servers = ZooKeeperServers.start(3, ZooKeeperInfrastructure.LINKS)) {
            FaultBench.run(
                    new ZooKeeperGround(servers, ZooKeeperInfrastructure.LINKS, ZooKeeperInfrastructure::uri),
                    Setting.of("zookeeper", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
