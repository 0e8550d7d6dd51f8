package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * More than a request or an answer of ZooKeeper may hold, a megabyte: one that is larger breaks the connection that
 * others share.
 */
@Timeout(300)
class LargeElectionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void aListOfCandidatesBeyondAMegabyteHurtsNobodyOnTheConnection() throws Exception {
        var election = "large-" + UUID.randomUUID();
        var id = "\u4e16".repeat(1_200); // three bytes each
        try (var hands = new Hands(SharedServer.get());
                var elections = Elections.connect(SharedServer.uri())) {
            // the default lease: in the session that observers use, too
            var neighbour = elections.stand("neighbour-" + election, CandidacyConfig.defaults());
            var mandate = Eventually.eventually("a neighbour leads", PATIENCE, neighbour::mandate);
            for (var i = 0; i < 400; i++) {
                hands.join(election, id + i);
            }
            hands.join(election, "x".repeat(300_000));
            for (var i = 0; i < 5; i++) {
                var state = elections.election(election).state();
                assertThat(state.candidates()).hasSize(401);
                assertThat(state.leader().orElseThrow().candidate()).isEqualTo(id + 0);
                assertThat(state.candidates().get(400).id()).isEqualTo("data of 300000 bytes");
            }
            var last = elections.stand(election, CandidacyConfig.defaults());
            Eventually.eventually(
                    "it follows", PATIENCE, () -> last.status().following().isPresent());
            assertThat(mandate.isValid()).isTrue();
        }
    }

    @Test
    void theChecksOfManyElectionsWithLongNamesFitIntoTheirRequests() {
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(20));
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var all = IntStream.range(0, 700)
                    .mapToObj(
                            i -> elections.stand("n%04d".formatted(i) + "\u20ac".repeat(190), lease)) // nine bytes each
                    .toList();
            Eventually.eventually("all lead", PATIENCE, () -> all.stream().allMatch(one -> one.isLeader()));
            var mandates = all.stream().map(one -> one.mandate().orElseThrow()).toList();
            Eventually.throughout(
                    "all lead on",
                    Duration.ofSeconds(25),
                    () -> mandates.stream().allMatch(mandate -> mandate.isValid()));
        }
    }
}
