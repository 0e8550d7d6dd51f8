package dev.bellwether.internal;

/**
 * Runs what must change nothing if it fails: a line of a log, a record of the flight recorder. Thread-safe: it holds
 * nothing.
 */
final class Quietly {
    private Quietly() {}

    static void run(Runnable told) {
        try {
            told.run();
        } catch (Throwable e) { // a log that is full must cost nobody the leadership; and where would we say so?
            return;
        }
    }
}
