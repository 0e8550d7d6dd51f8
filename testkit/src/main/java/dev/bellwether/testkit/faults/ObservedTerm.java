package dev.bellwether.testkit.faults;

/**
 * From when to when a candidate certainly led: from the end of its first look that said so, to the beginning of its
 * last.
 *
 * @param candidate its name
 * @param process its process, by a number that no two have
 * @param firstNanos on the monotonic clock that all processes of a machine share; so is the last
 * @param over whether it leads no more
 */
public record ObservedTerm(String candidate, int process, long token, long firstNanos, long lastNanos, boolean over) {
    /** Tells terms apart. */
    public record Key(int process, long token) {}

    /** Returns what tells it from all others. */
    public Key key() {
        return new Key(process, token);
    }

    /** Returns the same, over. */
    public ObservedTerm ended() {
        return over ? this : new ObservedTerm(candidate, process, token, firstNanos, lastNanos, true);
    }

    /** Returns the same under another token. */
    ObservedTerm under(long other) {
        return new ObservedTerm(candidate, process, other, firstNanos, lastNanos, over);
    }

    /** Returns for how long both led, which must be never. */
    public long overlapNanos(ObservedTerm other) {
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
