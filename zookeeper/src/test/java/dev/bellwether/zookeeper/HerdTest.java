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

/** What the server is asked when one of many candidates comes or leaves. */
class HerdTest {
    /** As the server counts them, pings and proofs included. */
    private record Requests(double join, double departure) {}

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int DEPARTURES = 20;

    @Test
    void comingAndGoingAmongFiveHundredCausesAsManyRequestsAsAmongFive() {
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var few = requests(servers, 5 + DEPARTURES);
            var many = requests(servers, 500 + DEPARTURES);
            System.out.printf("requests among few: %s, among 500: %s%n", few, many);
            assertThat(many.departure()).isLessThan(15).isLessThan(few.departure() + 5);
            assertThat(many.join()).isLessThan(15);
        }
    }

    private static Requests requests(ZooKeeperServers servers, int candidates) {
        var server = servers.servers().get(0);
        try (var one = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()));
                var other = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var settings =
                    CandidacyConfig.builder().lease(Duration.ofSeconds(60)).standDownBudget(Duration.ofSeconds(5));
            var queue = new ArrayList<Candidacy>();
            var atFirst = server.figure("zk_packets_received");
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
            var join = (before - atFirst) / (double) candidates;
            for (var i = 0; i < DEPARTURES; i++) {
                var leader =
                        queue.stream().filter(Candidacy::isLeader).findFirst().orElseThrow();
                queue.remove(leader);
                leader.close();
                Eventually.eventually(
                        "the next leads", PATIENCE, () -> queue.stream().anyMatch(Candidacy::isLeader));
            }
            return new Requests(join, (server.figure("zk_packets_received") - before) / (double) DEPARTURES);
        }
    }
}
