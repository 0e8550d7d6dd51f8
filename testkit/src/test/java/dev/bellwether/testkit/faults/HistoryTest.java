package dev.bellwether.testkit.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HistoryTest {
    private final History history = new History();

    @Test
    void vacancyRunsFromTheLastLookOfTheOneToTheFirstOfTheNext() {
        history.tell(term("ann", 1, 100, 200));
        history.tell(term("ann", 1, 100, 350));
        history.tell(term("bob", 2, 1_000, 1_000));

        assertThat(history.vacancies()).containsExactly(new History.Vacancy(350, 1_000, 2, "bob"));
        assertThat(history.overlapNanos()).isZero();
    }

    @Test
    void firstLeaderEndsNoVacancy() {
        history.tell(term("ann", 1, 100, 200));

        assertThat(history.vacancies()).isEmpty();
        assertThat(history.lastVacancy()).isEmpty();
    }

    @Test
    void twoAtOnceAreCountedForAsLongAsBothSaidSo() {
        history.tell(term("ann", 1, 100, 500));
        history.tell(term("bob", 2, 400, 450));
        assertThat(history.overlapNanos()).isEqualTo(50);

        history.tell(term("bob", 2, 400, 900));
        assertThat(history.overlapNanos()).isEqualTo(100);

        history.tell(term("ann", 1, 100, 700));
        assertThat(history.overlapNanos()).isEqualTo(300);
    }

    @Test
    void whatIsToldTwiceCountsOnce() {
        history.tell(term("ann", 1, 100, 500));
        history.tell(term("bob", 2, 400, 450));

        assertThat(history.tell(term("bob", 2, 400, 450))).isFalse();
        assertThat(history.overlapNanos()).isEqualTo(50);
    }

    @Test
    void secondProcessOfTheSameCandidateIsAnother() {
        history.tell(new ObservedTerm("ann", 1, 1, 100, 500, true));
        history.tell(new ObservedTerm("ann", 2, 2, 400, 600, false));

        assertThat(history.overlapNanos()).isEqualTo(100);
    }

    @Test
    void newestIsWhoBeganLast() {
        history.tell(term("bob", 2, 400, 450));
        history.tell(term("ann", 1, 100, 200));

        assertThat(history.newest()).map(ObservedTerm::candidate).contains("bob");
    }

    @Test
    void termsPassThroughTheFileAndOldOnesAreNotToldAgain(@TempDir Path folder) throws Exception {
        var writer = TermFile.open(folder.resolve("terms"));
        var reader = TermFile.open(folder.resolve("terms"));
        for (var i = 0; i < 10_000; i++) {
            writer.begin(i, 10L * i);
            writer.stillLeading(10L * i + 5);
            assertThat(reader.since(i, "ann", 7))
                    .containsExactly(new ObservedTerm("ann", 7, i, 10L * i, 10L * i + 5, false));
            writer.end();
            assertThat(reader.since(i, "ann", 7))
                    .containsExactly(new ObservedTerm("ann", 7, i, 10L * i, 10L * i + 5, true));
            assertThat(reader.since(i + 1, "ann", 7)).isEmpty();
        }
    }

    private static ObservedTerm term(String candidate, long token, long first, long last) {
        return new ObservedTerm(candidate, candidate.hashCode(), token, first, last, false);
    }
}
