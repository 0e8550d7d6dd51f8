package dev.bellwether.outbox;

import java.util.Set;
import org.apache.kafka.common.utils.Utils;

/**
 * Partitions of a topic that have no leader. What goes to one of them waits until it has: not only the record that
 * failed, or a later one of its key would overtake it. Immutable.
 *
 * @param partitions how many the topic has
 * @param without those that have no leader
 */
record Stranded(int partitions, Set<Integer> without, Partitioning partitioning) {
    Stranded {
        without = Set.copyOf(without);
    }

    /**
     * Returns whether the row can go nowhere else. A producer takes a record without a key to a partition that has a
     * leader.
     */
    boolean holds(Row row) {
        if (row.partition() >= 0) {
            return without.contains(row.partition());
        }
        var key = row.key();
        return switch (partitioning) {
            case MURMUR2 -> key != null && without.contains(Utils.toPositive(Utils.murmur2(key)) % partitions);
            case CRC32 ->
                key != null && key.length > 0 && without.contains(Crc32Partitioner.partition(key, partitions));
        };
    }
}
