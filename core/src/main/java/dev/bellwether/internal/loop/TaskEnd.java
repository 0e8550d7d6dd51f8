package dev.bellwether.internal.loop;

import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Interrupts;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/** What follows the end of a step. Thread-safe: it holds nothing. */
public final class TaskEnd {
    private TaskEnd() {}

    /** Returns when the next step may begin: after the task interval, and if this one threw, after a pause as well. */
    public static long nextNanos(
            long begunNanos, Duration interval, long nowNanos, Duration retry, @Nullable Throwable failure) {
        var due = begunNanos + interval.toNanos();
        var again = nowNanos + retry.toNanos();
        return failure == null || due - again > 0 ? due : again;
    }

    /** A step that stops because its mandate ends has not failed; any other failure may leave something half done. */
    public static void failedLate(
            Logger log, String task, String election, String candidate, Metrics metrics, Throwable failure) {
        if (failure instanceof NotLeaderException || Interrupts.caused(failure)) {
            Quietly.run(() -> log.debug("{} stopped, since its mandate was ending", task, failure));
        } else {
            metrics.callbackFailed(election, candidate, failure);
            Quietly.run(() -> log.warn(
                    "{} failed while its mandate was ending; what it had begun may be half done", task, failure));
        }
    }
}
