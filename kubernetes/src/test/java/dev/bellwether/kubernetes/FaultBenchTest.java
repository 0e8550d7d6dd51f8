package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
@Tag("kubernetes")
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(2_500);
    /** Each seat shares the session of its process, unless told otherwise. */
    private static final String SHARING = "&sharing=" + Integer.getInteger("bellwether.bench.sharing", 1);

    @Test
    void noFaultMakesTwoLeadersOnTwoApiServers() {
        try (var servers = KubernetesServers.start(2, 1);
                var ground =
                        new ServersGround(
                                "Kubernetes on 2 API servers",
                                servers.members(),
                                ports -> "k8s:bench?kubeconfig=" + servers.kubeconfig(ports.get(0)) + SHARING) {
                            /** Each candidate knows one: what is between is for a whole cluster's load balancer. */
                            @Override
                            public List<FaultProxy> links(int place) {
                                return List.of(super.links(place).get(place % 2));
                            }

                            @Override
                            public List<Server> servers() {
                                return List.of(servers.member(0), servers.member(1), leader());
                            }

                            @Override
                            public Server leader() {
                                return servers.etcd().member(0);
                            }
                        }) {
            FaultBench.run(ground, Setting.of("kubernetes", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
