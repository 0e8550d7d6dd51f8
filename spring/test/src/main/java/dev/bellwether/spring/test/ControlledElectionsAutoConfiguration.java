package dev.bellwether.spring.test;

import dev.bellwether.Elections;
import dev.bellwether.spring.BellwetherAutoConfiguration;
import dev.bellwether.testkit.ControlledElections;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** Elections that the test controls. */
@AutoConfiguration(before = BellwetherAutoConfiguration.class)
public class ControlledElectionsAutoConfiguration {
    @Bean
    ControlledElections controlledElections() {
        return new ControlledElections();
    }

    @Bean
    @Primary
    Elections bellwetherControlledElections(ControlledElections controlled) {
        return controlled.elections();
    }
}
