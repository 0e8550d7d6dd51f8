package dev.bellwether.spring.test.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.spring.Candidacies;
import dev.bellwether.spring.test.AutoConfigureControlledElections;
import dev.bellwether.testkit.ControlledElections;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;

/** An application that makes its elections itself, in a test that controls them. */
@SpringBootTest(
        classes = ControlledTest.OfItsOwn.class,
        properties = "bellwether.elections.billing.lease=10s",
        webEnvironment = SpringBootTest.WebEnvironment.NONE)
@AutoConfigureControlledElections
class ControlledTest {
    @Autowired
    private ControlledElections controlled;

    @Autowired
    private Candidacies candidacies;

    @Test
    void ourElectionsComeInPlaceOfItsOwn() {
        assertThat(candidacies.isLeader("billing")).isFalse();
        controlled.election("billing").acquire();
        assertThat(candidacies.isLeader("billing")).isTrue();
    }

    @EnableAutoConfiguration
    static class OfItsOwn {
        @Bean
        Elections elections() {
            return Elections.connect("memory:" + UUID.randomUUID());
        }
    }
}
