package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.zookeeper.ZooKeeperServer;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** A server that has lost its ensemble, and serves those who said that they can read only. */
class ReadOnlyTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration LEASE = Duration.ofSeconds(4);

    /** Without local sessions a server that is read-only opens none, and who has one already is not served. */
    private static final Map<String, String> SETTINGS =
            Map.of("localSessionsEnabled", "true", "localSessionsUpgradingEnabled", "true");

    @Test
    void aReadOnlyServerIsRefusedAndNobodyLeadsByIt() {
        try (var servers = ZooKeeperServers.start(3, 0, SETTINGS, List.of("-Dreadonlymode.enabled=true"));
                var client = client(servers);
                var elections = over(client)) {
            var candidacy = elections.stand("read-only", CandidacyConfig.ofLease(LEASE));
            var before = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            var lost = servers.servers().subList(1, 3);
            lost.forEach(ZooKeeperServer::kill);
            try (var later = client(servers)) {
                Eventually.eventually("a server is read-only", PATIENCE, () -> isReadOnly(later));
                try (var others = over(later)) {
                    assertThatThrownBy(() -> others.stand("another", CandidacyConfig.ofLease(LEASE)))
                            .isInstanceOf(ElectionException.class)
                            .hasMessageContaining("read-only")
                            .hasMessageContaining("lost its ensemble")
                            .hasMessageContaining("canBeReadOnly");
                    assertThatThrownBy(() -> others.election("read-only").end())
                            .as("an order that it cannot take")
                            .isInstanceOf(UnavailableException.class)
                            .hasMessageContaining("read-only");
                }
            }
            Eventually.eventually("the deadline passes", PATIENCE, () -> !candidacy.isLeader());
            Eventually.throughout("nobody leads by reads alone", LEASE, () -> !candidacy.isLeader());
            assertThat(before.isValid()).isFalse();

            lost.forEach(ZooKeeperServer::start);
            var after = Eventually.eventually("it leads again", PATIENCE, candidacy::mandate);
            assertThat(after.token()).isGreaterThan(before.token());
        }
    }

    private static Elections over(CuratorFramework client) {
        return ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults());
    }

    private static CuratorFramework client(ZooKeeperServers servers) {
        var client = CuratorFrameworkFactory.builder()
                .connectString(servers.addresses())
                .sessionTimeoutMs((int) LEASE.toMillis())
                .connectionTimeoutMs((int) LEASE.toMillis())
                .retryPolicy(new RetryNTimes(20, 100))
                .canBeReadOnly(true)
                .build();
        client.start();
        return client;
    }

    private static boolean isReadOnly(CuratorFramework client) {
        try {
            return client.getZookeeperClient().getZooKeeper().getState() == ZooKeeper.States.CONNECTEDREADONLY;
        } catch (Exception e) {
            return false; // neither yet
        }
    }
}
