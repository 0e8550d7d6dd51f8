package dev.bellwether.outbox;

import dev.bellwether.outbox.OutboxAdmin.BlockedRecord;
import dev.bellwether.outbox.OutboxAdmin.Waits;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Predicate;

/**
 * What of a shard waits and why, for those who look from outside: the first thousand, since a table of more is read by
 * nobody. {@link #list} may be called by any thread, everything else belongs to that of the shard.
 */
final class BlockedRecords {
    private static final int MOST = 1_000;

    private final int shard;
    private final Map<Long, BlockedRecord> now = new ConcurrentSkipListMap<>();
    /** Since when those were blocked that are being tried again. */
    private final Map<Long, Instant> before = new HashMap<>();

    BlockedRecords(int shard) {
        this.shard = shard;
    }

    void add(Row row, Waits waits, String reason) {
        if (now.size() < MOST) {
            var since = before.getOrDefault(row.id(), Instant.now());
            now.put(row.id(), new BlockedRecord(shard, row.id(), row.topic(), waits, since, reason));
        }
    }

    /** All that is at fault by itself is tried again. */
    void pardon() {
        if (before.size() > MOST) {
            before.clear();
        }
        now.values().forEach(one -> before.put(one.id(), one.since()));
        now.values().removeIf(one -> one.waits() != Waits.PARTITION);
    }

    /** Of what waits for a partition, only that of these topics still does. */
    void keepStranded(Predicate<String> topics) {
        now.values().removeIf(one -> one.waits() == Waits.PARTITION && !topics.test(one.topic()));
    }

    List<BlockedRecord> list() {
        return List.copyOf(now.values());
    }
}
