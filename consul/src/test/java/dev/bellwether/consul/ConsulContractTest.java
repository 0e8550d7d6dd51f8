package dev.bellwether.consul;

import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on one server. */
class ConsulContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static ConsulServers servers;

    @BeforeAll
    static void startServer() {
        servers = ConsulServers.start(1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new ConsulInfrastructure(servers);
    }
}
