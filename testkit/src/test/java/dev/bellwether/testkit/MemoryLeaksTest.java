package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** Many times what the contract does a thousand times on each backend. */
class MemoryLeaksTest {
    private static final int CYCLES = 100_000;
    private static final int AT_ONCE = 100;
    private static final int WARM_UP = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(30));

    @Test
    void aHundredThousandCandidaciesLeaveNothingBehind() {
        try (var elections = Elections.connect("memory:")) {
            for (var i = 0; i < WARM_UP; i++) {
                standAndClose(elections);
            }
            var before = Footprint.take();
            for (var i = 0; i < CYCLES / AT_ONCE; i++) {
                standAndClose(elections);
            }
            before.requireSame(PATIENCE);
            System.out.printf("%,d candidacies: %s before, and %s after%n", CYCLES, before, Footprint.take());
        }
    }

    /** Two for each election, of which one leads, and the other only stands by, or comes after it. */
    private static void standAndClose(Elections elections) {
        var all = new ArrayList<Candidacy>();
        for (var i = 0; i < AT_ONCE; i++) {
            all.add(elections.stand("leak-" + i / 2, CONFIG));
        }
        for (var i = 0; i < AT_ONCE; i += 2) {
            var one = all.get(i);
            var other = all.get(i + 1);
            Eventually.eventually("one of the two leads", PATIENCE, () -> one.isLeader() || other.isLeader());
        }
        all.forEach(Candidacy::resign);
        all.forEach(Candidacy::close);
        assertThat(all).allMatch(candidacy -> candidacy.status().phase() == Phase.CLOSED);
    }
}
