package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.NotLeaderException;
import dev.bellwether.Phase;
import dev.bellwether.spi.Order;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * When a candidate leads, and when it stops: a lease of 10 s, less 100 ms for drift, 2 s for standing down, and 1 ms
 * that the wall clock cuts off.
 */
class CandidacyMachineTest {
    private static final Duration DEADLINE = Duration.ofMillis(7_899);

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void theDeadlineCountsFromBeforeTheRequest() {
        rig.wire.slow = true;
        var candidacy = rig.stand("a", rig.config());
        rig.pass(Duration.ofSeconds(2));
        rig.wire.deliver();
        rig.settle();
        assertThat(candidacy.mandate().orElseThrow().remaining()).isEqualTo(DEADLINE.minusSeconds(2));
    }

    @Test
    void silenceEndsLeadershipAtTheDeadlineAndNotBefore() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.cut = true;
        rig.pass(DEADLINE.minusMillis(2));
        assertThat(candidacy.isLeader()).isTrue();
        rig.clock.forward(Duration.ofMillis(2));
        assertThat(candidacy.isLeader()).as("without any turn of the loop").isFalse();
        rig.pass(Duration.ofMillis(1));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
        assertThat(candidacy.status().lastCause()).contains(Cause.UNREACHABLE);
    }

    @Test
    void nothingOfATaskComesToTheExecutorOnceItsMandateIsFenced() {
        rig.stand("a", rig.config()).whileLeading(mandate -> {});
        rig.wire.cut = true;
        rig.pass(DEADLINE.plusMillis(1));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
        var ran = rig.executor.ran;
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.executor.ran).isEqualTo(ran);
    }

    @Test
    void anOutageShorterThanTheDeadlineChangesNothing() {
        var candidacy = rig.stand("a", rig.config());
        var mandate = candidacy.mandate().orElseThrow();
        rig.wire.cut = true;
        rig.pass(Duration.ofSeconds(6));
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(60));
        assertThat(mandate.isValid()).isTrue();
        assertThat(rig.heard).containsExactly("Acquired");
    }

    @Test
    void aLostAnswerProvesNothing() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.muffled = true;
        rig.pass(DEADLINE.plusMillis(1));
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
    }

    @Test
    void anAnswerThatWaitedThroughAPauseDoesNotReviveTheMandate() {
        var candidacy = rig.stand("a", rig.config());
        var mandate = candidacy.mandate().orElseThrow();
        rig.wire.slow = true;
        rig.pass(Duration.ofMillis(3_400)); // a renewal is under way, carried out and not yet answered
        rig.clock.forward(DEADLINE);
        rig.wire.deliver();
        rig.settle();
        assertThat(mandate.isValid()).isFalse();
        assertThat(rig.heard).startsWith("Acquired", "Fenced PAUSED");
    }

    @Test
    void aFrozenProcessHearsThatItWasPausedAndStandsAgainWithAHigherToken() {
        var candidacy = rig.stand("a", rig.config());
        var first = candidacy.mandate().orElseThrow();
        rig.freeze(Duration.ofSeconds(30));
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced PAUSED", "Acquired");
        assertThat(candidacy.mandate().orElseThrow().token()).isGreaterThan(first.token());
        assertThat(first.isValid()).isFalse();
    }

    @Test
    void aSuspensionEndsTheMandateThoughTheMonotonicClockStoodStill() {
        var candidacy = rig.stand("a", rig.config());
        rig.clock.wallNanos += Duration.ofSeconds(9).toNanos();
        assertThat(candidacy.isLeader()).isFalse();
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.heard).contains("Fenced PAUSED");
    }

    @Test
    void aSuspensionThatLeavesTimeChangesNothing() {
        var candidacy = rig.stand("a", rig.config());
        rig.clock.wallNanos += Duration.ofSeconds(4).toNanos();
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(candidacy.mandate().orElseThrow().remaining()).isLessThanOrEqualTo(DEADLINE.minusSeconds(4));
    }

    @Test
    void aWallClockSetBackEndsTheMandate() {
        var candidacy = rig.stand("a", rig.config());
        rig.clock.wallNanos -= Duration.ofSeconds(1).toNanos();
        assertThat(candidacy.isLeader()).isFalse();
        rig.pass(Duration.ofSeconds(1));
        assertThat(rig.heard).contains("Fenced PAUSED");
    }

    @Test
    void aMandateThatWasSeenOverStaysOverWhenTheWallClockComesBack() {
        var candidacy = rig.stand("a", rig.config());
        var mandate = candidacy.mandate().orElseThrow();
        rig.clock.wallNanos += Duration.ofSeconds(9).toNanos();
        assertThat(mandate.remaining()).isZero();
        rig.clock.wallNanos -= Duration.ofSeconds(9).toNanos();
        assertThat(mandate.isValid()).isFalse();
        rig.pass(Duration.ofSeconds(4)); // a renewal
        assertThat(mandate.isValid()).isFalse();
        assertThat(rig.heard).startsWith("Acquired", "Fenced PAUSED");
    }

    @Test
    void aMandateThatIsEndedWithItsElectionsIsNoLossAndItsSeatIsKept() {
        var candidacy = rig.stand("a", rig.config());
        candidacy.endNow();
        rig.pass(Duration.ofSeconds(3));
        candidacy.check();
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(rig.heard).containsExactly("Acquired");
        assertThat(rig.wire.calls).doesNotContain("release");
    }

    @Test
    void whatHearsOfAMandateThatIsFencedBeginsInterrupted() {
        var interrupted = new ArrayList<String>();
        rig.executor.keeps = true;
        rig.stand("a", rig.config().listener(event -> {
            if (Thread.currentThread().isInterrupted()) {
                interrupted.add(Rig.told(event));
            }
            rig.heard.add(Rig.told(event));
        }));
        rig.wire.cut = true;
        rig.pass(DEADLINE.plusMillis(1));
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
        assertThat(interrupted).containsExactly("Acquired");
    }

    @Test
    void whatHearsOfARevocationLateHasTheRestOfItsBudget() {
        var interrupted = new ArrayList<String>();
        rig.executor.keeps = true;
        var candidacy = rig.stand(
                "a", rig.config().standDownBudget(Duration.ofSeconds(4)).listener(event -> {
                    if (Thread.currentThread().isInterrupted()) {
                        interrupted.add(Rig.told(event));
                    }
                    rig.heard.add(Rig.told(event));
                }));
        candidacy.standDown();
        rig.pass(Duration.ofSeconds(3));
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).startsWith("Acquired", "Revoked STOOD_DOWN");
        assertThat(interrupted).isEmpty();
    }

    @Test
    void aWallClockThatIsSlewedChangesNothing() {
        var candidacy = rig.stand("a", rig.config());
        rig.clock.wallNanos -= Duration.ofMillis(50).toNanos();
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void resigningIsInOrderAndTheSeatIsReleasedOnlyWhenTheListenerHasReturned() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.resign();
        rig.settle();
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.STANDING_DOWN);
        assertThat(rig.wire.calls).doesNotContain("release");
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.wire.calls).contains("release");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(rig.heard).containsExactly("Acquired", "Revoked RESIGNED");
    }

    @Test
    void aListenerThatBlocksDelaysTheSuccessorByTheStandDownBudgetAtMost() {
        var candidacy = rig.stand("a", rig.config());
        var successor = rig.elections(rig.server)
                .stand("billing", CandidacyConfig.builder().candidate("b").build());
        rig.settle();
        rig.executor.keeps = true;
        candidacy.resign();
        rig.pass(Duration.ofMillis(1_990));
        assertThat(successor.isLeader()).isFalse();
        rig.pass(Duration.ofMillis(20));
        assertThat(successor.isLeader()).isTrue();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Fenced RESIGNED"); // Revoked had not begun
        assertThat(rig.figures.overruns).containsExactly(1L);
    }

    @Test
    void aBlockedListenerDelaysNoRenewal() {
        var candidacy = rig.stand("a", rig.config().listener(event -> {}));
        rig.executor.keeps = true;
        rig.pass(Duration.ofMinutes(2));
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void workIsFencedWhenTheMachineWasSuspendedUntilItsBudgetWasUsedUp() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.resign();
        rig.settle();
        rig.clock.wallNanos += Duration.ofMillis(2_030).toNanos(); // the monotonic clock stood still
        rig.pass(Duration.ofMillis(510));
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Fenced RESIGNED"); // Revoked had not begun
    }

    @Test
    void workIsFencedBeforeASuccessorWithAFastClockMayComeThoughTheMachineWasSuspended() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.resign();
        rig.settle();
        rig.clock.wallNanos += Duration.ofMillis(1_485).toNanos(); // the monotonic clock stood still
        rig.pass(Duration.ofMillis(510)); // looked at after 1,985 ms: by a clock that is fast, the 2 s may be over
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
        rig.executor.letGo();
    }

    @Test
    void aFencedCandidateKeepsTheSeatFromNobodyWhileItsWorkRunsOn() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true; // the listener will not return from Fenced
        rig.wire.cut = true;
        rig.pass(DEADLINE.plusMillis(1));
        rig.wire.cut = false;
        var successor = rig.elections(rig.server)
                .stand("billing", CandidacyConfig.builder().candidate("b").build());
        rig.pass(Duration.ofSeconds(3));
        assertThat(successor.isLeader()).isTrue();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
    }

    @Test
    void aThrowingListenerHarmsNothing() {
        var candidacy = rig.stand("a", rig.config().listener(event -> {
            throw new IllegalArgumentException("planted");
        }));
        rig.pass(Duration.ofMinutes(1));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.figures.failures).hasSize(1);
        candidacy.resign();
        rig.settle();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aLeaderLeavesTheSeatToOthersAndStandsAgainALeaseLater() {
        var first = rig.stand("a", rig.config());
        first.standDown();
        assertThat(first.isLeader()).as("before its loop has run").isTrue();
        rig.settle();
        assertThat(first.isLeader()).isFalse();
        first.standDown(); // for the second time, and so for nothing
        rig.pass(Duration.ofSeconds(9));
        assertThat(first.isLeader()).isFalse();
        var second = rig.stand("b", rig.config().listener(event -> {}));
        assertThat(second.isLeader()).isTrue();
        rig.pass(Duration.ofSeconds(2));
        assertThat(rig.heard).containsExactly("Acquired", "Revoked STOOD_DOWN", "Following");
        second.standDown();
        rig.settle();
        assertThat(first.isLeader()).isTrue();
    }

    @Test
    void whoStandsAsideTakesNoVacantSeatUntilItStandsAgain() {
        var first = rig.stand("a", rig.config());
        var second = rig.stand("b", rig.config().listener(event -> {}));
        first.standAside();
        rig.settle();
        assertThat(second.isLeader()).isTrue();
        second.close();
        rig.pass(Duration.ofSeconds(60));
        assertThat(first.isLeader()).isFalse();
        assertThat(first.status().phase()).isEqualTo(Phase.STANDING_ASIDE);
        first.standAgain();
        rig.settle();
        assertThat(first.isLeader()).isTrue();
        assertThat(rig.heard).startsWith("Acquired", "Revoked STOOD_DOWN").endsWith("Acquired");
    }

    @Test
    void whoStandsAgainWhileItsWorkEndsClaimsAtOnceWhenThatHasEnded() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.standAside();
        rig.settle();
        candidacy.standAgain();
        rig.settle();
        rig.executor.letGo();
        rig.settle();
        assertThat(candidacy.mandate().orElseThrow().token()).isEqualTo(2);
    }

    @Test
    void whoStoodDownHoldsBackThoughItStoodByAndStandsAgain() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        candidacy.standDown();
        rig.settle();
        candidacy.standAside();
        rig.settle();
        rig.executor.letGo();
        rig.settle();
        candidacy.standAgain();
        rig.pass(Duration.ofSeconds(9));
        assertThat(candidacy.isLeader()).isFalse();
        rig.pass(Duration.ofSeconds(2));
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void whomAnOperatorOrderedToStandDownHoldsBackThoughItSaysThatItStandsAgain() {
        var first = rig.stand("a", rig.config());
        rig.server.order("billing", Order.STAND_DOWN);
        rig.settle();
        first.standAside();
        first.standAgain();
        rig.pass(Duration.ofSeconds(9));
        assertThat(first.isLeader()).isFalse();
        rig.pass(Duration.ofSeconds(2));
        assertThat(first.isLeader()).isTrue();
    }

    @Test
    void anOperatorsOrderMovesTheSeatAndTheFormerLeaderHoldsBackForALease() {
        var first = rig.stand("a", rig.config());
        var second = rig.stand("b", rig.config().listener(event -> {}));
        rig.server.order("billing", Order.STAND_DOWN);
        rig.settle();
        assertThat(second.isLeader()).isTrue();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked REVOKED_BY_OPERATOR", "Following");
        second.resign();
        rig.pass(Duration.ofSeconds(9));
        assertThat(first.isLeader()).isFalse();
        rig.pass(Duration.ofSeconds(2));
        assertThat(first.isLeader()).isTrue();
    }

    @Test
    void theEndOfAnElectionIsToldToAllAndNoneMayJoin() {
        var first = rig.stand("a", rig.config().listener(rig.heardBy("a: ")));
        var second = rig.stand("b", rig.config().listener(rig.heardBy("b: ")));
        rig.server.order("billing", Order.END);
        rig.settle();
        var third = rig.stand("c", rig.config().listener(rig.heardBy("c: ")));
        assertThat(rig.heard)
                .containsSubsequence("a: Acquired", "a: Revoked ENDED", "a: Ended")
                .contains("b: Ended", "c: Ended");
        assertThat(first.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(second.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(third.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void theEndOfAnElectionIsToldToACandidateThatHoldsBack() {
        var candidacy = rig.stand("a", rig.config());
        rig.server.order("billing", Order.STAND_DOWN);
        rig.settle();
        rig.server.order("billing", Order.END);
        rig.settle();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(rig.heard).containsExactly("Acquired", "Revoked REVOKED_BY_OPERATOR", "Ended");
    }

    @Test
    void aDeletedElectionBeginsAgainWithAHigherToken() {
        var first = rig.stand("a", rig.config());
        var token = first.mandate().orElseThrow().token();
        rig.server.order("billing", Order.DELETE);
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked ENDED", "Ended");
        var next = rig.stand("b", rig.config());
        assertThat(next.mandate().orElseThrow().token()).isGreaterThan(token);
    }

    @Test
    void aSeatTakenByAnotherFencesAtOnce() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.deaf = true;
        rig.wire.cut = true;
        rig.clock.forward(Duration.ofSeconds(7));
        var other = rig.elections(rig.server)
                .stand("billing", CandidacyConfig.builder().candidate("b").build());
        rig.settle();
        rig.clock.forward(Duration.ofMillis(850)); // still before a's deadline
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(other.isLeader()).isFalse();
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(30));
        assertThat(candidacy.isLeader() && other.isLeader()).isFalse();
        assertThat(candidacy.isLeader() || other.isLeader()).isTrue();
    }

    @Test
    void aMandateThatIsOverSaysSo() {
        var candidacy = rig.stand("a", rig.config());
        var mandate = candidacy.mandate().orElseThrow();
        mandate.ensure(Duration.ofSeconds(7));
        assertThatThrownBy(() -> mandate.ensure(Duration.ofSeconds(8)))
                .isInstanceOf(NotLeaderException.class)
                .hasMessageContaining("mandate 1 of a in election \"billing\" holds for 7.899 s");
        candidacy.resign();
        rig.settle();
        assertThatThrownBy(mandate::ensure)
                .isInstanceOf(NotLeaderException.class)
                .hasMessageContaining("is over");
        assertThat(mandate.remaining()).isZero();
    }

    @Test
    void aLostAnswerToAClaimIsReadBack() {
        rig.wire.muffled = true;
        var candidacy = rig.stand("a", rig.config());
        assertThat(candidacy.isLeader()).as("unknown is not granted").isFalse();
        rig.wire.muffled = false;
        rig.pass(Duration.ofSeconds(3));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.wire.calls).contains("read");
    }

    @Test
    void aGrantThatComesAfterWeGaveItUpIsGivenBack() {
        rig.wire.slow = true;
        var candidacy = rig.stand("a", rig.config());
        candidacy.resign();
        rig.settle();
        rig.wire.slow = false;
        rig.wire.deliver();
        rig.pass(Duration.ofSeconds(1));
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(rig.server.read("billing").toCompletableFuture().join().holder())
                .isEmpty();
        assertThat(rig.heard).isEmpty();
    }
}
