package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a lease seat makes of answers that come late, doubled, out of order, or not at all. */
class LeaseSeatTest {
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void aClaimWhoseAnswerComesAfterItWasReadBackIsNotGivenBack() {
        rig.wire.slow = true;
        var candidacy = rig.stand("a", rig.config());
        rig.wire.slow = false;
        rig.pass(Duration.ofSeconds(4)); // the claim goes unanswered, and what became of it is read at once
        assertThat(candidacy.isLeader()).isTrue();
        rig.wire.deliver(); // "granted", at last
        rig.settle();
        assertThat(rig.wire.calls).doesNotContain("release");
        assertThat(rig.server.read("billing").toCompletableFuture().join().holder())
                .isPresent();
        assertThat(candidacy.isLeader()).isTrue();
    }

    /** A store may show what it has not decided, or not written to its disk, and lose it. */
    @Test
    void aClaimThatWasReadBackCountsOnlyWhenTheStoreHasAcknowledgedARenewalOfIt() {
        rig.wire.slow = true;
        var candidacy = rig.stand("a", rig.config());
        rig.wire.slow = false;
        rig.wire.cutFrom = "renew";
        rig.pass(Duration.ofSeconds(4));
        assertThat(rig.wire.calls).endsWith("read", "renew");
        assertThat(candidacy.isLeader()).isFalse();
        rig.wire.cutFrom = "";
        rig.pass(Duration.ofSeconds(30));
        assertThat(candidacy.isLeader()).isTrue();
    }

