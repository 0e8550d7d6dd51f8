package dev.bellwether.internal.loop;

import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Interrupts;
import org.slf4j.Logger;

/** What is said of a step that fails when its mandate has ended. Thread-safe: it holds nothing. */
public final class TaskEnd {
    private TaskEnd() {}

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
