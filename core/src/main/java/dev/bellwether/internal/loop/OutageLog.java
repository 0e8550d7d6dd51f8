package dev.bellwether.internal.loop;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Metrics;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Says in the log, once for each outage, that the infrastructure does not answer, and once that it answers again;
 * however many stand here, and whether they lead or wait.
 *
 * <p>Confined to the loop.
 */
public final class OutageLog {
    /*
     * Each of them asks for itself, and of many that ask one may be unlucky: it is no outage if another has been
     * answered since. It is over only when all who were without an answer have one, or ask no more; else each retry of
     * each would be a line. If all who ask no more will ask again, nobody knows whether it is over until one does.
     */
    private final Logger log;
    private final Supplier<String> where;
    private final Metrics metrics;
    private final Set<Object> unanswered = new HashSet<>();
    /** Those without an answer that ask nothing for a while. */
    private final Set<Object> resting = new HashSet<>();

    private long answeredNanos;
    private boolean everAnswered;
    private boolean told;
    private long sinceNanos;

    public OutageLog(Logger log, Supplier<String> where, Metrics metrics) {
        this.log = log;
        this.where = where;
        this.metrics = metrics;
    }

    /** Somebody had an answer, whatever it said. */
    public void answered(Object who, long nowNanos) {
        everAnswered = true;
        answeredNanos = nowNanos;
        unanswered.remove(who);
        resting.remove(who);
        endIfAllAnswered(nowNanos);
    }

    /** Somebody has waited for an answer for so long, and has none; it will ask again after the given time. */
    public void unanswered(Object who, Duration waited, Duration retry, @Nullable Throwable why, long nowNanos) {
        if (why instanceof AccessRefusedException) {
            return; // an answer of sorts, and AccessPatience tells it
        }
        var askedNanos = nowNanos - waited.toNanos();
        if (!told && everAnswered && answeredNanos - askedNanos > 0) {
            return;
        }
        unanswered.add(who);
        resting.remove(who);
        if (!told) {
            told = true;
            sinceNanos = askedNanos;
            var what = "No answer from " + where.get()
                    + (why == null ? " within " + Durations.show(waited) : ": " + reason(why));
            metrics.outageBegan(what);
            Quietly.run(() -> log.warn(
                    "{}. Nobody here can be elected until it answers; a leader here leads until its mandate ends."
                            + " Trying again every {}",
                    what,
                    Durations.show(retry)));
        }
    }

    /** It asks nothing for a while: whether the outage is over, others know. */
    public void rests(Object who, long nowNanos) {
        if (unanswered.remove(who)) {
            resting.add(who);
        }
        if (hasAnsweredSince()) {
            endIfAllAnswered(nowNanos);
        }
    }

    /** It asks no more. */
    public void gone(Object who, long nowNanos) {
        unanswered.remove(who);
        resting.remove(who);
        if (hasAnsweredSince()) {
            endIfAllAnswered(nowNanos);
        } else if (told && unanswered.isEmpty() && resting.isEmpty()) {
            end(nowNanos); // nobody knows, and nobody asks
        }
    }

    /** Returns whether anybody had an answer since the outage began. */
    private boolean hasAnsweredSince() {
        return everAnswered && answeredNanos - sinceNanos > 0;
    }

    private void end(long nowNanos) {
        told = false;
        resting.clear();
        metrics.outageEnded(Duration.ofNanos(nowNanos - sinceNanos));
    }

    private void endIfAllAnswered(long nowNanos) {
        if (told && unanswered.isEmpty()) {
            end(nowNanos);
            Quietly.run(() -> log.info(
                    "{} answers again, after {}",
                    where.get(),
                    Durations.show(Duration.ofNanos(nowNanos - sinceNanos))));
        }
    }

    /** The innermost message says what the matter is; those above say who noticed. */
    private static String reason(Throwable why) {
        var text = why.getMessage() == null ? why.toString() : why.getMessage();
        return text.strip().replaceFirst("[.]+$", "");
    }
}
