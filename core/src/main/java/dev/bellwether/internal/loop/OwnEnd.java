package dev.bellwether.internal.loop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The wait for an end that comes only after every listener and task has returned. Thread-safe: it holds nothing. */
public final class OwnEnd {
    private OwnEnd() {}

    /**
     * Waits until it is closed.
     *
     * @param runsHere whether the caller is a listener or task of what is to end, which would wait for itself
     */
    public static void await(Object what, boolean runsHere, CountDownLatch closed) throws InterruptedException {
        if (runsHere) {
            throw new IllegalStateException("awaitClose was called from a listener or task of " + what
                    + ", which ends only after that has returned: call resign() or close() there");
        }
        closed.await();
    }

    /**
     * Waits until it is closed, or the reading of {@link System#nanoTime} is reached, and returns whether it is. Waits
     * on although the thread is interrupted, and it stays interrupted: a thread that is interrupted and closes may be
     * the last of its process, which must not leave a seat behind.
     */
    public static boolean awaitUntil(long nanos, CountDownLatch closed) {
        var interrupted = false;
        try {
            while (true) {
                try {
                    return closed.await(nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
