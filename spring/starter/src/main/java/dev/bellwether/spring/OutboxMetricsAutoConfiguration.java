package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxMeters;
import dev.bellwether.outbox.OutboxRelay;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Meters of the application's relay. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnClass(name = {"io.micrometer.core.instrument.binder.MeterBinder", "dev.bellwether.outbox.OutboxRelay"})
@ConditionalOnBean(type = {"dev.bellwether.outbox.OutboxRelay", "dev.bellwether.spring.OutboxProperties"})
public class OutboxMetricsAutoConfiguration {
    @Bean
    MeterBinder bellwetherOutboxMeters(OutboxRelay relay) {
        return new OutboxMeters(relay);
    }
}
