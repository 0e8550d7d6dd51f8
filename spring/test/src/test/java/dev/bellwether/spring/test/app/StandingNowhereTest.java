package dev.bellwether.spring.test.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spring.Candidacies;
import dev.bellwether.spring.test.BellwetherTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.TestPropertySource;

/** A test of an application that stands in no election: it ends as any other. */
@BellwetherTest
@Import(Ledger.class)
@TestPropertySource(properties = "bellwether.enabled=false")
class StandingNowhereTest {
    @Test
    void thereAreNoCandidacies(@Autowired ApplicationContext context) {
        assertThat(context.getBeanProvider(Candidacies.class).getIfAvailable()).isNull();
    }
}
