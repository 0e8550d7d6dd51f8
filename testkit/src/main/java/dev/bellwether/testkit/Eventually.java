package dev.bellwether.testkit;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Waits on conditions, with a limit: what tests do instead of sleeping.
 *
 * <pre>{@code
 * var leader = Eventually.eventually("somebody leads", Duration.ofSeconds(10), billing::leader);
 * }</pre>
 *
 * <p>A condition is looked at about once a millisecond, on the calling thread; less often if a look takes long, and the
 * longer it has been waited for, down to once in five milliseconds: so that many who wait do not keep a server, or this
 * machine, from what they wait for. One that throws {@link UnavailableException} does not hold yet; whatever else it
 * throws ends the wait. It is looked at once at least, and once more when the time is over. Thread-safe: it holds
 * nothing. An interrupt does not end the wait.
 */
public final class Eventually {
    private static final long PAUSE_NANOS = 1_000_000;
    /** A look that takes long, because it asks a server, is followed by a pause of so many times that. */
    private static final int TIMES = 3;

    private static final long LONGEST_PAUSE_NANOS = 30_000_000;

    /** Who has waited for long pauses for one part in so many of that, but briefly: what is waited for may pass. */
    private static final int PATIENT = 50;

    private static final long LONGEST_PATIENT_NANOS = 5_000_000;

    private Eventually() {}

    /**
     * Returns as soon as the condition holds.
     *
     * @throws AssertionError if it does not within the patience: the message says what did not happen
     */
    public static void eventually(String what, Duration patience, BooleanSupplier condition) {
        eventually(what, patience, () -> condition.getAsBoolean() ? Optional.of(true) : Optional.empty());
    }

    /**
     * Returns the value as soon as there is one.
     *
     * @throws AssertionError if there is none within the patience: the message says what did not happen
     */
    public static <T> T eventually(String what, Duration patience, Supplier<Optional<T>> value) {
        var since = System.nanoTime();
        var until = since + patience.toNanos();
        while (true) {
            var began = System.nanoTime();
            var last = began - until >= 0; // looked at once more after the time is up: we may have been held up
            var found = look(value);
            if (found.isPresent()) {
                return found.get();
            }
            if (last) {
                throw new AssertionError("not within " + Durations.show(patience) + ": " + what);
            }
            pauseAfter(System.nanoTime() - began, began - since);
        }
    }

    /**
     * Returns when the time is over. Whatever the condition throws ends the wait.
     *
     * @throws AssertionError as soon as the condition does not hold
     */
    public static void throughout(String what, Duration time, BooleanSupplier condition) {
        var began = System.nanoTime();
        for (var spent = 0L; spent < time.toNanos(); spent = System.nanoTime() - began) {
            if (!condition.getAsBoolean()) {
                throw new AssertionError("after " + spent / 1_000_000 + " ms of " + time + " no longer: " + what);
            }
            pauseAfter(System.nanoTime() - began - spent, spent);
        }
    }

    private static void pauseAfter(long lookNanos, long waitedNanos) {
        var patient = Math.max(PAUSE_NANOS, Math.min(waitedNanos / PATIENT, LONGEST_PATIENT_NANOS));
        LockSupport.parkNanos(Math.min(LONGEST_PAUSE_NANOS, Math.max(patient, TIMES * lookNanos)));
    }

    private static <T> Optional<T> look(Supplier<Optional<T>> value) {
        try {
            return value.get();
        } catch (UnavailableException e) {
            return Optional.empty(); // no answer is not yet an answer
        }
    }
}
