package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Stage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What becomes of elections by the log when the topic forgets, becomes another one, or holds what is not ours. The stage
 * fails each fact in which two lead at once.
 */
@Timeout(240)
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a topic of its own
class LogFaultsTest {
    private static final Duration LONGEST = Duration.ofSeconds(5);
    private static final Duration LEASE = Duration.ofSeconds(4);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String topic = "log-" + UUID.randomUUID();
    private final Stage stage = new Stage(new LogInfrastructure(SharedBroker.get(), topic, LONGEST), "log-faults");
    private final Admin admin =
            Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));

    @AfterEach
    void close() {
        stage.close();
        admin.close();
    }

    private String uri() {
        return SharedBroker.uri() + LogInfrastructure.query(topic, LONGEST);
    }

    private void forgetAll() throws Exception {
        var partition = new TopicPartition(topic, 0);
        var end = admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                .partitionResult(partition)
                .get()
                .offset();
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(end)))
                .all()
                .get();
    }

    private void append(byte[] key, byte[] value) throws Exception {
        try (var producer = new KafkaProducer<>(
                Map.<String, Object>of("bootstrap.servers", SharedBroker.get().bootstrap()),
                new ByteArraySerializer(),
                new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, key, value)).get();
        }
    }

    private void makeTopic(int partitions, Map<String, String> settings) throws Exception {
        admin.createTopics(List.of(
                        new NewTopic(topic, Optional.of(partitions), Optional.<Short>empty()).configs(settings)))
                .all()
                .get();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void nobodyLeadsInATopicThatIsNewUntilTheLongestLeaseIsOver() {
        var elections = stage.client();
        var begun = System.nanoTime();
        stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE))
                .awaitLeads();
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(LONGEST);
    }

    @Test
    void aTopicThatIsDeletedEndsTheMandateAndTheNextLeadsUnderAHigherToken() throws Exception {
        var one = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        var before = one.awaitLeads();
        var two = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        two.awaitFollows(one);
        admin.deleteTopics(List.of(topic)).all().get();
        one.awaitHears(LeadershipEvent.Fenced.class);
        stage.eventually("one of them leads again", () -> one.isLeader() || two.isLeader());
        var after = (one.isLeader() ? one : two).awaitLeads();
        assertThat(after.token()).isGreaterThan(before.token());
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        stage.eventually("it is not compacted", () -> {
            try {
                var config =
                        admin.describeConfigs(List.of(resource)).all().get().get(resource);
                return config != null
                        && "delete".equals(config.get("cleanup.policy").value());
            } catch (InterruptedException | ExecutionException e) {
                return false;
            }
        });
    }

    @Test
    void aTopicThatIsDeletedWhileNobodyLeadsIsCreatedAgainForWhoStandsNext() throws Exception {
        var elections = stage.client();
        var first = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
        var before = first.awaitLeads();
        first.candidacy().close();
        admin.deleteTopics(List.of(topic)).all().get();
        var next = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
        assertThat(next.awaitLeads().token()).isGreaterThan(before.token());
    }

    @Test
    void aNewcomerToATopicThatForgotItsBeginningIsToldByTheOthersAndDisturbsNobody() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        var before = leader.awaitLeads();
        leader.awaitProven();
        forgetAll();
        var newcomer = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        newcomer.awaitFollows(leader);
        assertThat(leader.awaitLeads()).as("the mandate from before").isEqualTo(before);
    }

    @Test
    void whoMissedWhatTheTopicForgotReadsOnFromACheckpoint() throws Exception {
        var first = stage.linkedClient();
        var leader = stage.stand(first.elections(), new EventLog(), settings -> settings.lease(LEASE));
        leader.awaitLeads();
        var second = stage.linkedClient();
        var standby = stage.stand(second.elections(), new EventLog(), settings -> settings.lease(LEASE));
        standby.awaitFollows(leader);
        second.link().cut();
        leader.awaitProven();
        forgetAll();
        leader.awaitProven();
        second.link().heal();
        var seen = second.elections().election(stage.election());
        stage.eventually(
                "the standby knows the leader again",
                () -> seen.leader()
                        .filter(one -> one.candidate().equals(leader.id()))
                        .isPresent());
        first.link().cut();
        standby.awaitLeads();
        assertThat(leader.isLeader()).isFalse();
    }

    @Test
    void whatIsNotOursIsLeftOut() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        var mandate = leader.awaitLeads();
        append(bytes("seats/x"), bytes("hello"));
        append(bytes("seats/x"), bytes("bellwether-log/1 what=WRITE&expected=-7"));
        append(bytes("log"), bytes("bellwether-log/1 what=PART&of=1\nnonsense"));
        leader.awaitProven();
        var newcomer = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        newcomer.awaitFollows(leader);
        assertThat(leader.awaitLeads()).isEqualTo(mandate);
    }

    @Test
    void nobodyLeadsWhereRecordsAreOfAVersionThatIsNotKnown() throws Exception {
        stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE))
                .awaitLeads();
        append(bytes("log"), bytes("bellwether-log/2 what=SOMETHING"));
        try (var elections = Elections.connect(uri())) {
            var election = elections.election("other");
            assertThatThrownBy(() -> election.leader())
                    .isInstanceOf(ElectionException.class)
                    .isNotInstanceOf(UnavailableException.class)
                    .hasMessageContaining("records of version 2");
            forgetAll();
            stage.eventually("it is looked at again", () -> {
                try {
                    return election.leader().isEmpty();
                } catch (ElectionException e) {
                    return false;
                }
            });
        }
    }

    @Test
    void aCandidateWhoseRecordIsTooLargeFailsAlone() throws Exception {
        makeTopic(1, Map.of("max.message.bytes", "1200"));
        var elections = stage.client();
        var leader = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
        var mandate = leader.awaitLeads();
        var config = CandidacyConfig.builder()
                .lease(LEASE)
                .metadata(Map.of("all", "x".repeat(1_000)))
                .build();
        try (var large = elections.stand("large", config)) {
            stage.eventually("it has failed", () -> large.failure().isPresent());
            assertThat(large.failure().orElseThrow()).hasMessageContaining("shorten the candidate's metadata");
        }
        leader.awaitProven();
        assertThat(leader.awaitLeads()).isEqualTo(mandate);
    }

    @Test
    void whoAllowsLongerLeasesTellsItToTheOthersFirst() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        leader.awaitLeads();
        var longer = SharedBroker.uri() + LogInfrastructure.query(topic, LONGEST.multipliedBy(2));
        try (var elections = Elections.connect(longer);
                var candidacy = elections.stand("longer", CandidacyConfig.ofLease(LONGEST.multipliedBy(2)))) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
        }
        assertThat(leader.isLeader()).isTrue();
    }

    // ---------------------------------------------------------------- both kinds in one topic

    @Test
    void aTopicOfGroupsIsRefused() throws Exception {
        try (var groups = Elections.connect(SharedBroker.uri() + "?topic=" + topic);
                var candidacy = groups.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            assertThatThrownBy(() -> Elections.connect(uri()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("is compacted: it holds elections by groups");
        }
    }

    @Test
    void groupsInATopicThatIsNotCompactedAreSeen() throws Exception {
        makeTopic(1, Map.of("cleanup.policy", "delete"));
        try (var groups = Elections.connect(SharedBroker.uri() + "?topic=" + topic);
                var candidacy = groups.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            try (var elections = Elections.connect(uri())) {
                assertThatThrownBy(() -> elections.election("billing").leader())
                        .isInstanceOf(ElectionException.class)
                        .isNotInstanceOf(UnavailableException.class)
                        .hasMessageContaining("holds elections by groups");
            }
            assertThat(candidacy.isLeader()).isTrue();
        }
    }

    @Test
    void aCandidateByGroupsFailsInATopicWhoseLogDecides() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        leader.awaitLeads();
        try (var groups = Elections.connect(SharedBroker.uri() + "?topic=" + topic);
                var candidacy = groups.stand(stage.election(), CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            stage.eventually("it has failed", () -> candidacy.failure().isPresent());
            assertThat(candidacy.failure().orElseThrow()).hasMessageContaining("holds elections by its log alone");
        }
        assertThat(leader.isLeader()).isTrue();
    }

    @Test
    void aTopicOfSeveralPartitionsIsRefused() throws Exception {
        makeTopic(2, Map.of("cleanup.policy", "delete"));
        assertThatThrownBy(() -> Elections.connect(uri()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has 2 partitions")
                .hasMessageContaining("--partitions 1");
    }

    @Test
    void aLeaseThatIsLongerThanTheLongestIsRefused() {
        var elections = stage.client();
        assertThatThrownBy(() -> elections.stand("long", CandidacyConfig.ofLease(Duration.ofSeconds(6))))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("longest.lease is 5 s")
                .hasMessageContaining("longest.lease=6000ms");
    }
}
