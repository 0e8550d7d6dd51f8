package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import io.nats.client.JetStreamApiException;
import io.nats.client.api.DiscardPolicy;
import io.nats.client.api.StreamConfiguration;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A bucket that takes no more, or is gone, and what the log tells of it. */
class FullBucketTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LIMIT = 300;
    private static final int MAXIMUM_MESSAGES_EXCEEDED = 10077;

    private final LogSaid log = new LogSaid();

    @AfterEach
    void showTheLog() {
        log.close();
    }

    /** With replicas the server counts a renewal as one message more, before it knows that it replaces another. */
    @ParameterizedTest
    @ValueSource(ints = {1, 50})
    void whereThereAreReplicasAFullBucketFencesAllLeadersAndTheReasonIsToldOnce(int elections) {
        try (var cluster = new NatsCluster();
                var admin = cluster.admin(0)) {
            make(admin, 3);
            try (var all = Elections.connect(cluster.uri("bucket=full"))) {
                var lease = CandidacyConfig.ofLease(Duration.ofSeconds(10));
                var leaders = leaders(all, elections, lease);
                limit(admin, 1); // of which it has more: on this version nothing is dropped for that
                nobodyLeads(leaders, lease.lease());
                assertThat(log.warnings("maximum messages exceeded")).hasSize(1);
                assertThat(findings(cluster.uri("bucket=full")))
                        .anyMatch(
                                says -> says.contains("of max_msgs 1; when it is full, no leader can renew its lease"));

                limit(admin, LIMIT);
                Eventually.eventually(
                        "all lead again", PATIENCE, () -> leaders.stream().allMatch(Candidacy::isLeader));
            }
        }
    }

    @Test
    void whereThereAreNoReplicasAFullBucketTakesNoOtherElectionAndTheReasonIsToldOnce() {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            make(admin, 1);
            try (var all = Elections.connect(server.uri("bucket=full"))) {
                var lease = CandidacyConfig.ofLease(Duration.ofSeconds(4));
                var leaders = leaders(all, 50, lease);
                fill(admin);
                assertThat(findings(server.uri("bucket=full")))
                        .anyMatch(says -> says.contains("when it is full, nobody can stand in another election"));
                var others = IntStream.range(0, 50)
                        .mapToObj(i -> all.stand("other-" + i, lease))
                        .toList();
                Eventually.throughout(
                        "all lead on",
                        lease.lease().multipliedBy(2),
                        () -> leaders.stream().allMatch(Candidacy::isLeader));
                assertThat(others).noneMatch(Candidacy::isLeader);
                assertThat(log.warnings("maximum messages exceeded")).hasSize(1);
            }
        }
    }

    @Test
    void aBucketThatIsDeletedIsToldOnce() {
        try (var server = NatsServers.alone();
                var admin = Admin.of(server.port())) {
            make(admin, 1);
            try (var all = Elections.connect(server.uri("bucket=full"))) {
                var lease = CandidacyConfig.ofLease(Duration.ofSeconds(4));
                var leaders = leaders(all, 50, lease);
                admin.ask(connection -> connection.jetStreamManagement().deleteStream("KV_full"));
                nobodyLeads(leaders, lease.lease());
                assertThat(log.warnings("full")).hasSize(1);
            }
        }
    }

    private static void nobodyLeads(List<Candidacy> leaders, Duration lease) {
        Eventually.eventually("nobody leads", PATIENCE, () -> leaders.stream().noneMatch(Candidacy::isLeader));
        Eventually.throughout("nobody is elected", lease, () -> leaders.stream().noneMatch(Candidacy::isLeader));
    }

    private static void make(Admin admin, int replicas) {
        var stream = StreamConfiguration.builder()
                .name("KV_full")
                .subjects(List.of("$KV.full.>"))
                .maxMessagesPerSubject(1)
                .maxMessages(LIMIT)
                .discardPolicy(DiscardPolicy.New)
                .replicas(replicas)
                .build();
        admin.ask(connection -> connection.jetStreamManagement().addStream(stream));
    }

    private static List<Candidacy> leaders(Elections all, int elections, CandidacyConfig config) {
        var leaders = IntStream.range(0, elections)
                .mapToObj(i -> all.stand("election-" + i, config))
                .toList();
        Eventually.eventually("all lead", PATIENCE, () -> leaders.stream().allMatch(Candidacy::isLeader));
        return leaders;
    }

    /** By other keys, until it takes no more. Older servers drop keys where the limit is lowered instead. */
    private static void fill(Admin admin) {
        Eventually.eventually("it is full", PATIENCE, () -> {
            try {
                admin.connection().jetStream().publish("$KV.full." + UUID.randomUUID(), new byte[1]);
                return false;
            } catch (JetStreamApiException e) {
                return e.getApiErrorCode() == MAXIMUM_MESSAGES_EXCEEDED;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static void limit(Admin admin, int messages) {
        admin.ask(connection -> {
            var management = connection.jetStreamManagement();
            var found = management.getStreamInfo("KV_full").getConfiguration();
            return management.updateStream(
                    StreamConfiguration.builder(found).maxMessages(messages).build());
        });
    }

    private static List<String> findings(String uri) {
        return Doctor.find(uri, CandidacyConfig.defaults()).stream()
                .map(Finding::says)
                .toList();
    }
}
