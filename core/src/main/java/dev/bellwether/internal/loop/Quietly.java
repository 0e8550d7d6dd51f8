package dev.bellwether.internal.loop;

/**
 * Runs what must change nothing if it fails: a line of a log, a record of the flight recorder. Thread-safe: it holds
 * nothing.
 */
public final class Quietly {
    private Quietly() {}

    public static void run(Runnable told) {
        try {
            told.run();
        } catch (Throwable e) { // a log that is full must cost nobody the leadership; and where would we say so?
            return;
        }
    }
}
