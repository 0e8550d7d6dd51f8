package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxRelay;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** Health of the application's relay, as Spring Boot 4 has it. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnClass(
        name = {
            "dev.bellwether.outbox.OutboxRelay",
            "org.springframework.boot.health.contributor.HealthIndicator",
            "org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator"
        })
@ConditionalOnBean(
        type = {
            "dev.bellwether.outbox.OutboxRelay",
            "dev.bellwether.spring.OutboxAutoConfiguration$Table" // a relay of your own has no health of ours
        })
public class OutboxHealth4AutoConfiguration {
    @Bean
    @ConditionalOnEnabledHealthIndicator("outbox")
    HealthIndicator outboxHealthIndicator(OutboxRelay relay, RelayTroubles troubles) {
        var health = new OutboxHealth(relay, troubles);
        return () -> {
            var told = health.look();
            return Health.status(told.status()).withDetails(told.details()).build();
        };
    }
}
