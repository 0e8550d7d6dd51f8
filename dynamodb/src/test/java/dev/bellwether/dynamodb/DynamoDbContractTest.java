package dev.bellwether.dynamodb;

import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on AWS's local server. */
class DynamoDbContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static DynamoDbServer server;

    @BeforeAll
    static void startServer() {
        server = DynamoDbServer.launch();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new DynamoDbInfrastructure(server);
    }
}
