package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.Finding.Term;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class FindingTest {
    @Test
    void sumNamesItsTerms() {
        var crash = Finding.atMost(
                "crash", new Term("lease", Duration.ofSeconds(2)), new Term("tick", Duration.ofMillis(100)));

        assertThat(crash.sum()).isEqualTo(Duration.ofMillis(2_100));
        assertThat(crash.says()).isEqualTo("vacant for 2100 ms at most, and a round trip: lease 2000 ms + tick 100 ms");
        assertThat(crash.level()).isEqualTo(Finding.Level.OK);
    }

    @Test
    void aCrashAndAFreezeLastAsLongAndAHandOverHasASumOfItsOwn() {
        var config = CandidacyConfig.defaults();
        var crash = config.lease().plusSeconds(1); // an interval between two retries, of 0.83 s, and a fifth of it

        assertThat(Finding.vacancies(config))
                .extracting(Finding::about, Finding::sum)
                .containsExactly(
                        tuple("crash", crash), tuple("freeze", crash), tuple("hand-over", config.standDownBudget()));
        assertThat(Finding.vacancies(
                        List.of(new Term("session", Duration.ofSeconds(4)), new Term("tick", Duration.ofMillis(100))),
                        List.of(Term.standDown(config), new Term("poll", Duration.ofMillis(20)))))
                .extracting(Finding::about, Finding::sum)
                .containsExactly(
                        tuple("crash", Duration.ofMillis(4_100)),
                        tuple("freeze", Duration.ofMillis(4_100)),
                        tuple("hand-over", config.standDownBudget().plusMillis(20)));
    }

    @Test
    void troubleWithoutARemedyIsRefusedAndSoIsARemedyWithoutTrouble() {
        assertThatThrownBy(() -> Finding.warning("clock", "it is odd", ""))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Finding(Finding.Level.OK, "clock", "it is right", "mend it", List.of()))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
