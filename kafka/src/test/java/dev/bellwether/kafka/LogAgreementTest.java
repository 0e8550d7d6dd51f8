package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.kafka.LogAgreementModel.Losses;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** All who read a log agree; and with a fault in their rules they do not, which must be found. */
@Tag("seeds")
class LogAgreementTest {
    private static final int SEEDS = Integer.getInteger("bellwether.journal.seeds", 3_000);

    /** Returns the first seed in which two know different things. */
    private static Optional<String> firstContradiction(LogMachine.Rules rules) {
        return firstContradiction(rules, Losses.NONE, SEEDS);
    }

    private static Optional<String> firstContradiction(LogMachine.Rules rules, Losses losses, int seeds) {
        var compared = 0L;
        for (var seed = 1L; seed <= seeds; seed++) {
            var model = new LogAgreementModel(seed, rules, seed % 4 == 0, losses);
            var contradiction = model.run();
            compared += model.based();
            if (contradiction.isPresent()) {
                return Optional.of("seed " + seed + ": " + contradiction.get());
            }
        }
        assertThat(compared).as("comparisons").isGreaterThan(seeds * 20L);
        return Optional.empty();
    }

    private static void assertFound(LogMachine.Rules faulty) {
        assertThat(firstContradiction(faulty)).isPresent();
    }

    @Test
    void allWhoHaveABaseKnowTheSame() {
        assertThat(firstContradiction(LogMachine.Rules.TRUE)).isEmpty();
    }

    @Test
    void aReaderThatGoesOnAfterAGapIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isGap(long next, long offset) {
                return false;
            }
        });
    }

    @Test
    void aReaderThatTakesACheckpointBehindWhichRecordsAreMissingIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean mayStart(long knowsFrom, long asOf) {
                return true;
            }
        });
    }

    @Test
    void aReaderThatObeysNoResetIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isInEffect(long lastReset, long asOf) {
                return false;
            }
        });
    }

    @Test
    void aReaderThatObeysEachResetIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isInEffect(long lastReset, long asOf) {
                return true;
            }
        });
    }

    @Test
    void aReaderToWhichAnyEpochIsItsOwnIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isSameEpoch(String written, String read) {
                return true;
            }
        });
    }

    @Test
    void aReaderThatKeepsWhatComesBeforeAResetIsSettledIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isOpen(boolean settled) {
                return true;
            }
        });
    }

    @Test
    void aReaderThatLetsWritesOverOtherRevisionsThroughIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean isExpected(long expected, long present, boolean absent) {
                return true;
            }
        });
    }

    @Test
    void aReaderToWhichAnyWaitIsLongEnoughIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean hasWaited(Duration waited, Duration longest) {
                return true;
            }
        });
    }

    /** Its author may have read another topic of the same name. */
    @Test
    void aReaderThatTakesACheckpointThatNobodyConfirmedIsFound() {
        assertFound(new LogMachine.Rules() {
            @Override
            boolean countsUnconfirmed() {
                return true;
            }
        });
    }

    // ---------------------------------------------------------------- acknowledged records are lost

    @Test
    void allWhoHaveABaseKnowTheSameFromTheResetOnThatFollowsALoss() {
        assertThat(firstContradiction(LogMachine.Rules.TRUE, Losses.NOTICED, SEEDS / 3))
                .isEmpty();
    }

    @Test
    void aReaderThatGoesOnBehindALossIsFound() {
        assertThat(firstContradiction(LogMachine.Rules.TRUE, Losses.UNNOTICED, SEEDS))
                .isPresent();
    }
}
