package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Link.Way;
import dev.bellwether.testkit.OutageCount;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.kafka.Broker;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Three brokers, where the group's coordinator and the leader of the journal's partition are two. */
@Tag("full") // three brokers and many processes, which compute
class ClusterFaultsTest {
    private static final TopicPartition JOURNAL = new TopicPartition("bellwether", 0);
    private static final TopicPartition OFFSETS = new TopicPartition("__consumer_offsets", 0);

    /**
     * Until the cluster has noticed that a broker is dead, which may have been the controller too, and has moved what
     * it led.
     */
    private static final Duration DEAD_BROKER = Duration.ofSeconds(20);

    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    private static Admin admin;

    private final KafkaBrokers brokers = SharedCluster.get();

    @SuppressWarnings("NullAway.Init")
    private Stage stage;

    @BeforeAll
    static void start() {
        var brokers = SharedCluster.get();
        admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()));
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    @BeforeEach
    void apart() throws Exception {
        lead(OFFSETS, 1);
        lead(JOURNAL, 2);
        stage = new Stage(
                new KafkaInfrastructure(brokers) {
                    @Override
                    public Duration patience() {
                        return DEAD_BROKER.multipliedBy(3);
                    }
                },
                "cluster-faults");
    }

    @AfterEach
    void clear() {
        stage.close();
    }

    /** Who may read is answered; but a topic with too few replicas in sync takes no records. */
    @Test
    void brokersThatTakeNoRecordsAreAnOutageUntilTheyDo() throws Exception {
        var topic = "refusing-" + UUID.randomUUID();
        admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(2, 3)))
                        .configs(Map.of(
                                "min.insync.replicas", "2",
                                "cleanup.policy", "delete",
                                "message.timestamp.type", "LogAppendTime"))))
                .all()
                .get();
        var outages = new OutageCount();
        try (var elections = Elections.connect(
                        "kafka://" + brokers.bootstrap() + "?topic=" + topic,
                        ElectionsConfig.builder().metrics(outages).build());
                var candidacy = elections.stand(stage.election(), CandidacyConfig.ofLease(Duration.ofSeconds(6)))) {
            assertThat(candidacy.await(DEAD_BROKER)).isPresent();
            brokers.broker(3).kill();
            try {
                Eventually.eventually("the outage is told", DEAD_BROKER.multipliedBy(3), outages::isOut);
                Eventually.throughout("it lasts", DEAD_BROKER.dividedBy(4), outages::isOut);
                assertThat(candidacy.isLeader()).isFalse();
            } finally {
                brokers.broker(3).start();
            }
            var partition = new TopicPartition(topic, 0);
            Eventually.eventually("both are in sync", DEAD_BROKER.multipliedBy(3), () -> inSync(partition) == 2);
            Eventually.eventually("its end is told", DEAD_BROKER.multipliedBy(3), () -> !outages.isOut());
            assertThat(candidacy.await(DEAD_BROKER)).isPresent();
        } finally {
            admin.deleteTopics(List.of(topic)).all().get();
        }
    }

    /** Makes this broker lead the partition. */
    private static void lead(TopicPartition partition, int broker) throws Exception {
        var replicas = List.of(broker, broker % 3 + 1, (broker + 1) % 3 + 1);
        admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(replicas))))
                .all()
                .get();
        try {
            Eventually.eventually(
                    broker + " leads " + partition, DEAD_BROKER.multipliedBy(6), () -> isMadeLead(partition, broker));
        } catch (AssertionError e) {
            for (var one : SharedCluster.get().brokers()) {
                System.out.println(one.name() + ": " + one.output());
            }
            throw e;
        }
    }

    private static boolean isMadeLead(TopicPartition partition, int broker) {
        try {
            admin.electLeaders(ElectionType.PREFERRED, Set.of(partition))
                    .partitions()
                    .get();
            return leader(partition) == broker;
        } catch (ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static TopicPartitionInfo described(TopicPartition partition) {
        try {
            var described = admin.describeTopics(List.of(partition.topic()))
                    .allTopicNames()
                    .get();
            return Objects.requireNonNull(described.get(partition.topic()))
                    .partitions()
                    .get(0);
        } catch (InterruptedException | ExecutionException e) {
            throw new UnavailableException("the brokers do not describe " + partition, e); // asked again
        }
    }

    private static int leader(TopicPartition partition) {
        var leader = described(partition).leader();
        return leader == null ? -1 : leader.id();
    }

    private static int inSync(TopicPartition partition) {
        return described(partition).isr().size();
    }

    /**
     * A lease that outlasts the death of a broker on a busy machine, proven often, so that the test sees soon that it
     * is.
     */
    private static CandidacyConfig.Builder patient(CandidacyConfig.Builder settings) {
        return settings.lease(Duration.ofSeconds(40)).renewInterval(Duration.ofSeconds(1));
    }

    private static void awaitMoved(TopicPartition partition, int from) {
        Eventually.eventually(from + " does not lead " + partition + " any more", DEAD_BROKER.multipliedBy(3), () -> {
            var leader = leader(partition);
            return leader != from && leader > 0;
        });
    }

    private Broker coordinator() {
        return brokers.broker(1);
    }

    private Broker journalKeeper() {
        return brokers.broker(2);
    }

    /** Long enough that the deadline passes, and is told, well before the session is over and somebody else claims. */
    private static CandidacyConfig.Builder unhurried(CandidacyConfig.Builder settings) {
        return settings.lease(Duration.ofSeconds(3));
    }

    @ParameterizedTest
    @EnumSource
    void aLeaderCutFromTheCoordinatorOnlyIsFencedByItsDeadline(Way way) {
        var linked = stage.linkedClient();
        var first = stage.stand(linked.elections(), new EventLog(), ClusterFaultsTest::unhurried);
        var mandate = first.awaitLeads();
        var second = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::unhurried);
        second.awaitFollows(first);
        var link = coordinator().link(0);
        link.cut(way);
        assertThat(second.awaitLeads().token()).isGreaterThan(mandate.token());
        first.awaitHears(LeadershipEvent.Fenced.class);
        assertThat(first.candidacy().status().lastCause())
                .as("not the successor's claim: it could have read that")
                .contains(Cause.UNREACHABLE);
        link.heal();
        first.awaitFollows(second);
    }

    @ParameterizedTest
    @EnumSource
    void aLeaderCutFromTheJournalOnlyIsFencedByItsDeadlineAndMakesRoom(Way way) {
        var linked = stage.linkedClient();
        var first = stage.stand(linked.elections(), new EventLog(), ClusterFaultsTest::unhurried);
        var mandate = first.awaitLeads();
        var second = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::unhurried);
        second.awaitFollows(first);
        var link = journalKeeper().link(0);
        link.cut(way);
        first.awaitHears(LeadershipEvent.Fenced.class);
        assertThat(second.awaitLeads().token()).isGreaterThan(mandate.token());
        link.heal();
        first.awaitFollows(second);
    }

    @ParameterizedTest
    @EnumSource
    void aLeaderCutFromTheThirdBrokerLeadsOn(Way way) {
        var linked = stage.linkedClient();
        var leader = stage.stand(linked.elections(), new EventLog(), ClusterFaultsTest::patient);
        var mandate = leader.awaitLeads();
        var link = brokers.broker(3).link(0);
        link.cut(way);
        leader.awaitProven();
        leader.awaitProven();
        link.heal();
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    @Test
    void aLeaderOutlivesTheDeathOfItsCoordinator() {
        var leader = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::patient);
        var mandate = leader.awaitLeads();
        coordinator().kill();
        stage.onClose(coordinator()::start);
        awaitMoved(OFFSETS, 1);
        leader.awaitProven();
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    @Test
    void aLeaderOutlivesTheDeathOfTheJournalsLeader() {
        var leader = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::patient);
        var mandate = leader.awaitLeads();
        journalKeeper().kill();
        stage.onClose(journalKeeper()::start);
        awaitMoved(JOURNAL, 2);
        leader.awaitProven();
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }

    @Test
    void aCoordinatorThatMovesDisturbsNobody() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::patient);
        var mandate = leader.awaitLeads();
        var standby = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::patient);
        standby.awaitFollows(leader);
        for (var broker : List.of(2, 3, 1)) {
            lead(OFFSETS, broker);
            leader.awaitProven();
        }
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
        leader.candidacy().close();
        assertThat(standby.awaitLeads().token()).isGreaterThan(mandate.token());
    }

    @Test
    void brokersThatRestartInTurnDisturbNobody() {
        var leader = stage.stand(stage.client(), new EventLog(), ClusterFaultsTest::patient);
        var mandate = leader.awaitLeads();
        for (var broker : brokers.brokers()) {
            broker.stop();
            leader.awaitProven(); // by what the others have taken over
            broker.start();
            for (var partition : List.of(JOURNAL, OFFSETS)) { // as whoever rolls a cluster waits
                Eventually.eventually("all are in sync", Duration.ofSeconds(60), () -> inSync(partition) == 3);
            }
        }
        leader.awaitProven();
        assertThat(leader.candidacy().mandate()).contains(mandate);
        assertThat(leader.events().turns()).containsExactly("Acquired " + mandate.token());
    }
}
