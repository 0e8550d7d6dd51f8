package dev.bellwether.spi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Deals the partitions of a roster out to its members: a pure function, the same for everybody who computes it. */
public final class Balance {
    private Balance() {}

    /**
     * Returns who is to own each partition. Every member gets its share by weight, rounded up or down; of all ways to
     * do that, this is one that moves the fewest partitions. Equal weights therefore differ by one partition at most.
     *
     * @param weights the members and their weights, at least one
     * @param owners who owns each partition now; null for nobody, and a member that is not there counts as nobody
     * @throws IllegalArgumentException if there is no member, or a weight is not positive
     */
    public static String[] assign(Map<String, Integer> weights, @Nullable String[] owners) {
        if (weights.isEmpty() || weights.values().stream().anyMatch(weight -> weight < 1)) {
            throw new IllegalArgumentException("members need positive weights: " + weights);
        }
        var members = new TreeMap<String, Share>();
        var total = weights.values().stream().mapToLong(Integer::longValue).sum();
        weights.forEach((name, weight) -> members.put(name, new Share(name, (long) owners.length * weight, total)));
        for (var partition = 0; partition < owners.length; partition++) {
            var owner = owners[partition];
            if (owner != null && members.containsKey(owner)) {
                members.get(owner).held.add(partition);
            }
        }
        roundUp(members, owners.length);
        var assigned = new String[owners.length];
        for (var share : members.values()) {
            share.kept().forEach(partition -> assigned[partition] = share.name);
        }
        dealOut(members, assigned);
        return assigned;
    }

    /** Finds which members get one more than the whole part of their share: first those that have it already. */
    private static void roundUp(Map<String, Share> members, int partitions) {
        var left = partitions
                - members.values().stream().mapToInt(share -> share.quota).sum();
        members.values().stream()
                .filter(share -> share.remainder > 0)
                .sorted(Comparator.comparing((Share share) -> share.held.size() <= share.quota)
                        .thenComparing(Comparator.comparingLong((Share share) -> share.remainder)
                                .reversed())
                        .thenComparing(share -> share.name))
                .limit(left)
                .forEach(share -> share.quota++);
    }

    /**
     * Deals what is free round and round, so that partitions with one role more, which come first, are spread as well.
     */
    private static void dealOut(Map<String, Share> members, String[] assigned) {
        var wanting = new ArrayList<>(members.values());
        wanting.removeIf(share -> share.wants() <= 0);
        var next = 0;
        for (var partition = 0; partition < assigned.length; partition++) {
            if (assigned[partition] == null) {
                var share = wanting.get(next % wanting.size());
                assigned[partition] = share.name;
                share.given++;
                if (share.wants() <= 0) {
                    wanting.remove(share);
                } else {
                    next++;
                }
                next = wanting.isEmpty() ? 0 : next % wanting.size();
            }
        }
    }

    /** Returns how many partitions have another owner, of those that had one who is still there. */
    public static long moves(Map<String, Integer> weights, @Nullable String[] before, String[] after) {
        return java.util.stream.IntStream.range(0, after.length)
                .filter(i -> before[i] != null && weights.containsKey(before[i]) && !after[i].equals(before[i]))
                .count();
    }

    /** Returns the partitions of one owner, in rising order. */
    public static List<Integer> of(String owner, String[] assigned) {
        return java.util.stream.IntStream.range(0, assigned.length)
                .filter(i -> owner.equals(assigned[i]))
                .boxed()
                .toList();
    }

    private static final class Share {
        private final String name;
        private final long remainder;
        private final List<Integer> held = new ArrayList<>();
        private int quota;
        private int given;

        private Share(String name, long weighted, long total) {
            this.name = name;
            quota = (int) (weighted / total);
            remainder = weighted % total;
        }

        /** What stays: evenly picked from what is held, for the sake of roles that are not spread evenly. */
        private List<Integer> kept() {
            if (held.size() <= quota) {
                return held;
            }
            var picked = new Integer[quota];
            for (var i = 0; i < quota; i++) {
                picked[i] = held.get((int) ((long) i * held.size() / quota));
            }
            return Arrays.asList(picked);
        }

        private int wants() {
            return quota - Math.min(held.size(), quota) - given;
        }
    }
}
