package dev.bellwether.spring;

import dev.bellwether.Elections;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** The actuator's endpoint. */
@AutoConfiguration(after = BellwetherAutoConfiguration.class)
@ConditionalOnClass(
        name = "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint")
@ConditionalOnBean(Candidacies.class)
public class EndpointAutoConfiguration {
    @Bean
    @ConditionalOnAvailableEndpoint(BellwetherEndpoint.class)
    BellwetherEndpoint bellwetherEndpoint(Elections elections, Candidacies candidacies) {
        return new BellwetherEndpoint(elections, candidacies);
    }
}
