package dev.bellwether.spring;

import dev.bellwether.micrometer.BellwetherMeters;
import dev.bellwether.micrometer.TermObservations;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/** Meters and observations of the elections, where there are registries for them. */
@AutoConfiguration(
        before = BellwetherAutoConfiguration.class,
        afterName = {
            // Spring Boot 3, then 4
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration"
        })
@ConditionalOnClass(name = "io.micrometer.core.instrument.MeterRegistry")
@ConditionalOnProperty(prefix = "bellwether", name = "enabled", matchIfMissing = true)
public class MetricsAutoConfiguration {
    @Bean
    @ConditionalOnBean(MeterRegistry.class)
    @ConditionalOnMissingBean
    BellwetherMeters bellwetherMeters(MeterRegistry registry) {
        return new BellwetherMeters(registry);
    }

    @Bean
    @ConditionalOnBean(BellwetherMeters.class)
    ElectionObserver bellwetherExpectedMeters(BellwetherMeters meters) {
        return meters::expect;
    }

    @Bean
    @ConditionalOnBean(ObservationRegistry.class)
    @ConditionalOnMissingBean
    TermObservations bellwetherTermObservations(ObservationRegistry registry) {
        return new TermObservations(registry);
    }
}
