package dev.bellwether.nats;

import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.nats.NatsServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on one server. */
class NatsContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new NatsInfrastructure("NATS", server.uri("bucket=" + NatsInfrastructure.BUCKET), server);
    }
}
