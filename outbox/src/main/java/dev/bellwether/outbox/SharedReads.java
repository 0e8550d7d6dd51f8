package dev.bellwether.outbox;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the shards of one relay read of the table, once for all of them: the first that comes to a place reads it, the
 * others take what it has read. Thread-safe.
 */
final class SharedReads {
    /*
     * A page is a snapshot's rows behind an id, of all shards that are led here. What a shard takes from it is as good
     * as if it had read it itself, for these reasons:
     *
     * - It looks into its gaps after the page was read, so by a snapshot that is not older: of each row of the page,
     *   the predecessors that lie behind the cursor are in that look, or were seen; those before it in the page come
     *   first.
     * - Ids that are missing in the page become gaps when it is taken, which is later; those who may still commit them
     *   are looked for after that, as always.
     * - It takes only pages that were begun after its epoch was raised: from then on nobody else deletes its rows, so
     *   what lies beyond its cursor is still there.
     */
    private static final int MOST_PAGES = 32; // a shard that falls behind further reads by itself
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final long mostBytes;
    private final LongSupplier nanoTime;
    private final Set<Integer> shards = ConcurrentHashMap.newKeySet();
    private final Deque<Page> pages = new ArrayDeque<>();
    private final List<Loading> loading = new ArrayList<>();

    SharedReads(long mostBytes, LongSupplier nanoTime) {
        this.mostBytes = mostBytes;
        this.nanoTime = nanoTime;
    }

    /** Reads rows behind an id. */
    interface Reader {
        Store.Divided read(Set<Integer> shards) throws SQLException;
    }

    /**
     * Rows behind an id, in their order.
     *
     * @param beganNanos when they were asked for
     * @param shards whose rows are complete; of others only the ids are known
     * @param weight about how many bytes it takes
     */
    record Page(long after, long beganNanos, Set<Integer> shards, Store.Divided rows, long weight) {
        long last() {
            return rows.rows().isEmpty()
                    ? after
                    : rows.rows().get(rows.rows().size() - 1).id();
        }
    }

    /** A page that is being read; guarded by this. */
    private static final class Loading {
        private final long after;
        private final long beganNanos;
        private final Set<Integer> shards;
        private boolean over;
        private @Nullable Page page;

        Loading(long after, long beganNanos, Set<Integer> shards) {
            this.after = after;
            this.beganNanos = beganNanos;
            this.shards = shards;
        }
    }

    /** This shard reads from now on. */
    void join(int shard) {
        shards.add(shard);
    }

    void leave(int shard) {
        shards.remove(shard);
    }

    /** Returns whether there is anybody to share with. */
    boolean isShared() {
        return shards.size() > 1;
    }

    /**
     * Returns rows behind an id: of a page that somebody has read, or is reading, or of one that is read now.
     *
     * @param sinceNanos pages that were begun before this are not for this shard
     */
    Page read(int shard, long after, long sinceNanos, Reader reader) throws SQLException {
        Loading mine;
        synchronized (this) {
            var found = found(shard, after, sinceNanos);
            if (found.isPresent()) {
                return found.get();
            }
            var others = awaited(aboutToBeRead(shard, after, sinceNanos));
            if (others != null) {
                return others;
            }
            var all = new TreeSet<>(shards);
            all.add(shard);
            mine = new Loading(after, nanoTime.getAsLong(), Set.copyOf(all));
            loading.add(mine);
        }
        Page page = null;
        try {
            var rows = reader.read(mine.shards);
            page = new Page(after, mine.beganNanos, mine.shards, rows, Row.weight(rows.rows()));
            return page;
        } finally {
            loaded(mine, page);
        }
    }

    /** Returns what it has become, be it empty; null if there is none, or if it failed. */
    private synchronized @Nullable Page awaited(Optional<Loading> other) {
        if (other.isEmpty()) {
            return null;
        }
        try {
            while (!other.get().over) {
                wait();
            }
            return other.get().page;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null; // whoever interrupts ends the session, too
        }
    }

    private synchronized void loaded(Loading mine, @Nullable Page page) {
        loading.remove(mine);
        mine.over = true;
        mine.page = page;
        if (page != null && page.last() > page.after()) {
            pages.addFirst(page);
        }
        var weight = 0L;
        var kept = 0;
        for (var each = pages.iterator(); each.hasNext(); ) {
            weight += each.next().weight();
            if (++kept > 1 && (kept > MOST_PAGES || weight > mostBytes)) {
                each.remove();
            }
        }
        notifyAll();
    }

    private Optional<Page> found(int shard, long after, long sinceNanos) {
        var now = nanoTime.getAsLong();
        return pages.stream()
                .filter(page -> page.after() <= after
                        && after < page.last()
                        && page.shards().contains(shard)
                        && page.beganNanos() - sinceNanos > 0
                        && now - page.beganNanos() < FRESH_NANOS)
                .findFirst();
    }

    /** Only from the same place: elsewhere it may bring nothing that is beyond ours. */
    private Optional<Loading> aboutToBeRead(int shard, long after, long sinceNanos) {
        return loading.stream()
                .filter(other ->
                        other.after == after && other.shards.contains(shard) && other.beganNanos - sinceNanos > 0)
                .findFirst();
    }
}
