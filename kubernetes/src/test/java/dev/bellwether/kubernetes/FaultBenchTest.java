package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
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
                var ground = new Cluster(servers, 3)) {
            FaultBench.run(ground, Setting.of("kubernetes", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    /** Each candidate knows one API server: what is between is for a whole cluster's load balancer. */
    private static final class Cluster implements BenchEnvironment {
        private final KubernetesServers all;
        private final List<FaultProxy> links;

        Cluster(KubernetesServers all, int places) {
            this.all = all;
            links = IntStream.range(0, places)
                    .mapToObj(place -> FaultProxy.to(
                            "127.0.0.1",
                            all.members().get(place % all.members().size()).port()))
                    .toList();
        }

        @Override
        public String describe() {
            return "Kubernetes on " + all.members().size() + " API servers";
        }

        @Override
        public int places() {
            return links.size();
        }

        @Override
        public String uri(int place) {
            return "k8s:bench?kubeconfig=" + all.kubeconfig(links.get(place).port()) + SHARING;
        }

        @Override
        public String operatorsUri() {
            return all.uri("bench", SHARING);
        }

        @Override
        public List<FaultProxy> links(int place) {
            return List.of(links.get(place));
        }

        @Override
        public List<Server> servers() {
            return List.of(
                    all.members().get(0), all.members().get(1), all.etcd().member(0));
        }

        @Override
        public Server leader() {
            return all.etcd().member(0);
        }

        @Override
        public void close() {
            links.forEach(FaultProxy::close);
        }
    }
}
