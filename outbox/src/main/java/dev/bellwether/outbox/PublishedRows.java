package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** Which rows the last transactions of a shard have published. Confined to one thread. */
final class PublishedRows {
    private static final int MOST = 10_000;

    private final TreeMap<Long, Published> byNumber = new TreeMap<>();

    void add(Published published) {
        byNumber.put(published.number(), published);
        if (byNumber.size() > ProgressTopic.WINDOW) {
            byNumber.pollFirstEntry();
        }
    }

    /** Returns the number of the newest transaction; 0 if there is none. */
    long last() {
        return byNumber.isEmpty() ? 0 : byNumber.lastKey();
    }

    /** Returns the epoch of the newest; 0 if there is none. */
    long epoch() {
        return byNumber.isEmpty() ? 0 : byNumber.lastEntry().getValue().epoch();
    }

    /** Returns whether older ones can tell of no row that is still in the table. */
    boolean isWhole() {
        return byNumber.size() == ProgressTopic.WINDOW && byNumber.firstKey() == last() - ProgressTopic.WINDOW + 1;
    }

    /**
     * Deletes those that are still there, and returns how many there were.
     *
     * @throws DeposedException if the shard has another leader
     */
    int delete(Store store, Connection connection, int shard, long epoch) throws SQLException, DeposedException {
        var hashes = hashes();
        var all = hashes.keySet().stream().mapToLong(Long::longValue).sorted().toArray();
        var deleted = 0;
        for (var from = 0; from < all.length; from += MOST) {
            var ids = Arrays.copyOfRange(all, from, Math.min(all.length, from + MOST));
            var there = published(hashes, store.eventIds(connection, ids));
            if (there.length > 0) {
                if (store.delete(connection, shard, epoch, there) == 0) {
                    throw new DeposedException(shard, epoch);
                }
                deleted += there.length;
            }
        }
        return deleted;
    }

    /** Returns which of these rows were published, of which the ids and the event ids are given. */
    long[] published(Map<Long, String> there) {
        return published(hashes(), there);
    }

    private static long[] published(Map<Long, Integer> hashes, Map<Long, String> there) {
        return there.entrySet().stream()
                .filter(row -> Objects.equals(hashes.get(row.getKey()), Published.hash(row.getValue())))
                .mapToLong(Map.Entry::getKey)
                .sorted()
                .toArray();
    }

    private Map<Long, Integer> hashes() {
        var hashes = new HashMap<Long, Integer>();
        for (var published : byNumber.values()) { // the newer ones last: an id that was given again is theirs
            for (var i = 0; i < published.ids().length; i++) {
                hashes.put(published.ids()[i], published.hashes()[i]);
            }
        }
        return hashes;
    }
}
