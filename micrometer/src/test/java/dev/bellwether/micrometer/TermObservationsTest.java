package dev.bellwether.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Cause;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TermObservationsTest {
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final TermObservations observations = new TermObservations(registry);
    private final List<String> seen = new ArrayList<>();

    @Test
    void aTermIsObservedFromItsGrantToItsEnd() {
        observe();
        observations.termBegan("billing", "one", 7);
        observations.termEnded("billing", "one", Cause.RESIGNED, Duration.ofSeconds(3));
        assertThat(seen)
                .containsExactly(
                        "start lead billing candidate=one token=7 election=billing cause=none",
                        "stop lead billing candidate=one token=7 election=billing cause=resigned");
    }

    @Test
    void aTermThatWasLostIsAnError() {
        observe();
        observations.termBegan("billing", "one", 7);
        observations.termEnded("billing", "one", Cause.PAUSED, Duration.ofSeconds(3));
        assertThat(seen).contains("error leadership of \"billing\" was lost after 3 s: PAUSED");
    }

    @Test
    void aTermThatSomebodyElseTookIsAnErrorAndOneThatMovedIsNone() {
        observe();
        observations.termBegan("billing", "one", 7);
        observations.termEnded("billing", "one", Cause.MOVED, Duration.ofSeconds(3));
        assertThat(seen).noneMatch(line -> line.startsWith("error"));
        observations.termBegan("billing", "one", 8);
        observations.termEnded("billing", "one", Cause.REPLACED, Duration.ofSeconds(3));
        assertThat(seen).contains("error leadership of \"billing\" was lost after 3 s: REPLACED");
    }

    @Test
    void anEndWithoutABeginningIsNoObservation() {
        observe();
        observations.termEnded("billing", "one", Cause.RESIGNED, Duration.ofSeconds(3));
        assertThat(seen).isEmpty();
    }

    @Test
    void itsMeterHasAnotherNameThanOurs() {
        var meters = new SimpleMeterRegistry();
        registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
        observations.termBegan("billing", "one", 7);
        assertThat(meters.get("bellwether.mandate.active").longTaskTimer().activeTasks())
                .isEqualTo(1);
        observations.termEnded("billing", "one", Cause.ENDED, Duration.ofSeconds(3));
        assertThat(meters.get("bellwether.mandate")
                        .tag("cause", "ended")
                        .timer()
                        .count())
                .isEqualTo(1);
    }

    private void observe() {
        registry.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public void onStart(Observation.Context context) {
                seen.add("start " + told(context));
            }

            @Override
            public void onError(Observation.Context context) {
                var error = context.getError();
                seen.add("error " + (error == null ? "none" : error.getMessage()));
            }

            @Override
            public void onStop(Observation.Context context) {
                seen.add("stop " + told(context));
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
    }

    private static String told(Observation.Context context) {
        var told = new StringBuilder(String.valueOf(context.getContextualName()));
        for (var key : List.of("candidate", "token")) {
            told.append(' ').append(key).append('=').append(value(context, key));
        }
        for (var key : List.of("election", "cause")) {
            told.append(' ').append(key).append('=').append(value(context, key));
        }
        return told.toString();
    }

    private static String value(Observation.Context context, String key) {
        for (var pair : context.getAllKeyValues()) {
            if (pair.getKey().equals(key)) {
                return pair.getValue();
            }
        }
        return "";
    }
}
