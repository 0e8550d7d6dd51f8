package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * Servers that tell clients where all of the ensemble are, as those of the official image do. An address may be of use
 * behind a gateway only, and a server that the URI leaves out may grant shorter sessions: only those of the URI count.
 */
class AdvertisedServersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig LEASE = CandidacyConfig.defaults(); // observers use the same session

    @Test
    void onlyTheServersOfTheUriAreConnectedTo() {
        try (var servers = ZooKeeperServers.startAdvertising(3, 1);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses(0)))) {
            var leader = elections.stand("advertised", LEASE);
            Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            assertThat(connections(servers)).isPositive();

            for (var i = 0; i < 3; i++) { // a client turns to other servers a connection later than it hears of them
                servers.link(0).reset();
                Eventually.eventually(
                        "it is connected again",
                        PATIENCE,
                        () -> elections.election("advertised").leader().isPresent());
                assertThat(connections(servers)).as("connections by the links").isPositive();
            }
            servers.link(0).cut(Link.Way.BOTH);
            Eventually.eventually("it is cut off", PATIENCE, () -> !leader.isLeader());
            servers.link(0).heal();
            Eventually.eventually("it leads again", PATIENCE, leader::isLeader);
        }
    }

    private static int connections(ZooKeeperServers servers) {
        return servers.servers().stream()
                .mapToInt(server -> server.link(0).connections())
                .sum();
    }
}
