package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the server is asked when one of many candidates leaves. */
class HerdTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int DEPARTURES = 20;

    @Test
    void oneDepartureAmongFiveHundredCausesAsManyRequestsAsAmongFive() {
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var few = requestsPerDeparture(servers, 5 + DEPARTURES);
            var many = requestsPerDeparture(servers, 500 + DEPARTURES);
            System.out.printf("requests per departure: %.1f among few, %.1f among 500%n", few, many);
            assertThat(many).isLessThan(15).isLessThan(few + 5);
        }
    }

    private static double requestsPerDeparture(ZooKeeperServers servers, int candidates) {
        var server = servers.servers().get(0);
        try (var one = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()));
                var other = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var settings =
                    CandidacyConfig.builder().lease(Duration.ofSeconds(60)).standDownBudget(Duration.ofSeconds(5));
            var queue = new ArrayList<Candidacy>();
            for (var i = 0; i < candidates; i++) {
                var candidacy = (i % 2 == 0 ? one : other).stand("herd-" + candidates, settings.build());
                queue.add(candidacy);
                if (i == 0) {
                    Eventually.eventually("the first leads", PATIENCE, candidacy::isLeader);
                }
            }
            var waiting = List.copyOf(queue.subList(1, candidates));
            Eventually.eventually(
                    "all follow",
                    PATIENCE,
                    () -> waiting.stream().allMatch(c -> c.status().following().isPresent()));
            var before = server.figure("zk_packets_received");
            for (var i = 0; i < DEPARTURES; i++) {
                var leader =
                        queue.stream().filter(Candidacy::isLeader).findFirst().orElseThrow();
                queue.remove(leader);
                leader.close();
                Eventually.eventually(
                        "the next leads", PATIENCE, () -> queue.stream().anyMatch(Candidacy::isLeader));
            }
            return (server.figure("zk_packets_received") - before) / (double) DEPARTURES;
        }
    }
}
