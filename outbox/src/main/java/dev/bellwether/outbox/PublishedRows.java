package dev.bellwether.outbox;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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

    /** Returns whether all transactions behind this one are known, up to the newest; false if there is none at all. */
    boolean isWholeAfter(long number) {
        var behind = byNumber.tailMap(number, false);
        return !byNumber.isEmpty() && (behind.isEmpty() || behind.size() == last() - number);
    }

    /** Returns whether so many of the newest transactions are known, without a gap, that no older one is remembered. */
    boolean isFull() {
        return byNumber.size() == ProgressTopic.WINDOW && last() - byNumber.firstKey() == ProgressTopic.WINDOW - 1;
    }

    /** Returns what this leader may take for published: nothing, if there is a doubt. */
    PublishedRows believed(ProgressMark mark, long epoch) {
        var believed = new PublishedRows();
        if (doubt(mark, epoch).isEmpty()) {
            // rows of the others are gone: whatever is in the table under one of them is there again, to be published
            byNumber.tailMap(mark.number(), false).values().forEach(believed::add);
        }
        return believed;
    }

    /**
     * Returns why it is not certain what was published. A leader in between that kept no progress may have sent some of
     * these rows again; so may one behind whose sending everything again the mark has not come, as when the database
     * was set back for the second time. If a transaction behind the mark is not known, then to leave out the rows of
     * later ones would leave an older record last.
     */
    Optional<String> doubt(ProgressMark mark, long epoch) {
        if (mark.number() == 0 && last() == 0) {
            return Optional.empty(); // nobody has kept progress yet, so there is nothing to believe
        }
        if (!mark.isUnbroken(epoch)) {
            return Optional.of(
                    "it is not known that all who led since transaction " + mark.number() + " kept progress");
        }
        if (last() < mark.number()) {
            return Optional.of("it ends with transaction " + last() + ", and should reach " + mark.number());
        }
        if (!isWholeAfter(mark.number())) {
            return Optional.of("of the transactions from " + (mark.number() + 1) + " to " + last()
                    + " some are missing: the database was set back, or the topic has lost them");
        }
        return newestBase() <= mark.number()
                ? Optional.empty()
                : Optional.of("the table is at transaction " + mark.number() + ", and all was published again behind "
                        + newestBase() + ": the database was set back");
    }

    private long newestBase() {
        return byNumber.isEmpty() ? 0 : byNumber.lastEntry().getValue().base();
    }

    /** Returns what to write into the row when those that were believed are deleted. */
    ProgressMark markAfter(ProgressMark mark, long epoch) {
        return new ProgressMark(epoch, Math.max(mark.number(), last()));
    }

    /** Returns the base of the transactions that follow. */
    long baseAfter(ProgressMark mark, long epoch) {
        return doubt(mark, epoch).isEmpty() ? newestBase() : Math.max(mark.number(), last());
    }

    /**
     * Deletes those that are still there, and returns how many there were.
     *
     * @throws DeposedException if the shard has another leader
     */
    int delete(Store store, Connection connection, int shard, long epoch) throws SQLException, DeposedException {
        var known = known();
        var all = known.stream().mapToLong(Known::id).distinct().sorted().toArray();
        var deleted = 0;
        for (var from = 0; from < all.length; from += MOST) {
            var ids = Arrays.copyOfRange(all, from, Math.min(all.length, from + MOST));
            var there = published(known, store.eventIds(connection, ids));
            if (there.length > 0) {
                deleted += store.deleteLeft(connection, shard, epoch, there);
            }
        }
        return deleted;
    }

    /** Returns which of these rows were published, of which the ids and the event ids are given. */
    long[] published(Map<Long, String> there) {
        return published(known(), there);
    }

    private static long[] published(Set<Known> known, Map<Long, String> there) {
        return there.entrySet().stream()
                .filter(row -> known.contains(new Known(row.getKey(), Published.hash(row.getValue()))))
                .mapToLong(Map.Entry::getKey)
                .sorted()
                .toArray();
    }

    private record Known(long id, int hash) {}

    private Set<Known> known() {
        var known = new HashSet<Known>();
        for (var published : byNumber.values()) {
            for (var i = 0; i < published.ids().length; i++) {
                known.add(new Known(published.ids()[i], published.hashes()[i]));
            }
        }
        return known;
    }
}
