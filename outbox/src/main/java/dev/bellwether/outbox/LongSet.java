package dev.bellwether.outbox;

/** A set of numbers in one array: open addressing, linear probing. Not thread-safe. */
final class LongSet {
    private static final int SMALLEST = 1 << 10;
    private static final long FREE = Long.MIN_VALUE; // no sequence gives this out

    private long[] slots = empty(SMALLEST);
    private int size;

    private static long[] empty(int length) {
        var slots = new long[length];
        java.util.Arrays.fill(slots, FREE);
        return slots;
    }

    int size() {
        return size;
    }

    boolean contains(long value) {
        return slots[find(value)] == value;
    }

    void add(long value) {
        var at = find(value);
        if (slots[at] != value) {
            slots[at] = value;
            if (++size * 2 > slots.length) {
                resize(slots.length * 2);
            }
        }
    }

    void remove(long value) {
        var hole = find(value);
        if (slots[hole] != value) {
            return;
        }
        size--;
        var mask = slots.length - 1;
        // those behind the hole move up, or they would not be found any more
        for (var at = (hole + 1) & mask; slots[at] != FREE; at = (at + 1) & mask) {
            var home = home(slots[at]);
            if (((at - home) & mask) >= ((at - hole) & mask)) {
                slots[hole] = slots[at];
                hole = at;
            }
        }
        slots[hole] = FREE;
        if (slots.length > SMALLEST && size * 8 < slots.length) {
            resize(slots.length / 2);
        }
    }

    /** Returns the least, or what is given if there is none. */
    long least(long otherwise) {
        var least = Long.MAX_VALUE;
        for (var value : slots) {
            if (value != FREE && value < least) {
                least = value;
            }
        }
        return size == 0 ? otherwise : least;
    }

    /** Returns them all, the least first. */
    long[] sorted() {
        var sorted =
                java.util.Arrays.stream(slots).filter(value -> value != FREE).toArray();
        java.util.Arrays.sort(sorted);
        return sorted;
    }

    private int find(long value) {
        var mask = slots.length - 1;
        var at = home(value);
        while (slots[at] != FREE && slots[at] != value) {
            at = (at + 1) & mask;
        }
        return at;
    }

    /** The highest bits, by which numbers that follow each other are spread as evenly as can be. */
    private int home(long value) {
        return (int) ((value * 0x9E3779B97F4A7C15L) >>> (64 - Integer.numberOfTrailingZeros(slots.length)));
    }

    private void resize(int length) {
        var old = slots;
        slots = empty(length);
        for (var value : old) {
            if (value != FREE) {
                slots[find(value)] = value;
            }
        }
    }
}
