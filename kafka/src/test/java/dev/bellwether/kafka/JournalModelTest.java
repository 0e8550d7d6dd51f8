package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.kafka.Entry.What;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of the journal under faults that are drawn from seeds, and under rules with a fault in them, which must be
 * found.
 */
@Tag("seeds")
class JournalModelTest {
    private static final Duration TIME = JournalModel.LEASE.multipliedBy(40);
    private static final int ALL = 2_500;
    private static final int SEEDS = Integer.getInteger("bellwether.journal.seeds", ALL);

    /** Returns the first seed that shows a violation. */
    private static Optional<String> firstViolation(JournalModel.Reading reading, int seeds) {
        for (var seed = 1L; seed <= seeds; seed++) {
            var outcome = new JournalModel(seed, reading).run(TIME);
            if (outcome.violation().isPresent()) {
                var last = outcome.trace();
                return Optional.of("seed " + seed + ": " + outcome.violation().get() + "\n"
                        + String.join("\n", last.subList(Math.max(0, last.size() - 80), last.size())));
            }
        }
        return Optional.empty();
    }

    private static void assertFound(Optional<String> violation) {
        assertThat(violation).get().asString().contains(Never.MARK);
        System.out.println(violation.get().lines().findFirst().orElseThrow().replace(Never.MARK, ""));
    }

    @Test
    void theJournalAloneKeepsTwoFromLeadingWhateverTheGroupSays() {
        assertThat(firstViolation((entry, known, own) -> Optional.of(entry), SEEDS))
                .isEmpty();
    }

    @Test
    void somebodyLeadsInEachRun() {
        var grants = 0;
        for (var seed = 1L; seed <= 20; seed++) {
            grants += new JournalModel(seed, (entry, known, own) -> Optional.of(entry))
                    .run(TIME)
                    .grants();
        }
        assertThat(grants).as("grants in 20 runs of 40 leases").isGreaterThan(20 * 5);
    }

    /** After a gap, beats of the claim that was known before it are taken for old news. */
    @Test
    @Tag("full")
    void aReaderWhoKnowsTheHolderNoMoreAfterAGapIsFound() {
        var blind = firstViolation(
                (entry, known, own) -> known.seat() == null
                                && entry.what() == What.BEAT
                                && entry.fields().number("token") <= known.highest()
                        ? Optional.empty()
                        : Optional.of(entry),
                2 * ALL); // it shows in one history of two thousand, about
        assertFound(blind);
    }

    /** What is below the highest token that a member knows is taken for dead, though others lead under it. */
    @Test
    @Tag("full")
    void aReaderWhoLooksAtNothingBelowTheHighestTokenItKnowsIsFound() {
        var proud = firstViolation(
                (entry, known, own) ->
                        entry.what() == What.BEAT && entry.fields().number("token") < known.highest()
                                ? Optional.empty()
                                : Optional.of(entry),
                ALL);
        assertFound(proud);
    }
}
