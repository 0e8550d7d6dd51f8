package dev.bellwether.kafka;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;

/** The contract on a broker of its own. */
class KafkaContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new KafkaInfrastructure(SharedBroker.get());
    }
}
