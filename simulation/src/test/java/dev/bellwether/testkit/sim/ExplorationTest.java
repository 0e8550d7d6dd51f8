package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The machines of core under every history of so many steps, where the simulator draws some longer ones.
 */
@Tag("specification")
class ExplorationTest {
    static IntStream parts() {
        return IntStream.range(0, ExplorationRun.PARTS.size());
    }

    @ParameterizedTest
    @MethodSource("parts")
    void noHistoryMakesTwoLeaders(int number) {
        var part = ExplorationRun.PARTS.get(number);
        var began = ExplorationRun.cpuNanos();
        var result = new Exploration(part.worlds(), part.depth(), Long.MAX_VALUE).run();
        System.out.printf(
                Locale.ROOT,
                "explored: %s: %s, %.1f s of CPU%n",
                part.name(),
                result,
                (ExplorationRun.cpuNanos() - began) / 1e9);
        assertThat(result.found()).as(part.name()).isEmpty();
        assertThat(result.depth()).as("steps of which all was tried").isEqualTo(part.depth());
        assertThat(result.mandates()).as("mandates in one history").isPositive();
    }

    @Test
    void theSameChoicesLeadToTheSameState() {
        for (var part : ExplorationRun.PARTS) {
            assertThat(firstChoices(part, 12)).isEqualTo(firstChoices(part, 12));
        }
    }

    private static String firstChoices(ExplorationRun.Part part, int steps) {
        var world = part.worlds().get();
        for (var i = 0; i < steps; i++) {
            var possible = world.steps();
            world.take(possible.get(i * 7 % possible.size()));
        }
        return world.state();
    }
}
