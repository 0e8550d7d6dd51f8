package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.RosterConfig;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The rosters of one Kafka cluster: each has a topic of its own, each group of it is a consumer group. A member adds a consumer and its
 * thread, and in the exclusive mode a reader of the journal and its thread, however many roles there are.
 *
 * <p>Thread-safe.
 */
final class KafkaRosters implements RosterCarrier {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Settings settings;
    private final Admin admin;
    private final BrokerLimits limits;
    private final Writer writer;
    private final String id;
    private final Set<KafkaMembership> members = ConcurrentHashMap.newKeySet();

    KafkaRosters(Settings settings, Admin admin, BrokerLimits limits, Writer writer, String id) {
        this.settings = settings;
        this.admin = admin;
        this.limits = limits;
        this.writer = writer;
        this.id = id;
    }

    @Override
    public void check(String roster, RosterConfig config) {
        limits.check(CandidacyConfig.ofLease(config.lease()));
        RosterTopic.require(settings, admin, roster, config, PATIENCE);
    }

    @Override
    public GroupMembership join(RosterStanding standing, GroupObserver observer, Loop loop) {
        var member = new KafkaMembership(standing, observer, this);
        members.add(member);
        member.start();
        return member;
    }

    Settings settings() {
        return settings;
    }

    String topic(RosterStanding standing) {
        return RosterTopic.name(settings, standing.roster());
    }

    String describe(RosterStanding standing) {
        return "topic " + topic(standing) + " of the Kafka cluster at " + settings.bootstrap();
    }

    KafkaConsumer<byte[], byte[]> member(RosterStanding standing) {
        var group = settings.group(
                "roster." + standing.roster() + '.' + standing.config().group());
        return new KafkaConsumer<>(settings.rosterMember(id + '-' + standing.instance(), group, standing.config()));
    }

    KafkaConsumer<byte[], byte[]> reader(RosterStanding standing) {
        return new KafkaConsumer<>(settings.reader(id + '-' + standing.instance() + "-journal"));
    }

    /** Writes a record, or not. May block for as long as the client does not know where to send it. */
    void write(String topic, int partition, byte[] record) {
        writer.write(new ProducerRecord<>(topic, partition, null, record), error -> {}); // whoever must know reads
    }

    void closed(KafkaMembership member) {
        members.remove(member);
    }

    void close() {
        members.forEach(KafkaMembership::abandon);
    }
}
