package dev.bellwether.internal.loop;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Interrupts;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * The end of what stands for a seat or is a member of a roster, and the wait for it, or for what may come before. It
 * comes only after every listener and task has returned. Thread-safe.
 */
public final class Ending {
    private final Object what;
    private final Logger log;
    private final Duration bound;
    private final BooleanSupplier runsHere;
    private final Supplier<@Nullable ElectionException> failure;
    private final CountDownLatch over = new CountDownLatch(1);
    /** Guards nothing but the wait of {@link #await}. */
    private final Object turned = new Object();

    /**
     * Makes one that is still to come.
     *
     * @param what whose end it is, for messages
     * @param bound the longest wait of one who closes it
     * @param runsHere whether the caller is a listener or task of it, which would wait for itself
     * @param failure why it has ended, or is ending; null as long as it has not failed
     */
    public Ending(
            Object what,
            Logger log,
            Duration bound,
            BooleanSupplier runsHere,
            Supplier<@Nullable ElectionException> failure) {
        this.what = what;
        this.log = log;
        this.bound = bound;
        this.runsHere = runsHere;
        this.failure = failure;
    }

    /** It has come. */
    public void come() {
        over.countDown();
        turned();
    }

    public boolean hasCome() {
        return over.getCount() == 0;
    }

    /** Something has changed: all who {@link #await} look again. */
    public void turned() {
        synchronized (turned) {
            turned.notifyAll();
        }
    }

    /**
     * Waits until this is there, and returns it; empty if the time is over, or the end has come.
     *
     * @throws ElectionException if it has failed, so that no waiting would help
     */
    public <T> Optional<T> await(Duration timeout, Supplier<Optional<T>> wanted) throws InterruptedException {
        var deadline =
                System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout); // at most 292 years, compared by subtraction
        synchronized (turned) {
            for (var found = wanted.get(); ; found = wanted.get()) {
                var left = deadline - System.nanoTime();
                if (found.isEmpty()) {
                    throwFailure();
                }
                if (found.isPresent() || left <= 0 || hasCome()) {
                    return found;
                }
                TimeUnit.NANOSECONDS.timedWait(turned, Math.max(left, 1_000_000));
            }
        }
    }

    /** Throws what it has failed of, if it has. */
    public void throwFailure() {
        var failed = failure.get();
        if (failed != null) {
            throw Retold.of(what + " has failed", failed);
        }
    }

    /** Waits until it has come, and throws what it has failed of, if it has. */
    public void awaitClose() throws InterruptedException {
        if (runsHere.getAsBoolean()) {
            throw new IllegalStateException("awaitClose was called from a listener or task of " + what
                    + ", which ends only after that has returned: call resign() or close() there");
        }
        over.await();
        throwFailure();
    }

    /** Waits as one who closes it, unless the caller would wait for itself. */
    public void awaitClosed() {
        if (!runsHere.getAsBoolean()) {
            awaitClosed(System.nanoTime());
        }
    }

    /**
     * Waits as long as one who closes it, counted from the given reading of {@link System#nanoTime}. Waits on although
     * the thread is interrupted, and it stays interrupted: a thread that is interrupted and closes may be the last of
     * its process, which must not leave a seat behind.
     */
    public void awaitClosed(long sinceNanos) {
        if (!Interrupts.await(over, sinceNanos + bound.toNanos())) {
            Quietly.run(() -> log.warn(
                    "{} did not end within {}: its work still runs, or the infrastructure does not answer; the lease"
                            + " runs out by itself",
                    what,
                    Durations.show(bound)));
        }
    }
}
