package dev.bellwether.etcd;

import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    /** Each seat shares the session of its process, unless told otherwise. */
    private static final String PREFIX = "/bench?sharing=" + Integer.getInteger("bellwether.bench.sharing", 1);

    @Test
    void noFaultMakesTwoLeadersOnThreeMembers() {
        try (var servers = EtcdServers.start(3);
                var ground =
                        new ServersGround(
                                "etcd on 3 members",
                                servers.members(),
                                ports -> "etcd://" + ServersGround.hosts(ports) + PREFIX) {
                            @Override
                            public Server leader() {
                                return servers.leader();
                            }
                        }) {
            FaultBench.run(ground, Setting.of("etcd", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
