package dev.bellwether.nats;

import static dev.bellwether.fixtures.Doctor.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each finding, on a bucket that is set so. */
@Timeout(240)
class CheckupTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    @Test
    void bucketInMemoryVoidsTheTokensAndOneInFilesDoesNot() {
        try (var server = NatsServers.alone()) {
            make(server.port(), "memory", stream -> stream.storageType(StorageType.Memory));

            var memory = find(server.uri("bucket=memory"));
            assertThat(memory)
                    .filteredOn(one -> one.level() == Finding.Level.ERROR)
                    .singleElement()
                    .satisfies(one -> assertThat(one.says()).contains("kept in memory"));
            var files = find(server.uri("bucket=files"));
            assertThat(files).allMatch(one -> one.level() == Finding.Level.OK);
            assertThat(only(files, "storage").says())
                    .matches("KV_files, made 20\\S+Z, kept in files, TTL none, 1 replica\\b.*");
            assertThat(only(files, "crash").sum()).isEqualTo(Duration.ofMillis(13_200));
            assertThat(only(files, "hand-over").terms())
                    .containsExactly(new Finding.Term("stand-down budget", Duration.ofMillis(2_400)));
            assertThat(files).extracting(Finding::about).contains("clock", "durability", "replication", "rights");
        }
    }

    @Test
    void bucketThatWasSpoiledLaterIsAnError() {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            var backend = ConnectUri.parse(server.uri("bucket=spoiled")).connect();
            try {
                admin.ask(connection -> {
                    var management = connection.jetStreamManagement();
                    var found = management.getStreamInfo("KV_spoiled").getConfiguration();
                    return management.updateStream(StreamConfiguration.builder(found)
                            .maxMessagesPerSubject(5)
                            .build());
                });

                var spoiled = only(backend.findings(config()), "bucket");
                assertThat(spoiled.level()).isEqualTo(Finding.Level.ERROR);
                assertThat(spoiled.says()).contains("history is 5, and must be 1");
            } finally {
                backend.close();
            }
        }
    }

    /** As `nats kv add` makes one. */
    @Test
    void bucketWithoutTtlsOfMessagesIsSaidToKeepTheKeysOfThoseWhoCrashed() {
        try (var server = NatsServer.alone(Scripts.where("nats-server-cluster"), "");
                var admin = Admin.of(server.port())) {
            make(server.port(), "plain", stream -> stream);
            assertThat(only(find(server.uri("bucket=plain")), "left behind").says())
                    .contains("candidates that crashed", "allow_msg_ttl");

            admin.ask(connection -> {
                var management = connection.jetStreamManagement();
                var found = management.getStreamInfo("KV_plain").getConfiguration();
                return management.updateStream(
                        StreamConfiguration.builder(found).allowMessageTtl().build());
            });
            for (var bucket : List.of("plain", "ours")) {
                assertThat(find(server.uri("bucket=" + bucket)))
                        .as(bucket)
                        .noneMatch(one -> one.about().equals("left behind"));
            }
        }
    }

    @Test
    void clusterIsToldByHowManyOfItsServersKeepTheBucket() {
        try (var cluster = new NatsCluster()) {
            for (var replicas : List.of(1, 2, 3)) {
                make(cluster.server(0).port(), "r" + replicas, stream -> stream.replicas(replicas));
            }

            assertThat(warnings(cluster, "r1")).anyMatch(says -> says.contains("on one server of a cluster"));
            assertThat(warnings(cluster, "r2"))
                    .anyMatch(says -> says.contains("tolerate no more failures than one less"));
            assertThat(warnings(cluster, "r3")).noneMatch(says -> says.contains("failures"));
            var shortLease = CandidacyConfig.ofLease(Duration.ofSeconds(9));
            var backend = ConnectUri.parse(cluster.uri("bucket=r3")).connect();
            try {
                assertThat(only(backend.findings(shortLease), "fail-over").level())
                        .isEqualTo(Finding.Level.WARNING);
            } finally {
                backend.close();
            }
            cluster.server(NatsCluster.LONELY).kill();
            Eventually.eventually(
                    "the replica that is gone is told",
                    PATIENCE,
                    () -> warnings(cluster, "r3").stream().anyMatch(says -> says.contains("replica")));
        }
    }

    private static List<String> warnings(NatsCluster cluster, String bucket) {
        return find(cluster.uri("bucket=" + bucket)).stream()
                .filter(one -> one.level() == Finding.Level.WARNING)
                .map(Finding::says)
                .toList();
    }

    private static void make(int port, String bucket, UnaryOperator<StreamConfiguration.Builder> settings) {
        try (var admin = Admin.of(port)) {
            admin.ask(connection -> connection
                    .jetStreamManagement()
                    .addStream(settings.apply(StreamConfiguration.builder()
                                    .name("KV_" + bucket)
                                    .subjects("$KV." + bucket + ".>")
                                    .maxMessagesPerSubject(1)
                                    .allowDirect(true))
                            .build()));
        }
    }

    private static List<Finding> find(String uri) {
        return Doctor.find(uri, config());
    }

    private static CandidacyConfig config() {
        return CandidacyConfig.ofLease(Duration.ofSeconds(12));
    }
}
