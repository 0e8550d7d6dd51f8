package dev.bellwether.spring;

import dev.bellwether.Elections;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.CompositeHealthContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthContributors;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** Health, as Spring Boot 4 has it. */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnClass(
        name = {
            "org.springframework.boot.health.contributor.HealthIndicator",
            "org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator"
        })
@ConditionalOnBean(Candidacies.class)
public class Health4AutoConfiguration {
    @Bean
    @ConditionalOnEnabledHealthIndicator("bellwether")
    HealthIndicator bellwetherHealthIndicator(Elections elections, Candidacies candidacies) {
        var health = new ElectionsHealth(elections, candidacies);
        return () -> {
            var told = health.look();
            var builder = Health.status(told.status()).withDetails(told.details());
            told.error().ifPresent(builder::withException);
            return builder.build();
        };
    }

    /**
     * Up where this process leads, by election; for a group that routing goes by, whose name, say leader, must be
     * another.
     */
    @Bean
    @ConditionalOnEnabledHealthIndicator("leading")
    CompositeHealthContributor leadingHealthContributor(Elections elections, Candidacies candidacies) {
        return new Leaders(new ElectionsHealth(elections, candidacies));
    }

    private record Leaders(ElectionsHealth health) implements CompositeHealthContributor {
        @Override
        public @Nullable HealthContributor getContributor(String election) {
            return health.leading().containsKey(election) ? indicator(election) : null;
        }

        @Override
        public Stream<HealthContributors.Entry> stream() {
            return health.leading().keySet().stream()
                    .map(election -> new HealthContributors.Entry(election, indicator(election)));
        }

        private HealthContributor indicator(String election) {
            HealthIndicator leads = () -> health.leading().getOrDefault(election, false)
                    ? Health.up().build()
                    : Health.status(ElectionsHealth.STANDBY).build();
            return leads;
        }
    }
}
