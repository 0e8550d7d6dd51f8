package dev.bellwether.cli.command;

import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks on a thread of its own, and gives up when the time is over, whatever is being waited for: a driver may have a
 * limit for each step, and none for all of them. Thread-safe.
 *
 * @param timeout how long to wait
 * @param late says, once the time is over, what the matter may be
 */
public record Bounded(Duration timeout, Supplier<String> late) {
    /** How long the process waits for what may hang, when everything else is done. */
    private static final Duration FAREWELL = Duration.ofMillis(300);

    /**
     * Returns the answer.
     *
     * @throws UnavailableException if there is none in time
     */
    public <T> T ask(Callable<T> question) throws Exception {
        return await(new Asked<>(question));
    }

    /**
     * Opens something, which is the caller's to close; if it is open too late, it is closed again.
     *
     * @throws UnavailableException if it is not open in time
     */
    public <T extends AutoCloseable> T open(Callable<T> opener) throws Exception {
        var opening = new Asked<T>(opener);
        try {
            return await(opening);
        } catch (UnavailableException | InterruptedException e) {
            opening.whenLate(AutoCloseable::close);
            throw e;
        }
    }

    /** Does what may hang, and does not wait for it any longer than a moment. */
    public static void farewell(Runnable last) {
        var thread = started(last, "bellwether-farewell");
        try {
            TimeUnit.NANOSECONDS.timedJoin(thread, FAREWELL.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private <T> T await(Asked<T> asked) throws Exception {
        started(asked, "bellwether-ask");
        if (!asked.done.await(Math.max(1, timeout.toNanos()), TimeUnit.NANOSECONDS)) {
            throw new UnavailableException(late.get());
        }
        return asked.answer();
    }

    private static Thread started(Runnable work, String name) {
        var thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** What is done with an answer that nobody waits for any more. */
    private interface Late<T> {
        void take(T answer) throws Exception;
    }

    private static final class Asked<T> implements Runnable {
        private final Callable<T> question;
        private final CountDownLatch done = new CountDownLatch(1);
        private @Nullable T answer; // guarded by this
        private @Nullable Throwable error; // guarded by this
        private @Nullable Late<T> late; // guarded by this

        private Asked(Callable<T> question) {
            this.question = question;
        }

        @Override
        public void run() {
            try {
                answered(question.call());
            } catch (Throwable e) {
                synchronized (this) {
                    error = e;
                }
            } finally {
                done.countDown();
            }
        }

        private void answered(T found) throws Exception {
            Late<T> taker;
            synchronized (this) {
                answer = found;
                taker = late;
            }
            if (taker != null) {
                taker.take(found);
            }
        }

        private void whenLate(Late<T> taker) throws Exception {
            T found;
            synchronized (this) {
                late = taker;
                found = answer;
            }
            if (found != null) { // it came just then
                taker.take(found);
            }
        }

        private synchronized T answer() throws Exception {
            if (error instanceof Exception exception) {
                throw exception;
            }
            if (error instanceof Error serious) {
                throw serious;
            }
            if (answer == null) {
                throw new IllegalStateException("no answer was given");
            }
            return answer;
        }
    }
}
