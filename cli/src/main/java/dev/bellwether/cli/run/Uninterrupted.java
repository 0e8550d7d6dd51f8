package dev.bellwether.cli.run;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits that an interrupt does not cut short. The thread stays interrupted. */
final class Uninterrupted {
    private static final long BETWEEN_LOOKS_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private Uninterrupted() {}

    /** Waits until this time of {@link System#nanoTime}. */
    static void sleepUntil(long deadlineNanos) {
        wait(() -> false, deadlineNanos, Long.MAX_VALUE);
    }

    /** Waits until this is so, or until this time; returns whether it is so. */
    static boolean await(BooleanSupplier condition, long deadlineNanos) {
        return wait(condition, deadlineNanos, BETWEEN_LOOKS_NANOS);
    }

    private static boolean wait(BooleanSupplier condition, long deadlineNanos, long longestNanos) {
        var interrupted = false;
        try {
            while (!condition.getAsBoolean()) {
                var left = deadlineNanos - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                try {
                    TimeUnit.NANOSECONDS.sleep(Math.min(left, longestNanos));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
