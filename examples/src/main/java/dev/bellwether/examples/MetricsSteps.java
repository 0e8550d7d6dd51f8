package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.micrometer.BellwetherMeters;
import dev.bellwether.micrometer.TermObservations;
import dev.bellwether.outbox.OutboxMeters;
import dev.bellwether.outbox.OutboxRelay;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;

/** The code of the page about metrics. */
final class MetricsSteps {
    private MetricsSteps() {}

    static Elections measured(String uri, MeterRegistry registry, ObservationRegistry observations) {
        // tag::meters
        var meters = new BellwetherMeters(registry);
        meters.expect("billing"); // there from the beginning, at zero
        var config = ElectionsConfig.builder()
                .metrics(Metrics.all(List.of(meters, new TermObservations(observations))))
                .build();
        return Elections.connect(uri, config);
        // end::meters
    }

    static void tagged(MeterRegistry registry) {
        // tag::tags
        registry.config().commonTags("environment", "staging"); // before the first meter is made
        // end::tags
    }

    static void relayMeasured(OutboxRelay relay, MeterRegistry registry) {
        // tag::outbox
        new OutboxMeters(relay).bindTo(registry);
        // end::outbox
    }
}
