package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What becomes of elections by the log when its end is cut off: three brokers that notice a dead one, and a replica that
 * is behind, as late as they do by default. The stage fails each fact in which two lead at once.
 */
@Tag("cluster")
@Timeout(600)
class LogClusterFaultsTest {
    private static final Duration LONGEST = Duration.ofSeconds(10);
    private static final Duration LEASE = Duration.ofSeconds(4);
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    /** A follower's question is answered by then, whether or not there is anything new. */
    private static final Duration FETCH = Duration.ofSeconds(2);

    private static final KafkaBrokers BROKERS = KafkaBrokers.start(
            3,
            KafkaInfrastructure.LINKS,
            Map.of("broker.session.timeout.ms", "9000", "replica.lag.time.max.ms", "30000"));

    private final String topic = "log-" + UUID.randomUUID();
    private final TopicPartition partition = new TopicPartition(topic, 0);
    private final Admin admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()));
    private final Stage stage = new Stage(
            new LogInfrastructure(BROKERS, topic, LONGEST) {
                @Override
                public Duration patience() {
                    return PATIENCE;
                }
            },
            "log-cluster-faults");

    @AfterAll
    static void stop() {
        BROKERS.close();
    }

    @AfterEach
    void close() {
        stage.close();
        admin.close();
    }

    private void makeTopic(List<Integer> replicas, int inSync) throws Exception {
        var settings = Map.of("cleanup.policy", "delete", "min.insync.replicas", Integer.toString(inSync));
        admin.createTopics(List.of(new NewTopic(topic, Map.of(0, replicas)).configs(settings)))
                .all()
                .get();
    }

    private TopicPartitionInfo described() throws InterruptedException, ExecutionException {
        return Objects.requireNonNull(admin.describeTopics(List.of(topic))
                        .allTopicNames()
                        .get()
                        .get(topic))
                .partitions()
                .get(0);
    }

    private boolean isLedBy(Set<Integer> brokers, int inSync) {
        try {
            var described = described();
            return described.leader() != null
                    && brokers.contains(described.leader().id())
                    && described.isr().size() >= inSync;
        } catch (ExecutionException e) {
            return false; // asked again
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static CandidacyConfig.Builder patient(CandidacyConfig.Builder settings) {
        return settings.lease(LEASE);
    }

    /** Has the first broker take records until no other can have been told of the last; returns where that stands. */
    private long appendAtTheFirstAlone() throws Exception {
        var begun = System.nanoTime();
        try (var producer = producer(BROKERS.broker(1).address(), "1")) {
            while (true) {
                var last = append(producer, "at one broker");
                if (System.nanoTime() - begun > FETCH.toNanos()) {
                    append(producer, "behind " + last);
                    return last;
                }
            }
        }
    }

    /** Fills the log up to this offset, and beyond: those that were cut off are used again. */
    private void appendBeyond(long offset) throws Exception {
        try (var producer = producer(BROKERS.bootstrap(), "all")) {
            for (var left = offset + 2 - end(); left > 0; left--) {
                var unused = producer.send(new ProducerRecord<>(topic, 0, "foreign", "filling"));
            }
            producer.flush();
        }
    }

    private static KafkaProducer<String, String> producer(String addresses, String acks) {
        return new KafkaProducer<>(
                Map.<String, Object>of("bootstrap.servers", addresses, "acks", acks),
                new StringSerializer(),
                new StringSerializer());
    }

    private long append(KafkaProducer<String, String> producer, String value) throws Exception {
        return producer.send(new ProducerRecord<>(topic, 0, "foreign", value))
                .get()
                .offset();
    }

    /** Returns the values of all records there are. */
    private List<String> values() {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", BROKERS.bootstrap()),
                new StringDeserializer(),
                new StringDeserializer())) {
            var all = List.of(partition);
            consumer.assign(all);
            consumer.seekToBeginning(all);
            var end = consumer.endOffsets(all).getOrDefault(partition, 0L);
            var values = new ArrayList<String>();
            while (consumer.position(partition) < end) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
            }
            return values;
        }
    }

    private long end() throws Exception {
        return admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                .partitionResult(partition)
                .get()
                .offset();
    }

    /** As it happens with default settings, whenever the broker that leads a log is cut off from the others. */
    @Test
    void whatOneBrokerAloneHadIsCutOffAndAllGoOn() throws Exception {
        makeTopic(List.of(1, 2, 3), 2);
        var one = stage.stand(stage.client(), new EventLog(), LogClusterFaultsTest::patient);
        var before = one.awaitLeads();
        var two = stage.stand(stage.client(), new EventLog(), LogClusterFaultsTest::patient);
        two.awaitFollows(one);
        assertThat(isLedBy(Set.of(1), 3)).isTrue();
        BROKERS.broker(2).pause();
        BROKERS.broker(3).pause();
        long lost;
        try {
            lost = appendAtTheFirstAlone();
            BROKERS.broker(1).pause();
        } finally {
            BROKERS.broker(2).resume();
            BROKERS.broker(3).resume();
        }
        try {
            Eventually.eventually("another leads the log", PATIENCE, () -> isLedBy(Set.of(2, 3), 2));
        } finally {
            BROKERS.broker(1).resume();
        }
        Eventually.eventually("the first has cut its end off", PATIENCE, () -> isLedBy(Set.of(1, 2, 3), 3));
        stage.eventually("one of them leads", () -> one.isLeader() || two.isLeader());
        var leader = one.isLeader() ? one : two;
        assertThat(leader.awaitLeads().token()).isGreaterThanOrEqualTo(before.token());
        appendBeyond(lost);
        assertThat(end()).as("what was cut off is used again").isGreaterThan(lost + 1);
        assertThat(values()).noneMatch(value -> value.startsWith("behind "));
        var newcomer = stage.stand(stage.client(), new EventLog(), LogClusterFaultsTest::patient);
        var last = leader.awaitLeads();
        leader.candidacy().close();
        stage.eventually("the next leads", () -> one.isLeader() || two.isLeader() || newcomer.isLeader());
        var next = newcomer.isLeader() ? newcomer : one.isLeader() ? one : two;
        assertThat(next.awaitLeads().token()).isGreaterThan(last.token());
    }

    /** One replica led alone, and the other takes over without it: what nobody does who keeps to the documents. */
    @Test
    void nobodyLeadsForTheLongestLeaseWhenAcknowledgedRecordsAreLost() throws Exception {
        makeTopic(List.of(1, 2), 1);
        var elections = stage.client();
        var one = stage.stand(elections, new EventLog(), LogClusterFaultsTest::patient);
        one.awaitLeads();
        var two = stage.stand(stage.client(), new EventLog(), LogClusterFaultsTest::patient);
        two.awaitFollows(one);
        BROKERS.broker(2).stop();
        one.awaitProven();
        one.candidacy().close();
        var lost = two.awaitLeads();
        two.awaitProven();
        BROKERS.broker(1).kill();
        two.awaitHears(LeadershipEvent.Fenced.class);
        BROKERS.broker(2).start();
        Eventually.eventually("the second leads the log", PATIENCE, () -> {
            try {
                admin.electLeaders(ElectionType.UNCLEAN, Set.of(partition))
                        .partitions()
                        .get();
            } catch (ExecutionException e) {
                return false;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return isLedBy(Set.of(2), 1);
        });
        var election = elections.election(stage.election());
        stage.eventually("nobody can be elected", () -> {
            try {
                election.leader();
                return false;
            } catch (ElectionException e) {
                return e.getMessage() != null && e.getMessage().contains("or has lost what it held");
            }
        });
        stage.eventually("it leads again", () -> two.isLeader());
        assertThat(two.awaitLeads().token()).isGreaterThan(lost.token());
        BROKERS.broker(1).start();
        Eventually.eventually("both are in sync", PATIENCE, () -> isLedBy(Set.of(1, 2), 2));
        two.awaitProven();
    }
}
