package dev.bellwether.etcd;

import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on one member. */
class EtcdContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static EtcdServers servers;

    @BeforeAll
    static void startServer() {
        servers = EtcdServers.start(1);
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    // tag::contract-test
    @Override
    protected Infrastructure infrastructure() {
        return new EtcdInfrastructure(servers) {
            @Override
            public void restartServer() {
                servers.member(0).kill();
                servers.member(0).start();
            }

            @Override
            public void pauseServer() {
                servers.member(0).pause();
            }

            @Override
            public void resumeServer() {
                servers.member(0).resume();
            }
        };
    }
    // end::contract-test
}
