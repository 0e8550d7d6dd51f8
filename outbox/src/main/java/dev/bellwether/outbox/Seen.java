package dev.bellwether.outbox;

import java.util.Arrays;
import java.util.List;

/**
 * The ids that a page had, as runs without a hole. Immutable.
 *
 * @param from the first of each run
 * @param to the last of each run
 */
@SuppressWarnings("ArrayRecordComponent") // nobody compares them or writes into them
record Seen(long beganNanos, long[] from, long[] to) {
    static Seen of(SharedReads.Page page) {
        var rows = page.rows().rows();
        var from = new long[rows.size()];
        var to = new long[rows.size()];
        var runs = 0;
        for (var row : rows) {
            if (runs > 0 && to[runs - 1] == row.id() - 1) {
                to[runs - 1] = row.id();
            } else {
                from[runs] = row.id();
                to[runs++] = row.id();
            }
        }
        return new Seen(page.beganNanos(), Arrays.copyOf(from, runs), Arrays.copyOf(to, runs));
    }

    long first() {
        return from[0];
    }

    long last() {
        return to[to.length - 1];
    }

    /** Returns the last id of the run that has this one; less than it if none has. */
    private long runAt(long id) {
        var at = Arrays.binarySearch(from, id);
        var run = at >= 0 ? at : -at - 2;
        return run >= 0 && to[run] >= id ? to[run] : id - 1;
    }

    /** Returns the first id above this one that was seen; {@link Long#MAX_VALUE} if there is none. */
    private long nextAfter(long id) {
        var at = Arrays.binarySearch(from, id);
        var run = at >= 0 ? at : -at - 1;
        return run < from.length ? from[run] : Long.MAX_VALUE;
    }

    /** Somebody who is told of ranges. */
    interface Holes {
        void hole(long from, long to);
    }

    /** Tells which ids of a range none of these pages had. */
    static void holes(List<Seen> pages, long from, long to, Holes holes) {
        var at = from;
        while (at <= to) {
            var end = at - 1;
            var next = Long.MAX_VALUE;
            for (var page : pages) {
                end = Math.max(end, page.runAt(at));
                next = Math.min(next, page.nextAfter(at));
            }
            if (end >= at) {
                at = end + 1;
            } else {
                var last = Math.min(to, next - 1);
                holes.hole(at, last);
                at = last + 1;
            }
        }
    }
}
