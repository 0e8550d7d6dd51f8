package dev.bellwether.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.testkit.Eventually;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class BellwetherMetersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final MockClock clock = new MockClock();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);
    private final BellwetherMeters meters = new BellwetherMeters(registry);

    @Test
    void aRealElectionIsSeenInEveryMeterThatItConcerns() throws Exception {
        var uri = "memory:" + UUID.randomUUID();
        var config = ElectionsConfig.builder().metrics(meters).build();
        try (var elections = Elections.connect(uri, config);
                var candidacy = elections.stand(
                        "billing",
                        CandidacyConfig.builder().listener(event -> {}).build())) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            Eventually.eventually("the gauge shows the leader", PATIENCE, () -> gauge(BellwetherMeters.LEADING) == 1);
            assertThat(gauge(BellwetherMeters.TOKEN)).isEqualTo(1);
            Eventually.eventually(
                    "the listener's wait is counted",
                    PATIENCE,
                    () -> registry.get(BellwetherMeters.CALLBACK_DELAY).timer().count() == 1);
            assertThat(attempts("won")).isEqualTo(1);
        }
        assertThat(gauge(BellwetherMeters.LEADING)).isZero();
        assertThat(registry.get(BellwetherMeters.TERM)
                        .tag("cause", "resigned")
                        .timer()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void aTermIsCountedAsBegunAndAsEndedByItsCause() {
        meters.termBegan("billing", "one", 7);
        assertThat(registry.get(BellwetherMeters.TERMS_BEGUN).counter().count()).isEqualTo(1);
        meters.termEnded("billing", "one", Cause.UNREACHABLE, Duration.ofSeconds(42));
        var lost =
                registry.get(BellwetherMeters.TERM).tag("cause", "unreachable").timer();
        assertThat(lost.totalTime(TimeUnit.SECONDS)).isEqualTo(42);
        assertThat(gauge(BellwetherMeters.TOKEN)).isEqualTo(7);
    }

    @Test
    void theAgeOfAProofCountsFromWhenItWasSent() {
        assertThatProofAge().isNaN();
        meters.attempted("billing", "one", Metrics.Attempt.WON, Duration.ofMillis(300));
        meters.termBegan("billing", "one", 1);
        clock.add(Duration.ofMillis(700));
        assertThatProofAge().isEqualTo(1.0);
        meters.attempted("billing", "one", Metrics.Attempt.MISSED, Duration.ofSeconds(3));
        clock.add(Duration.ofSeconds(3));
        assertThatProofAge().isEqualTo(4.0);
        meters.attempted("billing", "one", Metrics.Attempt.RENEWED, Duration.ZERO);
        assertThatProofAge().isZero();
        meters.termEnded("billing", "one", Cause.RESIGNED, Duration.ofSeconds(4));
        assertThatProofAge().isNaN();
    }

    @Test
    void nothingIsKeptOfCandidatesWhoLeadNoMore() {
        var one = new ElectionMeters(registry, "billing");
        for (var run = 0; run < 100; run++) { // each under an id of its own, as those of locks
            var early = new ElectionMeters.Seat("billing", "early " + run);
            one.attempted(early, Metrics.Attempt.WON, Duration.ZERO);
            one.began(early, run);
            one.ended(early, Cause.RESIGNED, Duration.ZERO);
            one.attempted(early, Metrics.Attempt.RENEWED, Duration.ZERO); // what was on its way
            var aside = new ElectionMeters.Seat("billing", "aside " + run);
            one.attempted(aside, Metrics.Attempt.WON, Duration.ZERO); // and given back
        }
        assertThat(one.provenNanos).isEmpty();
    }

    @Test
    void everyOutcomeAndCauseIsThereAtZeroBeforeItHappens() {
        meters.expect("billing");
        for (var attempt : Metrics.Attempt.values()) {
            assertThat(attempts(attempt.name().toLowerCase(java.util.Locale.ROOT)))
                    .isZero();
        }
        assertThat(registry.find(BellwetherMeters.TERM).timers()).hasSize(Cause.values().length);
        assertThat(gauge(BellwetherMeters.LEADING)).isZero();
    }

    @Test
    void whatThePartitionsOfARosterDoIsAddedUpUnderItsName() {
        meters.termBegan("prices[0]", "one", 5);
        meters.termBegan("prices[b/17]", "one", 6); // of another group
        assertThat(registry.get(BellwetherMeters.LEADING)
                        .tag("election", "prices[]")
                        .gauge()
                        .value())
                .isEqualTo(2);
        meters.termEnded("prices[0]", "one", Cause.MOVED, Duration.ofSeconds(1));
        assertThat(gauge(BellwetherMeters.LEADING)).isEqualTo(1);
        assertThatProofAge().isNaN(); // members tell no attempts
    }

    @Test
    void failuresOverrunsAndStallsAreCounted() {
        meters.callbackFailed("billing", "one", new IllegalStateException("planted"));
        meters.overran("billing", "one", 7);
        meters.callbackDelayed("billing", "one", Duration.ofSeconds(2));
        meters.stalled(Duration.ofSeconds(5));
        assertThat(registry.get(BellwetherMeters.CALLBACK_FAILURES).counter().count())
                .isEqualTo(1);
        assertThat(registry.get(BellwetherMeters.OVERRUNS).counter().count()).isEqualTo(1);
        assertThat(registry.get(BellwetherMeters.CALLBACK_DELAY).timer().max(TimeUnit.SECONDS))
                .isEqualTo(2);
        assertThat(registry.get(BellwetherMeters.STALLS).timer().totalTime(TimeUnit.SECONDS))
                .isEqualTo(5);
    }

    @Test
    void oneThatThrowsKeepsNoOtherFromHearing() {
        Metrics broken = new Metrics() {
            @Override
            public void termBegan(String election, String candidate, long token) {
                throw new IllegalStateException("planted");
            }
        };
        Metrics.all(List.of(broken, meters)).termBegan("billing", "one", 1);
        assertThat(gauge(BellwetherMeters.LEADING)).isEqualTo(1);
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    private long attempts(String outcome) {
        return registry.get(BellwetherMeters.ATTEMPTS)
                .tag("outcome", outcome)
                .timer()
                .count();
    }

    private org.assertj.core.api.AbstractDoubleAssert<?> assertThatProofAge() {
        meters.expect("billing");
        return assertThat(registry.get(BellwetherMeters.PROOF_AGE).timeGauge().value(TimeUnit.SECONDS));
    }
}
