package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.CreatePartitionsResult;
import org.apache.kafka.clients.admin.DescribeConfigsResult;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** What a member of a roster makes of the records that its client gets, step by step. */
class KafkaMembershipTest implements GroupObserver {
    private static final String TOPIC = "bellwether.roster.shop";
    private static final Settings SETTINGS = Settings.of(Map.of("bootstrap.servers", "localhost:1"));

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Uuid ANOTHER = Uuid.randomUuid();
    private static final ConfigResource RESOURCE = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);

    private final List<String> read = new ArrayList<>();
    private final List<ElectionException> failures = new CopyOnWriteArrayList<>();
    private final AtomicInteger repairs = new AtomicInteger();
    private final AtomicInteger looks = new AtomicInteger();
    private KafkaFuture<Config> settings = refused();
    private volatile Uuid id = ANOTHER;
    private volatile int partitions = 1;

    private final Set<Integer> given = ConcurrentHashMap.newKeySet();
    private volatile Runnable whenRevoking = () -> {};
    private volatile boolean hasLeft;

    private KafkaMembership member(RosterMode mode) {
        return member(mode, SETTINGS);
    }

    private KafkaMembership member(RosterMode mode, Settings of) {
        var config = RosterConfig.builder().roles(20).partitions(8).mode(mode).build();
        var admin = new AdminConnection(() -> (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(),
                new Class<?>[] {Admin.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "describeTopics" -> new DescribeTopicsResult(null, Map.of(TOPIC, described())) {};
                    case "describeConfigs" -> new DescribeConfigsResult(Map.of(RESOURCE, settings)) {};
                    case "createPartitions" -> grown();
                    default -> throw new UnsupportedOperationException(method.getName());
                }));
        var writer =
                new Writer(MockProducer::new, new TopicPartition("bellwether", 0), Duration.ofSeconds(3), error -> {});
        var rosters = new KafkaRosters(of, admin, new BrokerLimits(0, Long.MAX_VALUE), writer, "bellwether-test");
        return new KafkaMembership(new RosterStanding("shop", "me", "me-1", config), this, rosters);
    }

    /** Another topic by now. */
    private KafkaFuture<TopicDescription> described() {
        var broker = new Node(1, "localhost", 1);
        var found = IntStream.range(0, partitions)
                .mapToObj(number -> new TopicPartitionInfo(number, broker, List.of(broker), List.of(broker)))
                .toList();
        var description = new TopicDescription(TOPIC, false, found, Set.of(), id);
        looks.incrementAndGet();
        return KafkaFuture.completedFuture(description);
    }

    private CreatePartitionsResult grown() throws ReflectiveOperationException {
        repairs.incrementAndGet();
        var made = CreatePartitionsResult.class.getDeclaredConstructors()[0];
        made.setAccessible(true);
        return (CreatePartitionsResult) made.newInstance(Map.of(TOPIC, refused()));
    }

    private static <T> KafkaFuture<T> refused() {
        var refused = new KafkaFutureImpl<T>();
        refused.completeExceptionally(new TopicAuthorizationException("planted"));
        return refused;
    }

    private static ConsumerRecord<byte[], byte[]> record(int partition, long offset, TimestampType type) {
        return new ConsumerRecord<>(
                TOPIC, partition, offset, 1, type, 0, 0, null, new byte[0], new RecordHeaders(), Optional.empty());
    }

    /** A client learns of new partitions before the member has looked at the topic, and gives up. */
    @Test
    void recordsOfPartitionsThatTheTopicDidNotHaveAreIgnored() {
        member(RosterMode.OVERLAPPING)
                .heard(List.of(
                        record(8, 3, TimestampType.LOG_APPEND_TIME), record(7, 5, TimestampType.LOG_APPEND_TIME)));
        assertThat(read).containsExactly("7@5");
    }

    @Test
    void whoIsTimedSaysThatTheBrokersStampNoMoreOnceAndOnceAgainTheNextTime() {
        var member = member(RosterMode.TIMED);
        try (var log = new LogSaid()) {
            member.heard(List.of(record(1, 1, TimestampType.CREATE_TIME), record(1, 2, TimestampType.CREATE_TIME)));
            member.heard(List.of(record(2, 3, TimestampType.CREATE_TIME)));
            assertThat(log.warnings(TOPIC, "set message.timestamp.type=LogAppendTime"))
                    .hasSize(1);
            member.heard(List.of(record(2, 4, TimestampType.LOG_APPEND_TIME)));
            member.heard(List.of(record(2, 5, TimestampType.CREATE_TIME)));
            assertThat(log.warnings(TOPIC)).hasSize(2);
        }
        assertThat(read).containsExactly("2@4");
    }

    /** That right is not required. The roles of the partitions that are missing had no leader, and nobody was told. */
    @Test
    void whoMayNotAskForSettingsFailsOnATopicWithFewerPartitionsAsOneWhoMay() {
        var member = member(RosterMode.OVERLAPPING);
        member.start();
        try {
            Eventually.eventually("it has failed", PATIENCE, () -> !failures.isEmpty());
            assertThat(failures.get(0)).hasMessageContaining("has 1 partitions").hasMessageContaining("asked for 8");
        } finally {
            member.close();
        }
    }

    /** A broker may have made the topic, which it is not told, and another member be about to add what it lacks. */
    @Test
    void whoMayNotAskForSettingsWaitsForAnotherToAddWhatATopicLacks() {
        var member = member(RosterMode.OVERLAPPING);
        member.start();
        try {
            Eventually.eventually("it has looked, and looked soon", PATIENCE, () -> looks.get() >= 6);
            partitions = 8;
            var then = looks.get();
            Eventually.eventually("it has looked again", PATIENCE, () -> looks.get() > then + 1);
            assertThat(failures).isEmpty();
        } finally {
            member.close();
        }
    }

    /** That right is not required either. Each member said it twice a second. */
    @Test
    void whoMayNotAddWhatATopicLacksThatABrokerMadeSaysSoOnce() {
        settings = KafkaFuture.completedFuture(new Config(List.of())); // nobody's
        var member = member(RosterMode.OVERLAPPING);
        try (var log = new LogSaid()) {
            member.start();
            Eventually.eventually("it is tried again and again", PATIENCE, () -> repairs.get() > 3);
            assertThat(log.text().lines().filter(line -> line.contains("adding what it lacks")))
                    .hasSize(1);
            assertThat(log.text().lines().filter(line -> line.contains("could not be given 8 partitions")))
                    .hasSize(1);
        } finally {
            member.close();
        }
        assertThat(failures).isEmpty();
    }

    /** The next one was told of only where somebody had seen that there was none in between. */
    @Test
    void eachTopicThatABrokerHasMadeAndThatIsNotForUsToChangeIsToldOf() {
        settings = KafkaFuture.completedFuture(new Config(List.of())); // nobody's
        partitions = 8;
        var member = member(
                RosterMode.OVERLAPPING,
                Settings.of(Map.of("bootstrap.servers", "localhost:1", "topic.create", "false")));
        try (var log = new LogSaid()) {
            member.start();
            Eventually.eventually("it has looked", PATIENCE, () -> looks.get() > 0);
            for (var told = 1; told <= 2; told++) {
                var expected = told;
                id = Uuid.randomUuid();
                Eventually.eventually(
                        "it is told",
                        PATIENCE,
                        () -> log.text()
                                        .lines()
                                        .filter(line -> line.contains("has created topic " + TOPIC))
                                        .count()
                                == expected);
            }
        } finally {
            member.close();
        }
    }

    /** Its client was closed within its own poll: that was told as a failure, with a stack trace. */
    @Test
    void whoIsToLeaveWhileOthersWaitForItsPartitionsLeavesInOrder() {
        var name = "leaving-" + UUID.randomUUID();
        var of = Settings.of(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));
        var admin = new AdminConnection(() -> Admin.create(of.admin(name)));
        var writer = new Writer(() -> of.writer(name), new TopicPartition("bellwether", 0), of.delivery(), error -> {});
        var rosters = new KafkaRosters(of, admin, new BrokerLimits(0, Long.MAX_VALUE), writer, name);
        var config = RosterConfig.builder()
                .roles(4)
                .partitions(4)
                .mode(RosterMode.OVERLAPPING)
                .lease(Duration.ofSeconds(6))
                .build();
        var others = new KafkaMembershipTest();
        try (var log = new LogSaid()) {
            rosters.check(name, config);
            var member = new KafkaMembership(new RosterStanding(name, "me", "me-1", config), this, rosters);
            var other = new KafkaMembership(new RosterStanding(name, "other", "other-1", config), others, rosters);
            whenRevoking = member::leave;
            member.start();
            Eventually.eventually("it has all", PATIENCE, () -> given.size() == 4);
            other.start();
            Eventually.eventually("the other has all", PATIENCE, () -> others.given.size() == 4);
            assertThat(hasLeft).isTrue();
            member.close();
            other.close();
            Eventually.eventually(
                    "their threads have ended",
                    PATIENCE,
                    () -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().equals("bellwether-kafka-roster-" + name)));
            assertThat(log.warnings("the client of", name)).isEmpty();
        } finally {
            rosters.close();
            writer.close(Duration.ZERO);
            admin.close(Duration.ZERO);
        }
    }

    // ---------------------------------------------------------------- observer

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        read.add(partition + "@" + offset);
    }

    @Override
    public void assigned(Collection<Integer> partitions) {
        given.addAll(partitions);
    }

    @Override
    public void revoking(Collection<Integer> partitions) {
        whenRevoking.run();
    }

    @Override
    public void lost(Collection<Integer> partitions) {}

    @Override
    public void committed(long number, Commit outcome) {}

    @Override
    public void caughtUp() {}

    @Override
    public void beganAgain(long offset) {}

    @Override
    public void failed(ElectionException error) {
        failures.add(error);
    }

    @Override
    public void left() {
        hasLeft = true;
    }
}
