package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.RosterConfig;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Three brokers that give a new topic one replica, as all do that nobody has told otherwise. */
@Timeout(300)
class StockBrokersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final int PARTITIONS = 4;
    private static final KafkaBrokers BROKERS = KafkaInfrastructure.warm(KafkaBrokers.start(
            3,
            0,
            Map.of(
                    "default.replication.factor", "1",
                    "min.insync.replicas", "1",
                    "auto.create.topics.enable", "false")));
    private static final Admin ADMIN = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()));

    private final String roster = "roster-" + UUID.randomUUID();
    private final String topic = "bellwether.roster." + roster;

    /** What a topic has, and what it asks for before it confirms a record. */
    private record Replicas(Uuid topic, int partitions, int fewest, String inSync) {}

    @AfterAll
    static void close() {
        ADMIN.close();
        BROKERS.close();
    }

    private static RosterConfig config() {
        return RosterConfig.builder()
                .roles(PARTITIONS)
                .partitions(PARTITIONS)
                .lease(Duration.ofSeconds(6))
                .build();
    }

    private static Settings settings(String topic) {
        return Settings.of(Map.of("bootstrap.servers", BROKERS.bootstrap(), "topic", topic));
    }

    @Test
    void aRostersTopicHasThreeReplicasOfWhichTwoConfirmAndSoHasTheOneThatTakesItsPlace() throws Exception {
        try (var elections = Elections.connect("kafka://" + BROKERS.bootstrap())) {
            assertThat(elections.roster(roster, config()).await(PARTITIONS, PATIENCE))
                    .isTrue();
            var first = Eventually.eventually("all brokers know it", PATIENCE, () -> replicas(topic, PARTITIONS));
            assertThat(first.fewest()).isEqualTo(3);
            assertThat(first.inSync()).isEqualTo("2");
            ADMIN.deleteTopics(List.of(topic)).all().get();
            var second = Eventually.eventually(
                    "it is made again",
                    PATIENCE,
                    () -> replicas(topic, PARTITIONS).filter(now -> !now.topic().equals(first.topic())));
            assertThat(second.fewest()).isEqualTo(3);
            assertThat(second.inSync()).isEqualTo("2");
        }
    }

    private void repair(String topic) {
        RosterTopic.repair(
                settings("bellwether"),
                new AdminConnection(() -> ADMIN),
                topic,
                Uuid.ZERO_UUID,
                config(),
                new RosterTopic.Absence(),
                new RosterTopic.Absence());
    }

    @Test
    void oneThatABrokerHasMadeByItselfIsWarnedOfIfItsReplicasAreTooFew() throws Exception {
        ADMIN.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        Eventually.eventually("all brokers know it", PATIENCE, () -> replicas(topic, 1));
        try (var log = new LogSaid()) {
            repair(topic);
            Eventually.eventually(
                    "it is told",
                    PATIENCE,
                    () -> !log.warnings(topic, "1 replica(s)", "3 brokers").isEmpty());
        }
        Eventually.eventually(
                "it has the partitions, and does not wait for a second replica",
                PATIENCE,
                () -> replicas(topic, PARTITIONS).filter(now -> now.inSync().equals("1")));
    }

    @Test
    void andIsGivenTwoThatConfirmIfItHasThree() throws Exception {
        ADMIN.createTopics(List.of(new NewTopic(topic, 1, (short) 3))).all().get();
        Eventually.eventually("all brokers know it", PATIENCE, () -> replicas(topic, 1));
        repair(topic);
        Eventually.eventually(
                "it has the partitions, and the setting",
                PATIENCE,
                () -> replicas(topic, PARTITIONS).filter(now -> now.inSync().equals("2")));
    }

    @Test
    void aLeaderTopicThatIsMadeAgainWhileABrokerIsDownIsWarnedOf() {
        var leaders = "leaders-" + UUID.randomUUID();
        BROKERS.broker(3).kill();
        try (var log = new LogSaid()) {
            Eventually.eventually("it is gone", PATIENCE, () -> brokers() == 2);
            new LeaderTopic(settings(leaders), new AdminConnection(() -> ADMIN))
                    .missed(new UnknownTopicOrPartitionException());
            Eventually.eventually(
                    "it is told",
                    PATIENCE,
                    () -> !log.warnings(leaders, "2 broker(s) answered").isEmpty());
            var made = Eventually.eventually("it is made", PATIENCE, () -> replicas(leaders, 1));
            assertThat(made.fewest()).isEqualTo(2);
        } finally {
            BROKERS.broker(3).start();
            Eventually.eventually("it is back", PATIENCE, () -> brokers() == 3);
        }
    }

    @Test
    void oneThatIsThereWithTooFewReplicasIsWarnedOfByAllWhoComeToUseIt() throws Exception {
        var leaders = "leaders-" + UUID.randomUUID();
        var two = (short) 2;
        ADMIN.createTopics(List.of(new NewTopic(leaders, 1, two), new NewTopic(topic, PARTITIONS, two)))
                .all()
                .get();
        Eventually.eventually("all brokers know the one", PATIENCE, () -> replicas(leaders, 1));
        Eventually.eventually("and the other", PATIENCE, () -> replicas(topic, PARTITIONS));
        var connection = new AdminConnection(() -> ADMIN);
        try (var log = new LogSaid()) {
            new LeaderTopic(settings(leaders), connection).require(PATIENCE);
            RosterTopic.require(settings("bellwether"), connection, roster, config(), PATIENCE);
            for (var name : List.of(leaders, topic)) {
                Eventually.eventually(
                        name + " is told of",
                        PATIENCE,
                        () -> !log.warnings(name, "2 replica(s)", "3 brokers").isEmpty());
            }
        }
    }

    private static int brokers() {
        try {
            return ADMIN.describeCluster().nodes().get().size();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            return 0;
        }
    }

    /** Returns what a topic with so many partitions has, if all of it is known. */
    private static Optional<Replicas> replicas(String topic, int partitions) {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try {
            TopicDescription found = Objects.requireNonNull(
                    ADMIN.describeTopics(List.of(topic)).allTopicNames().get().get(topic));
            var inSync = Objects.requireNonNull(
                            ADMIN.describeConfigs(List.of(resource)).all().get().get(resource))
                    .get("min.insync.replicas");
            var fewest = found.partitions().stream()
                    .mapToInt(partition -> partition.replicas().size())
                    .min()
                    .orElse(0);
            return Optional.of(new Replicas(found.topicId(), found.partitions().size(), fewest, inSync.value()))
                    .filter(now -> now.partitions() == partitions);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            return Optional.empty(); // not every broker knows it
        }
    }
}
