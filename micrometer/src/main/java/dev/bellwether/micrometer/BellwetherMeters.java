package dev.bellwether.micrometer;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/**
 * Makes meters of the figures of elections: <code>ElectionsConfig.builder().metrics(new
 * BellwetherMeters(registry))</code>.
 *
 * <p>All meters but {@value #STALLS} and {@value #OUTAGES} carry the tag {@code election}. Those of an election are
 * there, at zero, from the first that is heard of it, whatever the causes and outcomes: a rate can tell the first loss.
 * The candidate is no tag, since it would make new series with each restart; what several candidates of one process do
 * in one election is added up. So is what the partitions of a roster do, whose {@code election} is the roster's name
 * and {@code []}.
 *
 * <p>Thread-safe. One for each registry.
 */
public final class BellwetherMeters implements Metrics {
    /** How many candidates here lead: 0 or 1; of a roster, its partitions that are led here. */
    public static final String LEADING = "bellwether.leading";
    /** The token of the last term here; 0 before the first. */
    public static final String TOKEN = "bellwether.token";
    /** How old the last proof of leadership is; no number while nobody here leads. */
    public static final String PROOF_AGE = "bellwether.proof.age";
    /** Terms begun. */
    public static final String TERMS_BEGUN = "bellwether.terms.begun";
    /** Terms ended, by {@code cause}, and how long they were held. */
    public static final String TERM = "bellwether.term";
    /** Claims and renewals, by {@code outcome}, and how long the answer took. */
    public static final String ATTEMPTS = "bellwether.attempts";
    /** Ends in order whose work was not done when the stand-down budget was used up: another may have led meanwhile. */
    public static final String OVERRUNS = "bellwether.overruns";
    /** Listeners and tasks that threw. */
    public static final String CALLBACK_FAILURES = "bellwether.callback.failures";
    /** How long listeners and tasks waited for a thread. */
    public static final String CALLBACK_DELAY = "bellwether.callback.delay";
    /** How often, and for how long, the process did not run. */
    public static final String STALLS = "bellwether.stalls";

    /** Of how many infrastructures, that this process holds elections on, there is no answer. */
    public static final String OUTAGES = "bellwether.outages";

    private static final Pattern PARTITION = Pattern.compile("\\[([\\w-]+/)?\\d+]$");

    private final MeterRegistry registry;
    private final Map<String, ElectionMeters> elections = new ConcurrentHashMap<>();
    private final Timer stalls;
    private final AtomicInteger outages = new AtomicInteger();

    /** Registers there. */
    public BellwetherMeters(MeterRegistry registry) {
        this.registry = registry;
        stalls = Timer.builder(STALLS)
                .description("How often, and for how long, the process did not run")
                .register(registry);
        Gauge.builder(OUTAGES, outages, AtomicInteger::get)
                .description("Of how many infrastructures there is no answer")
                .strongReference(true)
                .register(registry);
    }

    /**
     * Registers the meters of an election now, at zero. Otherwise they come with the first that is heard of it, which
     * on Kafka is that a candidate of this process leads.
     */
    public void expect(String election) {
        of(election);
    }

    @Override
    public void termBegan(String election, String candidate, long token) {
        of(election).began(key(election, candidate), token);
    }

    @Override
    public void termEnded(String election, String candidate, Cause cause, Duration held) {
        of(election).ended(key(election, candidate), cause, held);
    }

    @Override
    public void overran(String election, String candidate, long token) {
        of(election).overran();
    }

    @Override
    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        of(election).attempted(key(election, candidate), attempt, latency);
    }

    @Override
    public void callbackFailed(String election, String candidate, Throwable failure) {
        of(election).callbackFailed();
    }

    @Override
    public void callbackDelayed(String election, String candidate, Duration queued) {
        of(election).callbackDelayed(queued);
    }

    @Override
    public void stalled(Duration length) {
        stalls.record(length);
    }

    @Override
    public void outageBegan(String what) {
        outages.incrementAndGet();
    }

    @Override
    public void outageEnded(Duration length) {
        outages.decrementAndGet();
    }

    private ElectionMeters of(String election) {
        return elections.computeIfAbsent(
                PARTITION.matcher(election).replaceFirst("[]"), name -> new ElectionMeters(registry, name));
    }

    private static ElectionMeters.Seat key(String election, String candidate) {
        return new ElectionMeters.Seat(election, candidate);
    }
}
