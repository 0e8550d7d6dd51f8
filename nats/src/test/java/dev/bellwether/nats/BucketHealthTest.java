package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.api.DiscardPolicy;
import io.nats.client.api.Mirror;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is said of a bucket that is not as it should be. */
class BucketHealthTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void aBucketThatCannotHoldElectionsIsRefusedWithTheReason() {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            refused(server, admin, stream("history").maxMessagesPerSubject(5), "", "its history is 5, and must be 1");
            refused(server, admin, stream("brief").maxAge(Duration.ofMillis(500)), "", "its TTL is 500 ms");
            refused(
                    server,
                    admin,
                    stream("brief").maxAge(Duration.ofSeconds(3)),
                    "&choria=true",
                    "Choria takes 4 seconds");
            refused(
                    server,
                    admin,
                    stream("long").maxAge(Duration.ofHours(2)),
                    "&choria=true",
                    "Choria takes 4 seconds");
            refused(server, admin, stream("eternal"), "&choria=true", "its TTL is not set");
            refused(server, admin, stream("small").maxBytes(10_000), "", "(max_bytes is 10000)");
            refused(server, admin, stream("few").maxMessages(100), "", "nats stream edit KV_few --discard new");
            admin.ask(connection ->
                    connection.jetStreamManagement().addStream(stream("closed").build()));
            admin.ask(connection -> connection
                    .jetStreamManagement()
                    .updateStream(stream("closed").seal().build()));
            assertThatThrownBy(() -> connect(server.uri("bucket=closed"))).hasMessageContaining("it is sealed");
            admin.ask(connection ->
                    connection.jetStreamManagement().addStream(stream("origin").build()));
            refused(
                    server,
                    admin,
                    StreamConfiguration.builder()
                            .name("KV_image")
                            .maxMessagesPerSubject(1)
                            .mirror(Mirror.builder().name("KV_origin").build()),
                    "",
                    "it is a mirror");
            assertThatThrownBy(() -> connect(server.uri("bucket=absent&create=false")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("nats kv add absent");
        }
    }

    @Test
    void aBucketIsKeptOnThreeServersThoughTheirClusterTellsOfNoOther() throws Exception {
        try (var cluster = NatsCluster.discreet();
                var elections = Elections.connect(cluster.uri("bucket=discreet"));
                var admin = cluster.admin(0)) {
            int replicas = admin.ask(connection -> connection
                    .jetStreamManagement()
                    .getStreamInfo("KV_discreet")
                    .getConfiguration()
                    .getReplicas());
            assertThat(replicas).isEqualTo(3);
            assertThat(elections.list()).isEmpty();
        }
    }

    @Test
    void aBucketInMemoryIsUsedWithAWarning() throws Exception {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            admin.ask(connection -> connection
                    .jetStreamManagement()
                    .addStream(stream("memory").storageType(StorageType.Memory).build()));
            try (var backend = connect(server.uri("bucket=memory"));
                    var elections = Elections.connect(server.uri("bucket=memory"));
                    var leader = elections.stand("lost-at-restart")) {
                assertThat(leader.await(PATIENCE)).isPresent();
                assertThat(warnings(backend)).singleElement().asString().contains("kept in memory");
            }
            try (var backend = connect(server.uri("bucket=kept"))) {
                assertThat(warnings(backend)).isEmpty();
            }
        }
    }

    @Test
    void aBucketWithLimitsThatRefusesWhatIsTooMuchIsUsedAndToldWhenItIsNearlyFull() throws Exception {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            var stream = stream("limited")
                    .maxMessages(10)
                    .maxBytes(1_000_000)
                    .discardPolicy(DiscardPolicy.New)
                    .build();
            admin.ask(connection -> connection.jetStreamManagement().addStream(stream));
            try (var backend = connect(server.uri("bucket=limited"))) {
                assertThat(warnings(backend)).isEmpty();
                for (var i = 0; i < 9; i++) {
                    var subject = "$KV.limited." + i;
                    admin.ask(connection -> connection.jetStream().publish(subject, new byte[1]));
                }
                assertThat(warnings(backend)).singleElement().asString().contains("9 of max_msgs 10");
            }
        }
    }

    @Test
    void theDeclineOfAReplicatedBucketIsTold() throws Exception {
        try (var cluster = new NatsCluster()) {
            Elections.connect(cluster.uri("bucket=declining")).close();
            var leader = cluster.leader("declining");
            try (var backend = connect(cluster.server(leader).uri("bucket=declining"))) {
                decline(cluster, backend, leader);
            }
        }
    }

    private static void decline(NatsCluster cluster, Backend backend, int leader) throws Exception {
        Eventually.eventually(
                "there is nothing to say", PATIENCE, () -> warnings(backend).isEmpty());

        try (var elections = Elections.connect(cluster.uri("bucket=declining"));
                var brief = elections.stand("brief", CandidacyConfig.ofLease(Duration.ofSeconds(9)));
                var long1 = elections.stand("long", CandidacyConfig.ofLease(Duration.ofSeconds(30)))) {
            assertThat(brief.await(PATIENCE)).isPresent();
            assertThat(long1.await(PATIENCE)).isPresent();
            awaitWarning(backend, "\"brief\": a lease of 9 s does not survive the 4 to 9 seconds that a replicated");
            assertThat(warnings(backend)).noneMatch(warning -> warning.contains("\"long\""));
        }

        var standby = (leader + 1) % 3;
        cluster.server(standby).pause();
        awaitWarning(backend, "its replica n" + standby + " is not up to date");
        cluster.server(standby).resume();
        Eventually.eventually(
                "it has caught up", PATIENCE, () -> warnings(backend).isEmpty());

        cluster.server(standby).stop();
        awaitWarning(backend, "its replica n" + standby + " is offline");

        cluster.server((leader + 2) % 3).kill();
        Eventually.eventually("it is said to have no leader", PATIENCE, () -> {
            try {
                return warnings(backend).stream().anyMatch(warning -> warning.contains("it has no leader"));
            } catch (UnavailableException e) {
                return String.valueOf(e.getMessage()).contains("has that a leader?");
            }
        });
    }

    private static List<String> warnings(Backend backend) {
        return backend.findings(CandidacyConfig.ofLease(Duration.ofSeconds(30))).stream()
                .filter(finding -> finding.level() != Finding.Level.OK)
                .map(Finding::says)
                .toList();
    }

    private static void awaitWarning(Backend backend, String beginning) {
        Eventually.eventually(
                "\"" + beginning + "…\" is said",
                PATIENCE,
                () -> warnings(backend).stream().anyMatch(warning -> warning.startsWith(beginning)));
    }

    private static void refused(
            NatsServer server, Admin admin, StreamConfiguration.Builder stream, String query, String reason) {
        var made = admin.ask(connection -> connection.jetStreamManagement().addStream(stream.build()));
        var name = made.getConfiguration().getName();
        assertThatThrownBy(() -> connect(server.uri("bucket=" + name.substring("KV_".length()) + query)))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining(reason);
        Boolean deleted =
                admin.ask(connection -> connection.jetStreamManagement().deleteStream(name));
        assertThat(deleted).isTrue();
    }

    private static StreamConfiguration.Builder stream(String bucket) {
        return StreamConfiguration.builder()
                .name("KV_" + bucket)
                .subjects(List.of("$KV." + bucket + ".>"))
                .maxMessagesPerSubject(1);
    }

    private static Backend connect(String uri) {
        return ConnectUri.parse(uri).connect();
    }
}
