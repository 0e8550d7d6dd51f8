package dev.bellwether.spring;

import dev.bellwether.Elections;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.CompositeHealthContributor;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthContributor;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.NamedContributor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Health, as Spring Boot 3 has it. */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnClass(
        name = {
            "org.springframework.boot.actuate.health.HealthIndicator",
            "org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator"
        })
@ConditionalOnBean(Candidacies.class)
public class Health3AutoConfiguration {
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
        public Iterator<NamedContributor<HealthContributor>> iterator() {
            return health.leading().keySet().stream()
                    .map(election -> NamedContributor.of(election, indicator(election)))
                    .iterator();
        }

        private HealthContributor indicator(String election) {
            HealthIndicator leads = () -> health.leading().getOrDefault(election, false)
                    ? Health.up().build()
                    : Health.status(ElectionsHealth.STANDBY).build();
            return leads;
        }
    }
}
