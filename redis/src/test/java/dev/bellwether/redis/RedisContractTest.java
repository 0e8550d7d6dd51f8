package dev.bellwether.redis;

import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on one server. */
class RedisContractTest extends ElectionsContract {
    private static final Duration LONGEST_LEASE = Duration.ofSeconds(20); // that the contract measures by

    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer server;

    @BeforeAll
    static void startServer() {
        server = ValkeyServers.start();
        server.awaitUptime(LONGEST_LEASE);
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new RedisInfrastructure(server);
    }
}
