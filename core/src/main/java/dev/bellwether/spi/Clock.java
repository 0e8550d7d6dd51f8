package dev.bellwether.spi;

/**
 * The two clocks of a process.
 *
 * <p>Thread-safe. The monotonic one measures; it does not run while the machine is suspended. The wall clock betrays a
 * suspension, by a jump against the other; it decides nothing else.
 */
public interface Clock {

    /** Returns the monotonic clock, to be compared by subtraction only. */
    long nanos();

    /** Returns the wall clock, in milliseconds of the epoch. */
    long wallMillis();

    /**
     * Reads both, the wall clock first: if we are held up between the two readings, the wall clock's deadline comes out
     * early rather than late.
     */
    default Moment now() {
        var wallMillis = wallMillis();
        return new Moment(nanos(), wallMillis);
    }

    /** Returns the clocks of this process. */
    static Clock system() {
        return SystemClock.INSTANCE;
    }
}
