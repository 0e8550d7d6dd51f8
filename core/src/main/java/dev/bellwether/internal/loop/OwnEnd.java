package dev.bellwether.internal.loop;

import java.util.concurrent.CountDownLatch;

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
}
