package dev.bellwether.etcd;

import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract on three members, where a restart of the server is the death of the one that leads the others. */
@Tag("cluster")
class EtcdClusterContractTest extends ElectionsContract {
    @SuppressWarnings("NullAway.Init")
    private static EtcdServers servers;

    @BeforeAll
    static void startServers() {
        servers = EtcdServers.start(3);
    }

    @AfterAll
    static void stopServers() {
        servers.close();
    }

    @Override
    protected Infrastructure infrastructure() {
        return new EtcdInfrastructure(servers) {
            @Override
            public String describe() {
                return "etcd on three members";
            }

            @Override
            public void restartServer() {
                var leader = servers.leader();
                leader.kill();
                leader.start();
            }

            @Override
            public void pauseServer() {
                servers.members().forEach(member -> member.pause());
            }

            @Override
            public void resumeServer() {
                servers.members().forEach(member -> member.resume());
            }

            @Override
            public Duration patience() {
                return Duration.ofSeconds(60); // the others must agree on a leader first
            }

            @Override
            public int cycles() {
                return 200;
            }
        };
    }
}
