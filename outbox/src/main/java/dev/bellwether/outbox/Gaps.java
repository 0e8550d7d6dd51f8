package dev.bellwether.outbox;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The ids at or below the cursor that were never seen: each belongs to a transaction that has not committed, or never
 * will. Confined to the reader.
 *
 * <p>A gap is closed by proof, not by age. Anybody who drew its id had drawn it when we noticed the gap, and holds a
 * lock until its transaction ends. So the holders of that lock are noted after the gap was noticed; when none of them
 * is left, the gap's row is visible or will never be, and the next read is the last that has to look for it.
 */
final class Gaps {
    /*
     * Where nobody tells who holds locks, gaps are never closed, only made coarser: they save work, no more, and order
     * depends on late and new rows being of one snapshot. A coarser gap holds ids that were seen and are gone; never
     * one of our shard that was seen and may still be there, which the reads would find again and again. Rows of other
     * shards are not looked for.
     */
    private final int most;
    private final int fewer;
    private int kept;

    /** Gaps that were noticed between two looks at the holders, or are as good as if they had been. */
    private static final class Generation {
        private @Nullable Set<String> holders; // null until the first look after the gaps were noticed
        private boolean over;
    }

    private record Gap(long to, Generation noticed) {}

    private final TreeMap<Long, Gap> gaps = new TreeMap<>();
    private List<Generation> generations = new ArrayList<>();
    private Generation open = new Generation();

    /**
     * Holds about so many at a time.
     *
     * @param most how many there may be before they are made coarser
     * @param fewer how many are left then, if nothing that was seen lies between them
     */
    Gaps(int most, int fewer) {
        this.most = most;
        this.fewer = fewer;
    }

    boolean isEmpty() {
        return gaps.isEmpty();
    }

    int size() {
        return gaps.size();
    }

    /** Returns the lowest id that may still come, or what is given. */
    long least(long otherwise) {
        return gaps.isEmpty() ? otherwise : gaps.firstKey();
    }

    /** Returns the first ids of the gaps. */
    long[] from() {
        return gaps.keySet().stream().mapToLong(Long::longValue).toArray();
    }

    /** Returns the last ids of the gaps. */
    long[] to() {
        return gaps.values().stream().mapToLong(Gap::to).toArray();
    }

    /** These ids, and those between them, were not there. */
    void noticed(long from, long to) {
        if (from <= to) {
            gaps.put(from, new Gap(to, open));
        }
    }

    boolean contains(long id) {
        var below = gaps.floorEntry(id);
        return below != null && id <= below.getValue().to();
    }

    /** This id has come. */
    void filled(long id) {
        var below = gaps.floorEntry(id);
        if (below == null || below.getValue().to() < id) {
            return;
        }
        var gap = below.getValue();
        gaps.remove(below.getKey());
        if (below.getKey() < id) {
            gaps.put(below.getKey(), new Gap(id - 1, gap.noticed()));
        }
        if (id < gap.to()) {
            gaps.put(id + 1, new Gap(gap.to(), gap.noticed()));
        }
    }

    /** Tells who holds the lock now, asked after all that was noticed so far. */
    void holders(OpenWriters.Holders now) {
        var referred = referred();
        generations.removeIf(generation -> !referred.contains(generation));
        if (referred.contains(open)) {
            generations.add(open);
            open = new Generation();
        }
        for (var generation : generations) {
            if (generation.holders == null) {
                generation.holders = new HashSet<>(now.names());
            } else {
                generation.holders.retainAll(now.names());
            }
            generation.over = generation.holders.isEmpty() && !now.prepared();
        }
    }

    /** Returns the generations that a read which begins now is the last to look for. */
    List<Object> closing() {
        return new ArrayList<>(generations.stream().filter(g -> g.over).toList());
    }

    /** That read has ended. */
    void closed(List<Object> over) {
        if (over.isEmpty()) {
            return;
        }
        var ended = new HashSet<>(over);
        gaps.values().removeIf(gap -> ended.contains(gap.noticed()));
        generations = new ArrayList<>(
                generations.stream().filter(g -> !ended.contains(g)).toList());
    }

    /**
     * Makes them fewer if they are many: those nearest to each other become one.
     *
     * @param known the ids that were seen and may still be there
     */
    void coarsen(LongSet known) {
        if (gaps.size() <= Math.max(most, 2 * kept)) {
            return;
        }
        var seen = known.sorted();
        var distances = new ArrayList<Long>();
        Long before = null;
        for (var entry : gaps.entrySet()) {
            if (before != null && isFree(seen, before, entry.getKey())) {
                distances.add(entry.getKey() - before);
            }
            before = entry.getValue().to();
        }
        var surplus = Math.min(gaps.size() - fewer, distances.size());
        if (surplus > 0) {
            distances.sort(null);
            merge(seen, distances.get(surplus - 1), surplus);
        }
        kept = gaps.size();
    }

    private void merge(long[] seen, long farthest, int surplus) {
        var left = surplus;
        var merged = new ArrayList<java.util.Map.Entry<Long, Gap>>();
        for (var entry : gaps.entrySet()) {
            var last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
            if (last != null
                    && left > 0
                    && entry.getKey() - last.getValue().to() <= farthest
                    && isFree(seen, last.getValue().to(), entry.getKey())) {
                var both = new Gap(
                        entry.getValue().to(),
                        both(last.getValue().noticed(), entry.getValue().noticed()));
                merged.set(merged.size() - 1, java.util.Map.entry(last.getKey(), both));
                left--;
            } else {
                merged.add(java.util.Map.entry(entry.getKey(), entry.getValue()));
            }
        }
        gaps.clear();
        merged.forEach(entry -> gaps.put(entry.getKey(), entry.getValue()));
        var referred = referred();
        generations.removeIf(generation -> !referred.contains(generation));
    }

    /** Returns the generations of gaps that are there: a writer that stays open for hours keeps no others. */
    private Set<Generation> referred() {
        var referred = new HashSet<Generation>();
        Generation last = null;
        for (var gap : gaps.values()) {
            if (gap.noticed() != last) {
                last = gap.noticed();
                referred.add(last);
            }
        }
        return referred;
    }

    /** Returns a generation that is over when both are: it waits for all that one of them waits for. */
    private Generation both(Generation one, Generation other) {
        if (one == other) {
            return one;
        }
        if (one.holders == null || other.holders == null) {
            return open;
        }
        var both = new Generation();
        both.holders = new HashSet<>(one.holders);
        both.holders.addAll(other.holders);
        both.over = one.over && other.over;
        generations.add(both);
        return both;
    }

    private static boolean isFree(long[] seen, long after, long before) {
        var at = Arrays.binarySearch(seen, after);
        var next = at < 0 ? -at - 1 : at + 1;
        return next >= seen.length || seen[next] >= before;
    }
}
