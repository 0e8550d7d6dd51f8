package dev.bellwether.cli.outbox;

import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.Bounded;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Asks one question at a time, again and again. One that nobody waits for any more may still be out, with a connection
 * of its own: nothing new is asked until it has ended. Thread-safe.
 */
final class OneQuestion {
    private final Bounded bounded;
    private final Semaphore free = new Semaphore(1);

    OneQuestion(Bounded bounded) {
        this.bounded = bounded;
    }

    /**
     * Returns the answer.
     *
     * @throws UnavailableException if there is none in time, or if the last question has not ended by then
     */
    <T> T ask(Callable<T> question) throws Exception {
        if (!free.tryAcquire(bounded.timeout().toNanos(), TimeUnit.NANOSECONDS)) {
            throw new UnavailableException(bounded.late().get());
        }
        var out = new AtomicBoolean(true);
        try {
            return bounded.ask(() -> {
                try {
                    return question.call();
                } finally {
                    ended(out);
                }
            });
        } catch (OutOfMemoryError e) { // no thread, or no memory: the question may never have been asked
            ended(out);
            throw e;
        }
    }

    private void ended(AtomicBoolean out) {
        if (out.getAndSet(false)) {
            free.release();
        }
    }
}
