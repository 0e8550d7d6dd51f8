package dev.bellwether.zookeeper;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;

/** The contract on a server of its own. */
class ZooKeeperContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new ZooKeeperInfrastructure(SharedServer.get());
    }
}
