package dev.bellwether.micrometer;

import dev.bellwether.Cause;
import dev.bellwether.Metrics.Attempt;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The meters of one election, or of all partitions of one roster. Thread-safe. */
final class ElectionMeters {
    private final Clock clock;
    private final Set<Seat> led = ConcurrentHashMap.newKeySet();
    /** Of those that lead: when that was last proven. Reports may be behind those of the end of a term. */
    final Map<Seat, Long> provenNanos = new ConcurrentHashMap<>();
    /** Since when the last claim that was won counts; null before the first. What follows it is the term, if any. */
    private volatile @Nullable Long wonNanos;

    private volatile long token;

    private final Counter begun;
    private final Map<Cause, Timer> terms = new EnumMap<>(Cause.class); // filled once, below
    private final Map<Attempt, Timer> attempts = new EnumMap<>(Attempt.class); // the same
    private final Counter overruns;
    private final Counter failures;
    private final Timer delay;

    /** Who may lead what: an election, or one partition of a roster. */
    record Seat(String election, String candidate) {}

    ElectionMeters(MeterRegistry registry, String election) {
        clock = registry.config().clock();
        Gauge.builder(BellwetherMeters.LEADING, led, Set::size)
                .description("How many candidates of this process lead; of a roster, its partitions that are led here")
                .tag("election", election)
                .strongReference(true)
                .register(registry);
        Gauge.builder(BellwetherMeters.TOKEN, this, meters -> meters.token)
                .description("The token of the last term here")
                .tag("election", election)
                .strongReference(true)
                .register(registry);
        TimeGauge.builder(BellwetherMeters.PROOF_AGE, this, TimeUnit.NANOSECONDS, ElectionMeters::proofAgeNanos)
                .description("How old the last proof of leadership is; no number while nobody here leads")
                .tag("election", election)
                .strongReference(true)
                .register(registry);
        begun = Counter.builder(BellwetherMeters.TERMS_BEGUN)
                .description("Terms begun")
                .tag("election", election)
                .register(registry);
        for (var cause : Cause.values()) {
            terms.put(
                    cause,
                    Timer.builder(BellwetherMeters.TERM)
                            .description("Terms ended, and how long they were held")
                            .tag("election", election)
                            .tag("cause", word(cause))
                            .register(registry));
        }
        for (var attempt : Attempt.values()) {
            attempts.put(
                    attempt,
                    Timer.builder(BellwetherMeters.ATTEMPTS)
                            .description("Claims and renewals, and how long the answer took")
                            .tag("election", election)
                            .tag("outcome", word(attempt))
                            .register(registry));
        }
        overruns = Counter.builder(BellwetherMeters.OVERRUNS)
                .description("Ends in order whose work was not done when the stand-down budget was used up")
                .tag("election", election)
                .register(registry);
        failures = Counter.builder(BellwetherMeters.CALLBACK_FAILURES)
                .description("Listeners and tasks that threw")
                .tag("election", election)
                .register(registry);
        delay = Timer.builder(BellwetherMeters.CALLBACK_DELAY)
                .description("How long listeners and tasks waited for a thread")
                .tag("election", election)
                .register(registry);
    }

    void began(Seat seat, long token) {
        var won = wonNanos;
        if (won != null) { // the members of a roster do not tell their proofs
            provenNanos.put(seat, won);
        }
        led.add(seat);
        this.token = token;
        begun.increment();
    }

    void ended(Seat seat, Cause cause, Duration held) {
        led.remove(seat);
        provenNanos.remove(seat);
        require(terms, cause).record(held);
    }

    void attempted(Seat seat, Attempt attempt, Duration latency) {
        var sentNanos = clock.monotonicTime() - latency.toNanos(); // what is proven counts from then
        if (attempt == Attempt.WON) {
            wonNanos = sentNanos;
        } else if (attempt == Attempt.RENEWED) {
            provenNanos.computeIfPresent(seat, (leads, before) -> sentNanos);
        }
        require(attempts, attempt).record(latency);
    }

    void overran() {
        overruns.increment();
    }

    void callbackFailed() {
        failures.increment();
    }

    void callbackDelayed(Duration queued) {
        delay.record(queued);
    }

    private double proofAgeNanos() {
        var now = clock.monotonicTime();
        return led.stream()
                .map(provenNanos::get)
                .filter(proven -> proven != null)
                .mapToDouble(proven -> now - proven)
                .max()
                .orElse(Double.NaN);
    }

    private static <K> Timer require(Map<K, Timer> timers, K key) {
        var timer = timers.get(key);
        if (timer == null) {
            throw new IllegalStateException("no timer for " + key);
        }
        return timer;
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
