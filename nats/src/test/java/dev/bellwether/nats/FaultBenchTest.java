package dev.bellwether.nats;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.Optional;
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
                var ground =
                        new ServersGround(
                                "NATS on 3 servers",
                                IntStream.range(0, 3).mapToObj(cluster::server).toList(),
                                ports -> "nats://" + ServersGround.hosts(ports) + "?" + QUERY) {
                            @Override
                            public Server leader() {
                                return cluster.server(cluster.leader(BUCKET));
                            }

                            @Override
                            public Optional<Records> records() {
                                return Optional.of(new BucketHarm(cluster.servers(), BUCKET));
                            }
                        }) {
            FaultBench.run(ground, Setting.of("nats", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