    /** As long as the documents and the doctor say, beginning right before a renewal; the way takes no time here. */
    @Test
    void anOutageInWhichRequestsAreRefusedChangesNothing() {
        var config = rig.config().build();
        var mandate = config.lease().multipliedBy(99).dividedBy(100).minus(config.standDownBudget());
        var outage = mandate.minus(rig.wire.renewal(config))
                .minus(rig.wire.recovery(config))
                .minusMillis(1); // which the wall clock cuts off
        var candidacy = rig.stand("a", config.toBuilder());
        for (var outages = 0; outages < 300; outages++) {
            rig.wire.calls.clear();
            while (rig.wire.calls.isEmpty()) {
                rig.pass(Duration.ofMillis(1));
            }
            rig.pass(config.renewInterval().minusMillis(2));
            assertThat(rig.wire.calls).as("the next is due").containsExactly("renew");
            rig.wire.failed = new UnavailableException("connection refused");
            rig.pass(outage);
            rig.wire.failed = null;
            rig.pass(config.lease());
            assertThat(rig.heard).as("after outage %d", outages).containsExactly("Acquired");
        }
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void aCandidacyEndsThoughNobodyAnswersItsRelease() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.cut = true;
        candidacy.resign();
        rig.pass(rig.config().build().renewInterval().multipliedBy(2));
        assertThat(rig.wire.calls).filteredOn("release"::equals).hasSize(3);
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void anOlderClaimThatIsCarriedOutWhileWeLeaveIsGivenBack() {
        try (var late = new Rig(LateClaims::new)) {
            var claims = (LateClaims) late.wire;
            var candidacy = late.stand("a", late.config());
            late.pass(Duration.ofSeconds(6)); // the first claim is given up, and another is under way
            assertThat(claims.late).hasSize(2);
            claims.late.get(0).run();
            candidacy.resign();
            late.settle();
            assertThat(late.server.read("billing").toCompletableFuture().join().holder())
                    .isEmpty();
            assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        }
    }

    @Test
    void anOlderClaimThatIsCarriedOutWhileWeStandByIsGivenBack() {
        for (var seconds : List.of(5, 6)) { // we wait for the next claim, or that is under way
            try (var late = new Rig(LateClaims::new)) {
                var claims = (LateClaims) late.wire;
                var candidacy = late.stand("a", late.config().retryInterval(Duration.ofSeconds(2)));
                late.pass(Duration.ofSeconds(seconds));
                assertThat(claims.late).hasSize(seconds - 4);
                candidacy.standAside();
                late.settle();
                claims.late.get(0).run();
                late.pass(Duration.ofSeconds(4));
                assertThat(late.server
                                .read("billing")
                                .toCompletableFuture()
                                .join()
                                .holder())
                        .isEmpty();
                assertThat(candidacy.isLeader()).isFalse();
            }
        }
    }

    @Test
    void whoStandsAsideWhileNobodyAnswersClaimsNoMore() {
        rig.wire.cut = true;
        var candidacy = rig.stand("a", rig.config());
        candidacy.standAside();
        rig.settle();
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(30));
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(30));
        assertThat(rig.wire.calls).doesNotContain("acquire");
        assertThat(view().token()).isZero();
        candidacy.standAgain();
        rig.settle();
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void whoStandsAsideWhileItsClaimIsReadBackClaimsNoMore() {
        rig.wire.cut = true;
        var candidacy = rig.stand("a", rig.config());
        rig.pass(Duration.ofMillis(3_400));
        assertThat(rig.wire.calls).last().isEqualTo("read");
        candidacy.standAside();
        rig.settle();
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(30));
        assertThat(rig.wire.calls).doesNotContain("acquire").contains("release");
    }

    @Test
    void whoHasLostTheSeatAndStandsAsideIsNotListed() {
        var candidacy = rig.stand("a", rig.config());
        takenBy("b");
        rig.executor.keeps = true; // the work does not end yet
        rig.pass(rig.config().build().renewInterval());
        assertThat(candidacy.status().phase()).isEqualTo(Phase.FENCED);
        candidacy.standAside();
        rig.settle();
        assertThat(listed()).containsExactly("a", "b");
        rig.executor.letGo();
        rig.settle();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.STANDING_ASIDE);
        assertThat(listed()).containsExactly("b");
    }

    @Test
    void whoHasLostTheSeatAndStandsOnClaimsItAtOnce() {
        rig.stand("a", rig.config());
        takenBy("b");
        rig.pass(rig.config().build().renewInterval());
        assertThat(rig.heard).startsWith("Acquired", "Fenced REPLACED");
        assertThat(rig.wire.calls).doesNotContain("release").endsWith("acquire");
    }

    @Test
    void whoStandsAsideWhileNobodyAnswersIsNotListedOnceTheStoreDoes() {
        other("b");
        var candidacy = rig.stand("a", rig.config());
        rig.wire.cut = true;
        candidacy.standAside();
        rig.pass(Duration.ofSeconds(10)); // three times it has tried to give back what it may have
        assertThat(listed()).containsExactly("a", "b");
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(11));
        assertThat(listed()).containsExactly("b");
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(60));
        assertThat(rig.wire.calls).isEmpty();
    }

    @Test
    void whomALateClaimHasListedWhoStandsAsideIsNotListed() {
        other("b");
        try (var late = new Rig(store -> new LateAnswers(rig.server))) {
            var answers = (LateAnswers) late.wire;
            var candidacy = late.stand("a", late.config());
            candidacy.standAside();
            late.pass(Duration.ofSeconds(8)); // given up
            assertThat(listed()).containsExactly("b");
            answers.late.forEach(Runnable::run); // carried out now, and answered
            assertThat(listed()).containsExactly("a", "b");
            late.settle();
            assertThat(listed()).containsExactly("b");
        }
    }

    @Test
    void aMandateThatEndedWhileTheProcessWasFrozenIsNotRenewed() {
        for (var millis = 2_400; ; millis += 10) { // of what is due after that, the renewal may be the first
            try (var frozen = new Rig()) {
                var candidacy = frozen.stand("a", frozen.config());
                frozen.executor.keeps = true; // the work does not end
                frozen.pass(Duration.ofMillis(millis));
                if (frozen.wire.calls.contains("renew")) {
                    return; // in time
                }
                frozen.freeze(Duration.ofMillis(9_500 - millis));
                assertThat(candidacy.isLeader()).isFalse();
                assertThat(frozen.wire.calls).as("frozen after %d ms", millis).doesNotContain("renew");
                frozen.pass(Duration.ofSeconds(1));
                assertThat(frozen.server
                                .read("billing")
                                .toCompletableFuture()
                                .join()
                                .holder())
                        .isEmpty();
            }
        }
    }

    @Test
    void theTaskIntervalHoldsInTheNextMandateToo() {
        var steps = new AtomicInteger();
        var candidacy = rig.stand("a", rig.config().taskInterval(Duration.ofSeconds(20)));
        candidacy.whileLeading(mandate -> steps.incrementAndGet());
        rig.settle();
        rig.wire.cut = true;
        rig.pass(Duration.ofSeconds(8));
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(4));
        assertThat(candidacy.mandate().orElseThrow().token()).isEqualTo(2);
        var before = steps.get();
        rig.pass(Duration.ofSeconds(100));
        assertThat(steps.get() - before).isEqualTo(5);
    }

    @Test
    void theTaskIntervalHoldsHoweverManyBeginToListen() {
        var steps = new AtomicInteger();
        var candidacy = rig.stand("a", rig.config().taskInterval(Duration.ofSeconds(20)));
        candidacy.whileLeading(mandate -> steps.incrementAndGet());
        rig.pass(Duration.ofSeconds(10));
        for (var i = 0; i < 5; i++) {
            candidacy.listen(event -> {});
            rig.pass(Duration.ofSeconds(2));
        }
        assertThat(steps).hasValue(2);
        rig.pass(Duration.ofSeconds(100));
        assertThat(steps).hasValue(7);
    }

    @Test
    void aSeatThatWasVacatedWhileOurClaimWasUnderWayIsTakenAtOnce() {
        var leader = other("b");
        rig.wire.slow = true;
        var candidacy = rig.stand("a", rig.config());
        leader.resign();
        rig.settle(); // "vacant" is told before "refused"
        rig.wire.slow = false;
        rig.wire.deliver();
        rig.settle();
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void aViewFromBeforeTheElectionWasDeletedEndsNobody() {
        rig.server.order("billing", Order.END);
        var old = view();
        rig.server.order("billing", Order.DELETE);
        var leader = rig.stand("a", rig.config());
        var standby = rig.stand("b", rig.config());
        assertThat(leader.isLeader()).isTrue();
        rig.wire.tell(old);
        rig.settle();
        assertThat(leader.isLeader()).isTrue();
        assertThat(standby.status().phase()).isEqualTo(Phase.STANDING_BY);
    }

    @Test
    void aNoticeOfAnEndThatIsNotTrueEndsNobody() {
        var leader = rig.stand("a", rig.config());
        var standby = rig.stand("b", rig.config());
        var now = view();
        rig.wire.tell(now.inEra(now.era(), true));
        rig.settle();
        assertThat(leader.isLeader()).isTrue();
        assertThat(standby.status().phase()).isEqualTo(Phase.STANDING_BY);
    }

    @Test
    void aNoticeOfAHigherTokenOrOfAnOrderThatIsNotTrueDeposesNobody() {
        var leader = rig.stand("a", rig.config());
        var now = view();
        rig.wire.tell(View.of("billing", now.token() + 1).heldBy(now.holder(), now.remaining()));
        rig.wire.tell(now.orderedToStandDown(true));
        rig.settle();
        assertThat(leader.isLeader()).isTrue();
        assertThat(rig.heard).containsExactly("Acquired");
    }

    @Test
    void noticesThatKeepComingDoNotPutOffAClaim() {
        other("b");
        rig.stand("a", rig.config());
        rig.wire.calls.clear();
        for (var second = 0; second < 30; second++) {
            rig.wire.tell(view()); // held for all of its lease, as it always is just now
            rig.pass(Duration.ofSeconds(1));
        }
        assertThat(rig.wire.calls).filteredOn("acquire"::equals).hasSizeGreaterThanOrEqualTo(2);
    }

    @Test
    void aSeatThatIsHeldForHoursIsAskedForOnceALease() {
        var holder = rig.config().lease(Duration.ofHours(10));
        rig.stand("b", holder);
        rig.stand("a", rig.config());
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(101));
        assertThat(rig.wire.calls).filteredOn("acquire"::equals).hasSize(10);
    }

    @Test
    void anEndThatIsTrueIsHeardAtOnce() {
        var leader = rig.stand("a", rig.config());
        rig.server.order("billing", Order.END);
        rig.settle();
        assertThat(leader.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(rig.heard).containsExactly("Acquired", "Revoked ENDED", "Ended");
    }

    @Test
    void aTurnThatThrowsEndsTheMandateAndThenTheCandidacyInOrder() {
        var candidacy = rig.stand("a", rig.config());
        assertThat(candidacy.isLeader()).isTrue();
        rig.clock.thrown = new OutOfMemoryError("as planned");
        rig.pass(rig.config().build().renewInterval());
        assertThat(candidacy.isLeader()).isFalse();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(candidacy.failure().orElseThrow())
                .hasMessageContaining("OutOfMemoryError: as planned")
                .hasRootCauseInstanceOf(OutOfMemoryError.class);
        assertThatThrownBy(candidacy::awaitClose).isInstanceOf(ElectionException.class);
        assertThat(rig.heard).containsExactly("Acquired", "Fenced FAILED", "Failed");
        assertThat(view().holder()).isEmpty(); // nobody waits for a lease of nobody
    }

    @Test
    void aCandidateDoesNotLearnItsEraFromAnOldView() {
        var old = view();
        rig.server.order("billing", Order.DELETE);
        rig.wire.muffled = true;
        var candidacy = rig.stand("a", rig.config()); // no answer yet, so the era is unknown
        rig.wire.tell(old);
        rig.settle();
        rig.wire.muffled = false;
        rig.pass(Duration.ofSeconds(12));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.heard).containsExactly("Acquired");
    }

    /** What its next claim would take is another election, which nobody has begun. */
    @Test
    void whoWasCutOffWhileItsElectionWasDeletedDoesNotBringItBack() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.cut = true;
        rig.pass(Duration.ofSeconds(30));
        rig.server.order("billing", Order.DELETE);
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(30));
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(rig.heard).containsOnlyOnce("Acquired").endsWith("Ended");
        assertThat(rig.server.list().toCompletableFuture().join()).isEmpty();
        assertThat(view().token()).isOne();
    }

    @Test
    void anElectionThatEndsWhileWeStandDownIsToldWithoutWaitingForALease() {
        var candidacy = rig.stand("a", rig.config());
        rig.executor.keeps = true;
        rig.server.order("billing", Order.STAND_DOWN);
        rig.settle();
        rig.server.order("billing", Order.END);
        rig.settle();
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).containsExactly("Acquired", "Revoked REVOKED_BY_OPERATOR", "Ended");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aClaimThatIsCarriedOutTwiceIsAGrant() {
        rig.wire.doubled = true;
        var candidacy = rig.stand("a", rig.config());
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.wire.calls).doesNotContain("release");
    }

    @Test
    void aRenewalThatIsNeverAnsweredCountsAsMissed() {
        rig.stand("a", rig.config());
        rig.wire.cut = true;
        rig.pass(Duration.ofSeconds(7)); // two renewals, of which the first is overdue
        assertThat(rig.figures.attempts).containsExactly(Attempt.WON, Attempt.MISSED);
    }

    /** It may be sent so late that the mandate is over first. */
    @Test
    void theLastRenewalOfAMandateIsCountedWhateverBecameOfIt() {
        for (var answered : List.of(true, false)) {
            try (var late = new Rig()) {
                late.stand("a", late.config().renewInterval(Duration.ofSeconds(6)));
                late.wire.slow = answered;
                late.wire.cut = !answered;
                late.pass(Duration.ofSeconds(9));
                assertThat(late.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
                assertThat(late.figures.attempts).containsExactly(Attempt.WON);
                late.wire.slow = false;
                late.wire.cut = false;
                late.wire.deliver();
                late.pass(Duration.ofSeconds(20));
                assertThat(late.figures.attempts).contains(answered ? Attempt.RENEWED : Attempt.MISSED);
            }
        }
    }

    @Test
    void aClaimThatFailsWhenNobodyWaitsForItAnyMoreCountsOnce() {
        try (var late = new Rig(LateAnswers::new)) {
            var claims = (LateAnswers) late.wire;
            claims.cutFrom = "read";
            late.stand("a", late.config());
            while (late.figures.attempts.isEmpty()) {
                late.pass(Duration.ofMillis(100));
            }
            claims.unavailableFrom = "acquire";
            claims.late.forEach(Runnable::run);
            late.settle();
            assertThat(late.figures.attempts).containsExactly(Attempt.UNANSWERED);
        }
    }

    @Test
    void aStoreThatThrowsInsteadOfAnsweringIsNoAnswer() {
        rig.wire.thrown = new IllegalStateException("not connected");
        var candidacy = rig.stand("a", rig.config());
        rig.wire.thrown = null;
        rig.pass(Duration.ofSeconds(2));
        assertThat(candidacy.isLeader()).isTrue();
        rig.wire.thrown = new IllegalStateException("not connected");
        rig.pass(Duration.ofSeconds(6));
        rig.wire.thrown = null;
        rig.pass(Duration.ofSeconds(60));
        assertThat(rig.heard).containsExactly("Acquired");
    }

    @Test
    void aFatalErrorIsToldAsFailedHoweverItIsReported() {
        rig.wire.thrown = new ElectionException("no right to write");
        var candidacy = rig.stand("a", rig.config());
        rig.wire.thrown = null;
        rig.pass(Duration.ofSeconds(2));
        assertThat(rig.heard).containsExactly("Failed");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aFatalErrorOfARenewalRevokesAndFails() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.failed = new ElectionException("no right to write");
        rig.pass(Duration.ofSeconds(4));
        assertThat(rig.heard).containsExactly("Acquired", "Revoked FAILED", "Failed");
        assertThat(candidacy.status().lastCause()).contains(Cause.FAILED);
        assertThat(rig.figures.losses).containsExactly(Cause.FAILED);
    }

    @Test
    void accessRefusedAtTheStartFailsAtOnce() {
        rig.wire.failed = new AccessRefusedException("wrong password");
        var candidacy = rig.stand("a", rig.config());
        assertThat(rig.heard).containsExactly("Failed");
        rig.pass(Duration.ofSeconds(4)); // nobody answers its release
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThat(candidacy.failure()).contains((ElectionException) rig.wire.failed);
        assertThat(candidacy.status().failure()).isEqualTo(candidacy.failure());
        assertThatThrownBy(candidacy::awaitClose)
                .isInstanceOf(AccessRefusedException.class) // the type says what to do
                .hasMessageContaining("candidacy a in \"billing\" has failed: wrong password")
                .hasCause(rig.wire.failed);
        assertThatThrownBy(() -> candidacy.await(Duration.ofSeconds(1))).isInstanceOf(AccessRefusedException.class);
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO)).isInstanceOf(AccessRefusedException.class);
        assertThatThrownBy(() -> rig.elections.election("billing").state()).isInstanceOf(AccessRefusedException.class);
    }

    @Test
    void aRightThatGoesAndComesBackCostsTheMandateAndNotTheCandidacy() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.failed = new AccessRefusedException("no right to write");
        rig.pass(Duration.ofSeconds(4)); // one renewal was refused
        assertThat(candidacy.isLeader()).isTrue();
        rig.pass(Duration.ofMinutes(4));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE");
        rig.wire.failed = null;
        rig.pass(Duration.ofSeconds(4));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(candidacy.failure()).isEmpty();
    }

    @Test
    void aShortRefusalCostsNothing() {
        var candidacy = rig.stand("a", rig.config());
        rig.wire.failed = new AccessRefusedException("no right to write");
        rig.pass(Duration.ofSeconds(4));
        rig.wire.failed = null;
        rig.pass(Duration.ofMinutes(1));
        assertThat(candidacy.isLeader()).isTrue();
        assertThat(rig.heard).containsExactly("Acquired");
    }

    @Test
    void refusalsThatOutlastThePatienceFailTheCandidacy() {
        var candidacy = rig.stand("a", rig.config().accessPatience(Duration.ofMinutes(1)));
        rig.wire.failed = new AccessRefusedException("no right to write");
        rig.pass(Duration.ofMinutes(2));
        assertThat(rig.heard).containsExactly("Acquired", "Fenced UNREACHABLE", "Failed");
        assertThat(candidacy.failure()).isPresent();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void withALongLeaseAnAnswerIsNotWaitedForAnyLonger() {
        var config = rig.config().lease(Duration.ofDays(366));
        rig.wire.cut = true;
        var candidacy = rig.stand("a", config);
        rig.wire.cut = false;
        rig.pass(Duration.ofSeconds(30));
        rig.wire.calls.clear();
        assertThat(candidacy.isLeader() || candidacy.status().phase() == Phase.STANDING_BY)
                .isTrue();
        rig.wire.cut = true;
        candidacy.resign();
        rig.pass(Duration.ofSeconds(30));
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void aConcessionThatWasLostIsSentAgain() {
        var candidacy = rig.stand("a", rig.config());
        var successor = other("b");
        rig.executor.keeps = true; // the listener does not return
        rig.wire.cut = true;
        candidacy.resign();
        rig.pass(Duration.ofMillis(500));
        rig.wire.cut = false;
        rig.pass(Duration.ofMillis(1_510));
        assertThat(successor.isLeader()).as("after the budget, not the lease").isTrue();
        assertThat(rig.wire.calls).filteredOn("renew"::equals).hasSize(2);
    }

    @Test
    void aDeadCandidateOfHigherPriorityHoldsUpNobodyForMoreThanARetry() {
        var leader = rig.stand("a", rig.config());
        var store = new Rig.Wire(rig.server);
        rig.elections(store)
                .stand(
                        "billing",
                        CandidacyConfig.builder().candidate("high").priority(9).build());
        rig.settle();
        store.cut = true; // it is dead, and still on the list
        var low = other("low");
        rig.pass(Duration.ofSeconds(10));
        leader.resign();
        rig.pass(CandidacyConfig.defaults().retryInterval().plusMillis(1));
        assertThat(low.isLeader()).isTrue();
    }

    /** Claims arrive when they are let, and are never answered. */
    private static final class LateClaims extends Rig.Wire {
        private final List<Runnable> late = new ArrayList<>();

        private LateClaims(LeaseStore server) {
            super(server);
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            late.add(() -> super.acquire(claim));
            return new CompletableFuture<>();
        }
    }

    /** Claims arrive, and are answered, when they are let. */
    private static final class LateAnswers extends Rig.Wire {
        private final List<Runnable> late = new ArrayList<>();

        private LateAnswers(LeaseStore server) {
            super(server);
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            var answer = new CompletableFuture<Answer>();
            late.add(() -> super.acquire(claim).whenComplete((told, error) -> {
                if (error == null) {
                    answer.complete(told);
                } else {
                    answer.completeExceptionally(error);
                }
            }));
            return answer;
        }
    }

    /** Another takes the seat, though its lease has not run out. */
    private void takenBy(String candidate) {
        var held = view().holder().orElseThrow();
        rig.server.release(new Claim(
                "billing", "nobody", held.nonce(), Duration.ofSeconds(10), Duration.ofSeconds(40), 0, Map.of()));
        rig.wire.deaf = true;
        other(candidate);
        rig.wire.deaf = false;
    }

    private List<String> listed() {
        return view().candidates().stream().map(Candidate::id).sorted().toList();
    }

    private View view() {
        return rig.server.read("billing").toCompletableFuture().join();
    }

    private LoopCandidacy other(String candidate) {
        var candidacy = (LoopCandidacy) rig.elections(rig.server)
                .stand("billing", CandidacyConfig.builder().candidate(candidate).build());
        rig.settle();
        return candidacy;
    }
}
