package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.RosterStanding;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** What a member of a roster makes of the records that its client gets, step by step. */
class KafkaMembershipTest implements GroupObserver {
    private static final String TOPIC = "bellwether.roster.shop";
    private static final Settings SETTINGS = Settings.of(Map.of("bootstrap.servers", "localhost:1"));

    private final List<String> read = new ArrayList<>();

    private KafkaMembership member(RosterMode mode) {
        var config = RosterConfig.builder().roles(20).partitions(8).mode(mode).build();
        var admin = new AdminConnection(() -> (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> {
                    throw new UnsupportedOperationException(method.getName());
                }));
        var writer =
                new Writer(MockProducer::new, new TopicPartition("bellwether", 0), Duration.ofSeconds(3), error -> {});
        var rosters = new KafkaRosters(SETTINGS, admin, new BrokerLimits(0, Long.MAX_VALUE), writer, "bellwether-test");
        return new KafkaMembership(new RosterStanding("shop", "me", "me-1", config), this, rosters);
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

    // ---------------------------------------------------------------- observer

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        read.add(partition + "@" + offset);
    }

    @Override
    public void assigned(Collection<Integer> partitions) {}

    @Override
    public void revoking(Collection<Integer> partitions) {}

    @Override
    public void lost(Collection<Integer> partitions) {}

    @Override
    public void committed(long number, Commit outcome) {}

    @Override
    public void caughtUp() {}

    @Override
    public void beganAgain(long offset) {}

    @Override
    public void failed(ElectionException error) {}

    @Override
    public void left() {}
}
