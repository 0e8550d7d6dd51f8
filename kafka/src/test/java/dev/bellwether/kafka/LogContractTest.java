package dev.bellwether.kafka;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import org.junit.jupiter.api.BeforeAll;

/** The contract by the log of a topic, on a broker of its own. */
class LogContractTest extends ElectionsContract {
    @BeforeAll
    static void awaitSettled() {
        LogInfrastructure.awaitSettled(SharedBroker.get());
    }

    @Override
    protected Infrastructure infrastructure() {
        return new LogInfrastructure(SharedBroker.get());
    }
}
