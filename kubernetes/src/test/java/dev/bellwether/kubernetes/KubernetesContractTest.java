package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract on one API server. */
@Tag("kubernetes")
class KubernetesContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static KubernetesServers servers;

    @BeforeAll
    static void startServer() {
        servers = KubernetesServers.start(1, 1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new KubernetesInfrastructure(servers);
    }
}
