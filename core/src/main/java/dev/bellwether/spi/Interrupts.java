package dev.bellwether.spi;

import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Tells what an interrupt has caused from other failures, and waits in spite of one. Thread-safe: it holds nothing. */
public final class Interrupts {
    private Interrupts() {}

    /** Returns whether this failure, or one that lies behind it, is what an interrupted thread is told. */
    public static boolean caused(Throwable failure) {
        return Causes.of(failure).stream()
                .anyMatch(one -> one instanceof InterruptedException
                        || one instanceof InterruptedIOException
                        || one instanceof ClosedByInterruptException);
    }

    /**
     * Waits until the latch is open, or until this time of {@link System#nanoTime}; returns whether it is open. Waits
     * on a thread that is interrupted, too, which stays interrupted.
     */
    public static boolean await(CountDownLatch latch, long untilNanos) {
        var interrupted = false;
        try {
            while (true) {
                try {
                    return latch.await(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
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
