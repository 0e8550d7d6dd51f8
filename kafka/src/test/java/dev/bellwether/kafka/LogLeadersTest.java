package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.kafka.LogLeadersModel.Losses;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** No two lead when a log is lost; and with a fault in the rules two do, which must be found. */
@Tag("seeds")
class LogLeadersTest {
    private static final Duration TIME = Duration.ofSeconds(60);
    private static final int ALL = 400;
    /** A sixth of the other models: a minute of each is as long as six of theirs. */
    private static final int SEEDS = Integer.getInteger("bellwether.journal.seeds", 6 * ALL) / 6;

    private static Optional<String> firstViolation(LogLeadersModel.Faults faults) {
        return firstViolation(faults, SEEDS);
    }

    private static Optional<String> firstViolation(LogLeadersModel.Faults faults, int seeds) {
        var grants = 0L;
        for (var seed = 1L; seed <= seeds; seed++) {
            var model = new LogLeadersModel(seed, faults);
            var violation = model.run(TIME);
            if (violation.isPresent()) {
                return Optional.of("seed " + seed + ": " + violation.get());
            }
            grants += model.grants();
        }
        assertThat(grants).as("proofs in %s runs", seeds).isGreaterThan(seeds * 20L);
        return Optional.empty();
    }

    private static void assertFound(LogLeadersModel.Faults faulty) {
        assertThat(firstViolation(faulty, ALL)).get().asString().contains(Never.MARK);
    }

    @Test
    void noTwoLeadWhenALogIsDeletedAndCreatedAgainOrForgets() {
        assertThat(firstViolation(LogLeadersModel.Faults.NONE)).isEmpty();
    }

    @Test
    void aKeeperThatSettlesAtOnceIsFound() {
        assertFound(LogLeadersModel.Faults.keeping(new LogKeeper.Rules() {
            @Override
            boolean maySettle(long knownNanos, Duration longest) {
                return true;
            }
        }));
    }

    /** Either would do: a reset is called by where it stands, and what was counted for it is void in another topic. */
    @Test
    void aResetThatIsCountedForInAnotherTopicIsFound() {
        var reading = new LogMachine.Rules() {
            @Override
            String epoch(String reset, long offset) {
                return reset;
            }
        };
        assertFound(new LogLeadersModel.Faults(reading, LogKeeper.Rules.TRUE, true, true, false, 0, Losses.NONE, true));
    }

    /** What the documents make a condition is one. */
    @Test
    void brokersThatNameTheFormerTopicForAWhileAreFound() {
        assertFound(new LogLeadersModel.Faults(
                LogMachine.Rules.TRUE, LogKeeper.Rules.TRUE, true, true, true, 1_500, Losses.NONE, true));
    }

    @Test
    void aProcessThatDoesNotAskWhichTopicItIsIsFound() {
        assertFound(new LogLeadersModel.Faults(
                LogMachine.Rules.TRUE, LogKeeper.Rules.TRUE, false, true, true, 0, Losses.NONE, true));
    }

    // ---------------------------------------------------------------- acknowledged records are lost

    @Test
    void noTwoLeadWhenRecordsAreLostThatAllHaveRead() {
        assertThat(firstViolation(LogLeadersModel.Faults.NONE.with(Losses.READ_BY_ALL), SEEDS / 2))
                .isEmpty();
    }

    @Test
    void aProcessThatReadsOnWhereWhatItHadReadIsLostIsFound() {
        assertFound(LogLeadersModel.Faults.NONE.with(Losses.READ_BY_ALL).withoutNotice());
    }

    @Test
    void aProcessThatReadsAllOnceMoreAndWaitsForNobodyIsFound() {
        var keeping = new LogKeeper.Rules() {
            @Override
            boolean isLost(long lostAt, long resetOffset) {
                return false;
            }
        };
        assertFound(LogLeadersModel.Faults.keeping(keeping).with(Losses.READ_BY_ALL));
    }

    /** What the documents make a condition is one: who had not read what is lost cannot know that it is. */
    @Test
    void brokersThatLoseWhatNotAllHaveReadAreFound() {
        assertFound(LogLeadersModel.Faults.NONE.with(Losses.ANY));
    }
}
