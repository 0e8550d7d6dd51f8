package dev.bellwether.cli;

/**
 * From when to when a candidate of the demo certainly led: from the end of its first look that said so, to the beginning of its last.
 *
 * @param candidate its name
 * @param process its process, by a number that no two have
 * @param firstNanos on the monotonic clock that all processes of a machine share; so is the last
 * @param over whether it leads no more
 */
record Term(String candidate, int process, long token, long firstNanos, long lastNanos, boolean over) {
    /** Tells terms apart. */
    record Key(int process, long token) {}

    Key key() {
        return new Key(process, token);
    }

    Term ended() {
        return over ? this : new Term(candidate, process, token, firstNanos, lastNanos, true);
    }

    /** Returns for how long both led, which must be never. */
    long overlapNanos(Term other) {
        if (process == other.process) {
            return 0;
        }
        var from = later(firstNanos, other.firstNanos);
        var to = lastNanos - other.lastNanos < 0 ? lastNanos : other.lastNanos;
        return Math.max(0, to - from);
    }

    static long later(long one, long other) {
        return one - other > 0 ? one : other;
    }
}
