package dev.bellwether.outbox;

import dev.bellwether.ElectionException;
import dev.bellwether.kafka.CalmSerializer;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigException;

/** The properties of a relay's producer. */
final class ProducerSettings {
    static final List<String> OURS = List.of(
            "transactional.id",
            "enable.idempotence",
            "acks",
            "retries",
            "key.serializer",
            "value.serializer",
            "partitioner.class",
            "partitioner.ignore.keys");

    static final String COMPRESSION = "lz4";
    private static final int TRANSACTION_TIMEOUT = 30_000;
    private static final int REQUEST_TIMEOUT = 10_000;
    private static final int LINGER = 5;

    private ProducerSettings() {}

    static Map<String, Object> checked(Map<String, ?> properties) {
        for (var name : OURS) {
            if (properties.containsKey(name)) {
                throw new IllegalArgumentException("cannot override configuration \"" + name
                        + "\" of a relay's producer: order and fencing depend on it; remove it");
            }
        }
        return new TreeMap<>(properties);
    }

    /** Returns them all, for the producer of a shard. */
    static Map<String, Object> of(RelayConfig config, String transactionalId) {
        var all = new TreeMap<>(config.producer());
        if (config.partitioning() == Partitioning.CRC32) {
            all.put("partitioner.class", Crc32Partitioner.class);
        }
        all.put("transactional.id", transactionalId);
        all.put("enable.idempotence", true);
        all.put("acks", "all");
        all.put("key.serializer", CalmSerializer.class);
        all.put("value.serializer", CalmSerializer.class);
        all.putIfAbsent("client.id", transactionalId);
        all.putIfAbsent("linger.ms", LINGER); // a commit sends at once what is left
        all.putIfAbsent("batch.size", 256 << 10);
        all.putIfAbsent("compression.type", COMPRESSION);
        // read_committed consumers wait so long for a leader that died and has no successor
        all.putIfAbsent("transaction.timeout.ms", TRANSACTION_TIMEOUT);
        // so long a new producer waits for a broker that is frozen before it asks another; Kafka's default is 30 s,
        // against
        // duplicates, of which an idempotent producer makes none
        all.putIfAbsent("request.timeout.ms", REQUEST_TIMEOUT);
        // so long a partition without a leader holds up the others; by then its transaction is aborted anyway
        all.putIfAbsent(
                "delivery.timeout.ms",
                Math.max(
                        number(all, "transaction.timeout.ms", TRANSACTION_TIMEOUT),
                        number(all, "request.timeout.ms", REQUEST_TIMEOUT) + number(all, "linger.ms", LINGER)));
        // an unknown topic should not hold up the others for a minute
        all.putIfAbsent("max.block.ms", 10_000);
        all.putIfAbsent("reconnect.backoff.max.ms", 500);
        return all;
    }

    /**
     * Looks at all of them, as the producer of a shard will.
     *
     * @throws ElectionException if Kafka takes one of them for wrong
     */
    static void check(RelayConfig config) {
        var all = of(config, config.transactionalIds(0).get(0));
        try {
            var parsed = new ProducerConfig(all);
            var least = parsed.getLong("linger.ms") + parsed.getInt("request.timeout.ms");
            if (parsed.getInt("delivery.timeout.ms") < least) { // which only a producer looks at
                throw new ConfigException(
                        "delivery.timeout.ms",
                        parsed.getInt("delivery.timeout.ms"),
                        "it must be at least linger.ms and request.timeout.ms together, " + least);
            }
        } catch (ConfigException e) {
            throw new ElectionException(
                    "outbox " + config.name() + ", properties of the producer: "
                            + String.valueOf(e.getMessage()).replaceAll("\\.+$", "")
                            + ". Nothing is published until that is set right",
                    e);
        }
    }

    /** Returns when brokers abort a transaction that is still open. */
    static long transactionTimeoutMillis(RelayConfig config) {
        return number(config.producer(), "transaction.timeout.ms", TRANSACTION_TIMEOUT);
    }

    /**
     * Returns whether a row is certain to be refused for its size, and not to be read therefore. By far: headers take
     * more in the table than in a record.
     */
    static boolean isTooLarge(RelayConfig config, long size) {
        return size > config.maxInFlightBytes() && size > 2L * number(config.producer(), "max.request.size", 1 << 20);
    }

    /** Returns of how many rows a record of progress can tell, if it must be no larger than a request. */
    static int mostRowsOfProgress(Map<String, Object> properties) {
        var most = number(properties, "max.request.size", 1 << 20);
        return Math.max(1, (most - 1_000) / Published.BYTES_PER_ROW);
    }

    private static int number(Map<String, Object> properties, String name, int otherwise) {
        try {
            return Integer.parseInt(
                    String.valueOf(properties.getOrDefault(name, otherwise)).strip());
        } catch (NumberFormatException e) {
            return otherwise; // which Kafka's client refuses, by name
        }
    }
}
