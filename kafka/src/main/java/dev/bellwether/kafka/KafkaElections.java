package dev.bellwether.kafka;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Mandate;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.LeaseStore;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Elections on Apache Kafka. By default one election is one consumer group on a leader topic, and the owner of its
 * partition 0 leads; with {@code by=log} the log of the topic alone decides, for any number of elections at the cost of
 * one, and with leases that brokers need not be set up for.
 *
 * <p>{@code Elections.connect("kafka://host:9092,host:9092?topic=leaders")} is the same by URI. All properties but
 * these go to Kafka's clients as they are, those for security included; the few that leadership depends on are refused
 * by name.
 *
 * <ul>
 *   <li>{@code topic}: the leader topic; {@code bellwether} by default. It is created if it does not exist.
 *   <li>{@code topic.create}: {@code false} leaves that to an administrator.
 *   <li>{@code group.prefix}: precedes the name of an election in the id of its group; the topic and a dot by default.
 *   <li>{@code roster.group}: the id of the group of a roster, with {@code *} for the name of the group.
 *   <li>{@code assignors}: Kafka's own assignors beside ours, such as {@code range}, for rolling out in a group that
 *   has other
 *       members.
 *   <li>{@code by}: {@code group}, which is the default, or {@code log}. Both never hold elections in one topic.
 *   <li>{@code longest.lease}: with {@code by=log}, the longest lease that a candidacy may have, 30 seconds by default:
 *       so long nobody leads when the topic is new. It must be the same in all processes.
 * </ul>
 */
public final class KafkaElections {
    private KafkaElections() {}

    /**
     * Connects with these properties, of which {@code bootstrap.servers} is the one that must be there.
     *
     * @throws dev.bellwether.ElectionException if a property is wrong or not ours to give away, or a right is missing
     * @throws dev.bellwether.UnavailableException if the brokers do not answer
     */
    public static Elections using(Map<String, ?> properties) {
        return using(properties, ElectionsConfig.defaults());
    }

    /** Returns the names of the properties that are ours. All others go to Kafka's clients. */
    public static Set<String> ownProperties() {
        return Set.copyOf(Settings.OWN);
    }

    /** Connects with these properties and settings. */
    public static Elections using(Map<String, ?> properties, ElectionsConfig config) {
        var settings = Settings.of(properties);
        return Elections.over("the Kafka cluster at " + settings.bootstrap(), () -> backend(settings), config);
    }

    static Backend backend(Settings settings) {
        return settings.by() == Settings.By.LOG
                ? LeaseStore.over(LogRecordStore.open(settings))
                : new KafkaArbiter(settings);
    }

    /**
     * Makes a producer for what the holder of this mandate writes to Kafka: a transactional one, whose transactions
     * cannot be committed any more once a later leader of the same election has made its own.
     *
     * <p>Call it after the mandate was acquired, once per mandate; it takes some hundred milliseconds. The producer is
     * ready for {@code beginTransaction}, and yours to close. It throws {@code ProducerFencedException} or {@code
     * InvalidProducerEpochException} when a later leader has fenced it: close it then. Should that happen under a
     * mandate that is valid, a former leader has come back from a long pause and called this too late; it was refused,
     * and you make another.
     *
     * <p>The one condition: a leader must make its own producer, and so fence that of its predecessor, before it reads
     * what the predecessor has written (with {@code isolation.level=read_committed}) or writes itself. Until then a
     * predecessor that was paused may still commit.
     *
     * @param properties as for {@link #using(Map)}, and any property of a producer but {@code transactional.id}, {@code
     *     enable.idempotence} and {@code acks}
     * @throws dev.bellwether.NotLeaderException if the mandate has ended, even while the producer was being made
     * @throws dev.bellwether.UnavailableException if the brokers do not answer
     */
    public static <K, V> Producer<K, V> fencedProducer(
            Mandate mandate, Map<String, ?> properties, Serializer<K> keys, Serializer<V> values) {
        return fencedProducer(mandate, mandate.election(), properties, keys, values);
    }

    /**
     * Makes a producer for one role of a roster, as {@link #fencedProducer(Mandate, Map, Serializer, Serializer)} does
     * for an election. The roles of one partition have one mandate: each needs a producer of its own, since two made
     * without the role would fence each other. Leaders of two groups do not.
     */
    public static <K, V> Producer<K, V> fencedProducer(
            Mandate mandate, int role, Map<String, ?> properties, Serializer<K> keys, Serializer<V> values) {
        return fencedProducer(mandate, mandate.election() + '.' + role, properties, keys, values);
    }

    private static <K, V> Producer<K, V> fencedProducer(
            Mandate mandate, String fencedName, Map<String, ?> properties, Serializer<K> keys, Serializer<V> values) {
        mandate.ensure();
        var producer = new KafkaProducer<>(Settings.fenced(properties, fencedName), keys, values);
        try {
            producer.initTransactions();
            /*
             * Now, not before: a process that still leads after its initTransactions had no successor while that
             * ran, so each successor's comes later, and fences this one.
             */
            mandate.ensure();
            return producer;
        } catch (KafkaException e) {
            producer.close(Duration.ZERO);
            throw KafkaErrors.translated(
                    e,
                    Settings.names(properties),
                    "the Kafka brokers, asked to fence the producers of earlier leaders");
        } catch (RuntimeException | Error e) {
            producer.close(Duration.ZERO);
            throw e;
        }
    }
}
