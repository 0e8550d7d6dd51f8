package dev.bellwether.outbox;

import java.util.Arrays;

/**
 * Ids that follow each other without a gap, as their firsts and lasts. Immutable.
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares them or writes into them
record Runs(long[] from, long[] to) {
    /** No run has more ids, so that a search for those of a range knows how far to look. */
    static final int LONGEST = 16_384;

    /** Returns those of sorted ids, none of which reaches into two turns. */
    static Runs of(long[] ids, Ring ring) {
        var from = new long[ids.length];
        var to = new long[ids.length];
        var count = 0;
        for (var id : ids) {
            if (count > 0
                    && id == to[count - 1] + 1
                    && ring.turn(id) == ring.turn(to[count - 1])
                    && id - from[count - 1] < LONGEST) {
                to[count - 1] = id;
            } else {
                from[count] = id;
                to[count++] = id;
            }
        }
        return new Runs(Arrays.copyOf(from, count), Arrays.copyOf(to, count));
    }
}
