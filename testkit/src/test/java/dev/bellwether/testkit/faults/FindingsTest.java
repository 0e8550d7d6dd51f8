package dev.bellwether.testkit.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FindingsTest {
    private static final long MS = 1_000_000;

    private final Register register = new Register();

    @AfterEach
    void close() {
        register.close();
    }

    private static ObservedTerm term(int process, long token, long first, long last) {
        return new ObservedTerm("c" + process, process, token, first * MS, last * MS, true);
    }

    private Findings findings(List<Chronicle.Deed> deeds, ObservedTerm... terms) {
        return new Findings("here", List.of(terms), List.of(), false, deeds, register, Path.of("history.txt"));
    }

    @Test
    void oneAfterTheOtherUnderRisingTokensIsAsItMustBe() {
        var findings = findings(List.of(), term(1, 1, 0, 10), term(2, 5, 11, 20), term(1, 6, 30, 40));

        assertThat(findings.requireSafe().faults()).isEmpty();
        assertThat(findings.overlapNanos()).isZero();
    }

    @Test
    void aNanosecondOfOverlapIsFound() {
        var one = new ObservedTerm("ann", 1, 1, 0, 101, true);
        var findings = findings(List.of(), one, new ObservedTerm("bob", 2, 2, 100, 200, true));

        assertThat(findings.overlapNanos()).isEqualTo(1);
        assertThatThrownBy(findings::requireSafe)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("NEVER: two led at once for 1 ns")
                .hasMessageContaining("history.txt");
    }

    @Test
    void aRunThatDidTooLittleHasShownNothing() {
        var findings = findings(
                List.of(new Chronicle.Deed(20 * MS, BenchFault.KILL, Optional.empty())),
                term(1, 1, 0, 10),
                term(2, 5, 11, 20));

        assertThat(findings.requireAtLeast(new BenchEnvironment.Least(1, 2))).isSameAs(findings);
        assertThatThrownBy(() -> findings.requireAtLeast(new BenchEnvironment.Least(2, 2)))
                .isInstanceOf(AssertionError.class)
                .hasMessage("1 faults and 2 terms on here show nothing: at least 2 faults and 2 terms are needed");
        assertThatThrownBy(() -> findings.requireAtLeast(new BenchEnvironment.Least(1, 3)))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void theLeastGrowsWithTheTime() {
        var aMinute = new BenchEnvironment.Least(30, 6);

        assertThat(aMinute.in(Duration.ofMinutes(10))).isEqualTo(new BenchEnvironment.Least(300, 60));
        assertThat(aMinute.in(Duration.ofSeconds(10))).isEqualTo(new BenchEnvironment.Least(5, 2));
    }

    @Test
    void aMandateThatComesBackIsFound() {
        assertThat(findings(List.of(), term(1, 3, 0, 10), term(1, 3, 20, 30)).faults())
                .singleElement()
                .asString()
                .startsWith("NEVER: the token did not rise");
    }

    @Test
    void whoLeadsAgainByItsOldTokenLedTwice() {
        var findings = findings(
                List.of(new Chronicle.Deed(20 * MS, BenchFault.KILL, Optional.empty())),
                term(1, 3, 0, 10),
                term(2, 4, 5, 20),
                term(1, 3, 30, 40));

        assertThat(findings.overlapNanos()).isEqualTo(5 * MS);
        assertThat(findings.vacancies(BenchFault.KILL)).containsExactly(10 * MS);
    }

    @Test
    void aTokenThatFallsIsFoundThoughOthersWereLowerStill() {
        assertThat(findings(List.of(), term(1, 9, 0, 10), term(2, 7, 20, 30), term(3, 8, 40, 50))
                        .faults())
                .hasSize(2);
    }

    @Test
    void aVacancyIsPutDownToWhatWasDoneLastBeforeIt() {
        var deeds = List.of(
                new Chronicle.Deed(1 * MS, BenchFault.SLOW, Optional.of("c1")),
                new Chronicle.Deed(10 * MS, BenchFault.KILL, Optional.of("c1")),
                new Chronicle.Deed(500 * MS, BenchFault.STARVE, Optional.empty()));

        assertThat(findings(deeds, term(1, 1, 0, 10), term(2, 2, 1_010, 2_000)))
                .asString()
                .contains("vacant after kill")
                .contains("longest  1,000 ms");
    }

    @Test
    void theMedianOfTwoIsTheLower() {
        var deeds = List.of(new Chronicle.Deed(9 * MS, BenchFault.STARVE, Optional.empty()));

        assertThat(findings(deeds, term(1, 1, 0, 10), term(2, 2, 110, 120), term(3, 3, 1_120, 2_000)))
                .asString()
                .contains("2 times, median    100 ms, longest  1,000 ms");
    }

    @Test
    void aVacancyIsPutDownToWhatHurtItsLeaderNotToWhatHurtAnother() {
        var deeds = List.of(
                new Chronicle.Deed(1 * MS, BenchFault.CUT, Optional.of("c1")),
                new Chronicle.Deed(5 * MS, BenchFault.RESET, Optional.of("c2")));

        assertThat(findings(deeds, term(1, 1, 0, 10), term(2, 2, 1_010, 2_000)))
                .asString()
                .contains("vacant after cut");
    }

    @Test
    void aVacancyIsNotPutDownToTheEndOfAnEarlierProcess() {
        var deeds = List.of(new Chronicle.Deed(1 * MS, BenchFault.KILL, Optional.of("c1")));

        assertThat(findings(deeds, term(1, 1, 5, 10), term(2, 2, 1_010, 2_000)))
                .asString()
                .contains("vacant after nothing that we did");
    }

    @Test
    void theGuardRefusesALateWriteAndThatIsNoFault() {
        assertThat(register.write(1, 7, 0, 1)).isTrue();
        assertThat(register.write(2, 8, 10, 11)).isTrue();
        assertThat(register.write(1, 7, 5, 6)).isFalse();

        assertThat(register.refused()).isEqualTo(1);
        assertThat(register.faults()).isEmpty();
    }

    @Test
    void whoBelievesInALowerTokenWhenAnotherBelievesInAHigherOneIsFoundThoughTheGuardHelps() {
        register.write(1, 7, 0, 1);
        register.write(2, 8, 10, 11);
        register.write(1, 7, 15, 16);

        assertThat(register.faults()).containsExactly("NEVER: token 7 was believed in 4 ns after token 8 was");
    }

    @Test
    void oneTokenOfTwoProcessesIsFound() {
        register.write(1, 7, 0, 1);
        register.write(2, 7, 10, 11);

        assertThat(register.faults()).containsExactly("NEVER: token 7 was written by process 1 and by process 2");
    }
}
