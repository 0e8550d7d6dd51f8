package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.HandOver.Outcome;
import dev.bellwether.Leader;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The code of the page about hand-overs does what the page says. */
class HandOverStepsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Test
    void theSeatPassesWhenTheCachesOfTheSuccessorAreFull() throws InterruptedException {
        var filled = new AtomicInteger();
        try (var elections = Elections.connect("memory:hand-over")) {
            var first = HandOverSteps.stand(elections, "pod-6", () -> {});
            assertThat(first.await(PATIENCE)).isPresent();
            assertThat(HandOverSteps.operator(elections)).isEqualTo("pod-7 does not stand");
            var next = HandOverSteps.stand(elections, "pod-7", () -> {
                assertThat(first.isLeader()).isTrue();
                filled.incrementAndGet();
            });
            next.await(Duration.ofMillis(1)); // it has claimed, and so is listed, when it follows
            while (next.status().following().isEmpty()) {
                Thread.onSpinWait();
            }
            assertThat(HandOverSteps.operator(elections)).isEqualTo("pod-7 leads");
            assertThat(filled).hasValue(1);
            assertThat(next.await(PATIENCE)).isPresent(); // it may hear of its seat a moment later
            HandOverSteps.proclaim(next);
            var left = HandOverSteps.leave(next);
            assertThat(left.outcome()).isIn(Outcome.DONE, Outcome.NOT_A_CANDIDATE, Outcome.NOT_READY);
            assertThat(first.await(PATIENCE)).isPresent();
            assertThat(elections.election("billing").leader().map(Leader::candidate))
                    .contains("pod-6");
        }
    }
}
