package dev.bellwether.nats;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * The contract on a bucket that three servers keep. What becomes of it when one of them dies is in
 * {@link ClusterFaultsTest}.
 */
@Tag("cluster")
class NatsClusterContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static NatsCluster cluster;

    @BeforeAll
    static void startServers() {
        cluster = new NatsCluster();
    }

    @AfterAll
    static void stopServers() {
        cluster.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new NatsInfrastructure(
                "a cluster of NATS", cluster.uri("bucket=" + NatsInfrastructure.BUCKET), cluster.server(0)) {
            @Override
            public Map<Capability, String> lacks() {
                return Map.of(
                        Capability.RESTART, "a cluster outlives its servers",
                        Capability.PAUSE, "a cluster outlives its servers");
            }

            @Override
            public void restartServer() {
                throw new UnsupportedOperationException();
            }

            @Override
            public void pauseServer() {
                throw new UnsupportedOperationException();
            }

            @Override
            public int cycles() {
                return 200; // each is some twenty rounds through three servers that share two cores
            }
        };
    }
}
