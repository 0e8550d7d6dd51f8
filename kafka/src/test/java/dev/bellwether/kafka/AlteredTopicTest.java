package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsResult;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An administrator who does what a refusal advises is obeyed without another connection. */
@Timeout(60)
class AlteredTopicTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String TOPIC = "bellwether";
    private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
    private static final Node BROKER = new Node(1, "localhost", 1);

    private String lagMillis = "1000";
    private final AtomicInteger polls = new AtomicInteger();
    private volatile boolean deleted;

    @Test
    void aLeaseThatTheTopicKeepsNowIsNoLongerRefused() {
        var topic = new LeaderTopic(
                Settings.of(Map.of("bootstrap.servers", "localhost:1")), new AdminConnection(this::admin));
        topic.require(PATIENCE);
        var config = CandidacyConfig.ofLease(Duration.ofSeconds(6));
        assertThatThrownBy(() -> topic.check(config))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("min.compaction.lag.ms");
        lagMillis = "3600000";
        assertThatCode(() -> topic.check(config)).doesNotThrowAnyException();
    }

    @Test
    void aJournalThatBeganAgainNoLongerHoldsElectionsByTheLog() throws Exception {
        try (var journal = new Journal(
                PARTITION, this::consumer, error -> new ElectionException("planted", error), Clock.system())) {
            Eventually.eventually(
                    "it is refused",
                    PATIENCE,
                    () -> journal.reach(0).toCompletableFuture().isCompletedExceptionally());
            deleted = true;
            Eventually.eventually(
                    "it is read",
                    PATIENCE,
                    () -> !journal.reach(0).toCompletableFuture().isCompletedExceptionally());
            assertThat(journal.reach(0).toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .isNull();
        }
    }

    // ---------------------------------------------------------------- brokers

    private Admin admin() {
        return (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(),
                new Class<?>[] {Admin.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "describeTopics" -> described();
                    case "describeConfigs" ->
                        new DescribeConfigsResult(Map.of(
                                new ConfigResource(ConfigResource.Type.TOPIC, TOPIC),
                                KafkaFuture.completedFuture(new Config(List.of(
                                        new ConfigEntry("cleanup.policy", "compact"),
                                        new ConfigEntry("message.timestamp.type", "LogAppendTime"),
                                        new ConfigEntry("min.compaction.lag.ms", lagMillis)))))) {};
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private static DescribeTopicsResult described() {
        var partition = new TopicPartitionInfo(0, BROKER, List.of(BROKER, BROKER, BROKER), List.of(BROKER));
        return new DescribeTopicsResult(
                null,
                Map.of(
                        TOPIC,
                        KafkaFuture.completedFuture(
                                new TopicDescription(TOPIC, false, List.of(partition), Set.of())))) {};
    }

    @SuppressWarnings("unchecked")
    private Consumer<byte[], byte[]> consumer() {
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
                Consumer.class.getClassLoader(),
                new Class<?>[] {Consumer.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "poll" -> poll();
                    case "position" -> 0L;
                    case "beginningOffsets", "endOffsets" -> Map.of(PARTITION, 0L);
                    default -> null;
                });
    }

    private ConsumerRecords<byte[], byte[]> poll() throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(10);
        var poll = polls.incrementAndGet();
        if (poll == 1) {
            var ofLog = new LogEntry.Reset("e", 0, 0, Duration.ofSeconds(1));
            return new ConsumerRecords<>(
                    Map.of(PARTITION, List.of(new ConsumerRecord<>(TOPIC, 0, 0, ofLog.key(), ofLog.value()))),
                    Map.of());
        }
        if (deleted) {
            deleted = false;
            throw new OffsetOutOfRangeException(Map.of(PARTITION, 1L));
        }
        return ConsumerRecords.empty();
    }
}
