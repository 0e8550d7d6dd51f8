package dev.bellwether.zookeeper;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract on three servers, where a restart of the server is the death of the one that leads the others. */
@Tag("cluster")
class ZooKeeperEnsembleContractTest extends ElectionsContract {
    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    private static ZooKeeperServers servers;

    @BeforeAll
    static void start() {
        servers = ZooKeeperServers.startAdvertising(3, ZooKeeperInfrastructure.LINKS);
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new ZooKeeperInfrastructure(servers) {
            @Override
            public void restartServer() {
                var leader = servers.leader();
                leader.kill();
                leader.start();
            }

            @Override
            public Duration patience() {
                return Duration.ofSeconds(60); // the others must agree on a leader first
            }

            @Override
            public int cycles() {
                return 200;
            }
        };
    }
}
