package dev.bellwether.spi;

/**
 * The two clocks of a process.
 *
 * <p>Thread-safe. The monotonic one measures; it does not run while the machine is suspended. The wall clock betrays a
 * suspension, by a jump against the other; it decides nothing else.
 */
public interface Clock {
    /** So often both are read, at most, to have them as of one time. */
    int MOST_READINGS = 3;

    /** Returns the monotonic clock, to be compared by subtraction only. */
    long nanos();

    /** Returns the wall clock, in milliseconds of the epoch. */
    long wallMillis();

    /**
     * Reads both, as of one time: if we are held up between the two readings, again, since that would look as if one of
     * them had been set. If we are held up each time, the wall clock's reading is the older one, so that its deadline
     * comes out early rather than late.
     */
    default Moment now() {
        var before = wallMillis();
        for (var readings = 1; ; readings++) {
            var nanos = nanos();
            var after = wallMillis();
            if (Math.abs(after - before) <= 1 || readings == MOST_READINGS) {
                return new Moment(nanos, before);
            }
            before = after;
        }
    }

    /** Returns the clocks of this process. */
    static Clock system() {
        return SystemClock.INSTANCE;
    }
}
