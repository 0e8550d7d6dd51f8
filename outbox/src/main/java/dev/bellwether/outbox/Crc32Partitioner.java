package dev.bellwether.outbox;

import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.jspecify.annotations.Nullable;

/**
 * Puts a key where librdkafka's {@code consistent_random} does: at CRC-32 modulo the number of partitions; records
 * without a key anywhere. Thread-safe. Public because Kafka's client makes it, and for producers beside a relay that
 * must agree with it.
 */
public final class Crc32Partitioner implements Partitioner {
    /** For Kafka's client. */
    public Crc32Partitioner() {}

    @Override
    public int partition(
            String topic,
            @Nullable Object key,
            byte @Nullable [] keyBytes,
            @Nullable Object value,
            byte @Nullable [] valueBytes,
            Cluster cluster) {
        var available = cluster.availablePartitionsForTopic(topic);
        if ((keyBytes == null || keyBytes.length == 0) && !available.isEmpty()) {
            return available
                    .get(ThreadLocalRandom.current().nextInt(available.size()))
                    .partition();
        }
        return partition(keyBytes, cluster.partitionsForTopic(topic).size());
    }

    static int partition(byte @Nullable [] key, int partitions) {
        if (key == null || key.length == 0) {
            return ThreadLocalRandom.current().nextInt(partitions);
        }
        var sum = new CRC32();
        sum.update(key);
        return (int) (sum.getValue() % partitions);
    }

    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void close() {}
}
