package dev.bellwether.nats;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final String BUCKET = "bench";
    /** With a TTL, so that the server may drop keys. */
    private static final String QUERY = "replicas=3&ttl=PT1M&bucket=" + BUCKET;

    @Test
    void noFaultMakesTwoLeadersOnThreeServers() {
        try (var cluster = NatsCluster.discreet();
                var ground = new Cluster(cluster, 3)) {
            FaultBench.run(ground, Setting.of("nats", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    private static final class Cluster implements BenchEnvironment {
        private final NatsCluster all;
        private final List<List<FaultProxy>> links;

        Cluster(NatsCluster all, int places) {
            this.all = all;
            links = IntStream.range(0, places)
                    .mapToObj(place -> IntStream.range(0, 3)
                            .mapToObj(i ->
                                    FaultProxy.to("127.0.0.1", all.server(i).port()))
                            .toList())
                    .toList();
        }

        @Override
        public String describe() {
            return "NATS on 3 servers";
        }

        @Override
        public int places() {
            return links.size();
        }

        @Override
        public String uri(int place) {
            return "nats://"
                    + links.get(place).stream()
                            .map(link -> "127.0.0.1:" + link.port())
                            .collect(Collectors.joining(","))
                    + "?" + QUERY;
        }

        @Override
        public String operatorsUri() {
            return all.uri(QUERY);
        }

        @Override
        public List<FaultProxy> links(int place) {
            return links.get(place);
        }

        @Override
        public List<Server> servers() {
            return IntStream.range(0, 3).<Server>mapToObj(all::server).toList();
        }

        @Override
        public Server leader() {
            return all.server(all.leader(BUCKET));
        }

        @Override
        public Optional<Records> records() {
            return Optional.of(new BucketHarm(all.servers(), BUCKET));
        }

        @Override
        public void close() {
            links.forEach(each -> each.forEach(FaultProxy::close));
        }
    }
}
