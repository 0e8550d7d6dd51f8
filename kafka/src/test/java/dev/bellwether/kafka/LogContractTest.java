package dev.bellwether.kafka;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;

/** The contract by the log of a topic, on a broker of its own. */
class LogContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new LogInfrastructure(SharedBroker.get());
    }
}
