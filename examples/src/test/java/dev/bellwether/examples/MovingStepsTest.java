package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class MovingStepsTest {
    @Test
    void tokensRiseOverTheMove() throws InterruptedException {
        var old = "memory:" + UUID.randomUUID();
        var next = "memory:" + UUID.randomUUID();
        for (var i = 0; i < 10; i++) {
            try (var elections = Elections.connect(old);
                    var candidacy = elections.stand("billing")) {
                assertThat(candidacy.await(Duration.ofSeconds(30))).isPresent();
            }
        }
        assertThat(MovingSteps.move(old, next)).containsExactly(11L, 12L, 13L);
    }
}
