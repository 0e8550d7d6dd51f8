package dev.bellwether.micrometer;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import dev.bellwether.spi.Durations;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes an observation of each term, {@value #NAME}: a span, if you trace, that lasts from the grant to the end of the
 * mandate.
 *
 * <p>It carries {@code election} and, when it has ended, {@code cause} as low-cardinality keys, {@code candidate} and
 * {@code token} as high-cardinality ones. It is in no thread's scope, since many threads work under one mandate. A term
 * that was lost, not given up, is marked as an error. Thread-safe.
 */
public final class TermObservations implements Metrics {
    /** The name of the observation. */
    public static final String NAME = "bellwether.mandate";

    private final ObservationRegistry registry;
    private final Map<Term, Observation> running = new ConcurrentHashMap<>();

    private record Term(String election, String candidate) {}

    /** A term that ended without our will. */
    private static final class LostException extends RuntimeException {
        private static final long serialVersionUID = 1;

        private LostException(String message) {
            super(message, null, false, false);
        }
    }

    /** Observes there. */
    public TermObservations(ObservationRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void termBegan(String election, String candidate, long token) {
        var observation = Observation.createNotStarted(NAME, registry)
                .contextualName("lead " + election)
                .lowCardinalityKeyValue("election", election)
                .lowCardinalityKeyValue("cause", "none") // the same keys at all times
                .highCardinalityKeyValue("candidate", candidate)
                .highCardinalityKeyValue("token", Long.toString(token))
                .start();
        running.put(new Term(election, candidate), observation);
    }

    @Override
    public void termEnded(String election, String candidate, Cause cause, Duration held) {
        var observation = running.remove(new Term(election, candidate));
        if (observation == null) {
            return;
        }
        observation.lowCardinalityKeyValue("cause", cause.name().toLowerCase(Locale.ROOT));
        if (cause.isLoss()) {
            observation.error(new LostException(
                    "leadership of \"" + election + "\" was lost after " + Durations.show(held) + ": " + cause));
        }
        observation.stop();
    }
}
