package dev.bellwether.outbox;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The ids at or below the cursor that were never seen: each belongs to a transaction that has not committed, or never will. Confined
 * to the reader.
 *
 * <p>A gap is closed by proof, not by age. Whoever drew its id had drawn it when we noticed the gap, and holds a lock on the sequence
 * until its transaction ends. So the holders of that lock are noted after the gap was noticed; when none of them is left, the
 * gap's row is visible or will never be, and the next read is the last that has to look for it.
 */
final class Gaps {
    private static final int MOST = 2_000;

    /** Gaps that were noticed between two looks at the holders. */
    private static final class Generation {
        private @Nullable Set<String> holders; // null until the first look after the gaps were noticed
        private boolean over;
    }

    private record Gap(long to, Generation noticed) {}

    private final TreeMap<Long, Gap> gaps = new TreeMap<>();
    private List<Generation> generations = new ArrayList<>();
    private Generation open = new Generation();

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
        if (from > to) {
            return;
        }
        gaps.put(from, new Gap(to, open));
        if (gaps.size() > MOST) {
            mergeNearest();
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

    /**
     * Tells who holds the lock of the sequence now, asked after all that was noticed so far.
     *
     * @param prepared whether a prepared transaction is among them: it has lost the name under which it held the lock
     */
    void holders(Set<String> now, boolean prepared) {
        generations.add(open);
        open = new Generation();
        for (var generation : generations) {
            if (generation.holders == null) {
                generation.holders = new HashSet<>(now);
            } else {
                generation.holders.retainAll(now);
            }
            generation.over = generation.holders.isEmpty() && !prepared;
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
        generations = new ArrayList<>(
                generations.stream().filter(g -> !over.contains(g)).toList());
        gaps.values().removeIf(gap -> over.contains(gap.noticed()));
    }

    /** Coarser gaps hold ids that were seen; the reader knows those that are left of them. */
    private void mergeNearest() {
        var merged = new TreeMap<Long, Gap>();
        var iterator = gaps.entrySet().iterator();
        while (iterator.hasNext()) {
            var first = iterator.next();
            if (!iterator.hasNext()) {
                merged.put(first.getKey(), first.getValue());
                break;
            }
            // the younger of the two is over later
            merged.put(first.getKey(), iterator.next().getValue());
        }
        gaps.clear();
        gaps.putAll(merged);
        // ids fall in and out of order of age: what was merged is as young as the youngest
        gaps.replaceAll((from, gap) -> new Gap(gap.to(), open));
    }
}
