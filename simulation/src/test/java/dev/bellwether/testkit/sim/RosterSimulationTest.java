package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterMode;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("seeds")
class RosterSimulationTest {
    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void rostersKeepTheirPromisesWhateverHappens(RosterMode mode) {
        var report = RosterSimulation.of(mode).seeds(3_400).run();
        System.out.println("rosters, " + mode + ": " + report);
        assertThat(report.mandates()).isGreaterThan(report.worlds());
    }

    @Test
    void theSameSeedIsTheSameWorld() {
        for (var mode : RosterMode.values()) {
            for (var seed = 1; seed <= 5; seed++) {
                assertThat(traceOf(mode, seed)).isEqualTo(traceOf(mode, seed)).hasSizeGreaterThan(3);
            }
        }
    }

    private static List<String> traceOf(RosterMode mode, long seed) {
        var world = new RosterWorld(seed, mode, true);
        assertThat(world.run()).isNull();
        return world.trace().lines();
    }
}
