package dev.bellwether.cli.page;

/**
 * The time on the axis of a page, in milliseconds: that of the day when it was made, and what has passed since, so that
 * it never jumps. Immutable.
 */
public final class PageClock {
    private final double startedMillis = System.currentTimeMillis();
    private final long startedNanos = System.nanoTime();

    /** Returns when it was made. */
    public double began() {
        return startedMillis;
    }

    /** Returns what the time is now. */
    public double now() {
        return startedMillis + (System.nanoTime() - startedNanos) / 1e6;
    }
}
