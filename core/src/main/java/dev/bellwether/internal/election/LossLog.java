package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Says in the log how mandates end: as a warning where nobody wanted that. Counts the work that did not end in time.
 * Confined to the loop.
 */
public final class LossLog {
    private final Logger log;
    private final Metrics metrics;
    private @Nullable Object revoked; // the mandate whose end was told last, in order

    public LossLog(Logger log, Metrics metrics) {
        this.log = log;
        this.metrics = metrics;
    }

    /** A mandate has ended; the detail is empty where it ended in order. */
    public void ended(Object who, String what, LocalMandate mandate, Cause cause, Duration held, String detail) {
        Quietly.run(() -> {
            var line = "%s leads%s no more: %s%s, token %d, held for %s"
                    .formatted(
                            who,
                            what,
                            cause,
                            detail.isEmpty() ? "" : " (" + detail + ")",
                            mandate.token(),
                            Durations.show(held));
            if (cause.isLoss()) {
                log.warn("{}", line);
            } else {
                log.info("{}", line);
            }
        });
    }

    /** An orderly end may turn into a loss: the work was not ready in time, or the seat was taken away meanwhile. */
    public void turned(Object who, LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Revoked ending) {
            revoked = ending.mandate();
        } else if (event instanceof LeadershipEvent.Fenced fenced
                && fenced.mandate().equals(revoked)) {
            var mandate = fenced.mandate();
            metrics.overran(mandate.election(), mandate.candidate(), mandate.token());
            Quietly.run(() -> log.warn(
                    "the work of {} under token {} did not end in time after {}: it is interrupted, and another may"
                            + " lead now",
                    who,
                    mandate.token(),
                    fenced.cause()));
        }
    }
}
