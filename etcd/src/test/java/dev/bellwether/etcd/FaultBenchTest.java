package dev.bellwether.etcd;

import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
                var ground = new Cluster(servers, 3)) {
            FaultBench.run(ground, Setting.of("etcd", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    private static final class Cluster implements BenchEnvironment {
        private final EtcdServers all;
        private final List<List<FaultProxy>> links;

        Cluster(EtcdServers all, int places) {
            this.all = all;
            links = IntStream.range(0, places)
                    .mapToObj(place -> all.members().stream()
                            .map(member -> FaultProxy.to("127.0.0.1", member.port()))
                            .toList())
                    .toList();
        }

        @Override
        public String describe() {
            return "etcd on " + all.members().size() + " members";
        }

        @Override
        public int places() {
            return links.size();
        }

        @Override
        public String uri(int place) {
            return links.get(place).stream()
                    .map(link -> "127.0.0.1:" + link.port())
                    .collect(Collectors.joining(",", "etcd://", PREFIX));
        }

        @Override
        public String operatorsUri() {
            return all.uri(PREFIX);
        }

        @Override
        public List<FaultProxy> links(int place) {
            return links.get(place);
        }

        @Override
        public List<Server> servers() {
            return List.copyOf(all.members());
        }

        @Override
        public Server leader() {
            return all.leader();
        }

        @Override
        public void close() {
            links.forEach(each -> each.forEach(FaultProxy::close));
        }
    }
}
