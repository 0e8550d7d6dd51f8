package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.HandOver;
import dev.bellwether.HandOver.Outcome;
import dev.bellwether.Leader;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.ForwardingLoop;
import dev.bellwether.internal.record.ForwardingRecordStore;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.HandOverNote.Stage;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Seats that are handed over by name, and what candidates show of themselves. */
class HandOverTest {
    private static final Duration WITHIN = Duration.ofSeconds(5);
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final Rig rig = new Rig();
    /** What a machine asks of its seat, and what it wants done. */
    private final List<String> asked = new ArrayList<>();

    private final SettingsTest.Written effects = new SettingsTest.Written();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void aNameThatNoCandidateCanHaveIsRefused() {
        stand("a");
        assertThatThrownBy(() -> rig.elections.election("billing").handOver("", WITHIN))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("candidate id is blank");
    }

    @Test
    void theNamedStandbyGetsTheSeatWhenItIsReady() {
        var first = stand("a");
        var second = stand("b");
        var third = stand("c");
        var outcome = handOver("c");
        rig.settle();
        assertThat(third.mandate().orElseThrow().token()).isEqualTo(2);
        assertThat(first.isLeader()).isFalse();
        assertThat(second.isLeader()).isFalse();
        assertThat(done(outcome).leader().map(Leader::candidate)).contains("c");
        assertThat(rig.heard).containsSubsequence("a Acquired", "c Preparing", "a Revoked HANDED_OVER", "c Acquired");
        assertThat(rig.heard).doesNotContain("b Preparing", "b Acquired", "a Fenced HANDED_OVER");
        rig.pass(Duration.ofSeconds(30)); // the former leader stands by, as the other does
        assertThat(third.isLeader()).isTrue();
        assertThat(view().note()).isEmpty();
    }

    @Test
    void theFormerLeaderIsASuccessorAgainSoon() {
        var first = stand("a");
        stand("b");
        var there = handOver("b");
        rig.settle();
        assertThat(done(there).outcome()).isEqualTo(Outcome.DONE);
        rig.pass(rig.config().build().retryInterval().multipliedBy(2));
        var back = handOver("a");
        rig.settle();
        assertThat(done(back).outcome()).isEqualTo(Outcome.DONE);
        assertThat(first.mandate().orElseThrow().token()).isEqualTo(3);
    }

    @Test
    void theLeaderLeadsOnWhileTheStandbyGetsReady() {
        var leader = stand("a");
        var standby = stand("b");
        rig.executor.keeps = true;
        var outcome = handOver("b");
        rig.pass(WITHIN.minusMillis(100));
        assertThat(leader.isLeader()).isTrue();
        rig.executor.letGo();
        rig.settle();
        assertThat(standby.isLeader()).isTrue();
        assertThat(leader.isLeader()).isFalse();
        assertThat(done(outcome).isDone()).isTrue();
    }

    @Test
    void theTaskRunsThoughTheSeatComesBeforeGettingReadyHasEnded() {
        var steps = new AtomicInteger();
        var leader = rig.stand("a", CandidacyConfig.builder());
        var standby = rig.stand("b", CandidacyConfig.builder());
        standby.whileLeading(mandate -> steps.incrementAndGet());
        rig.executor.keeps = true;
        var outcome = handOver("b");
        rig.settle();
        leader.resign();
        rig.settle();
        assertThat(standby.isLeader()).isTrue();
        assertThat(steps).hasValue(0);
        rig.executor.letGo();
        rig.settle();
        assertThat(steps).hasPositiveValue();
        assertThat(done(outcome).isDone()).isTrue();
    }

    @Test
    void aStandbyThatIsNotReadyInTimeChangesNothing() {
        var leader = stand("a");
        var standby = stand("b");
        rig.executor.keeps = true;
        var outcome = handOver("b");
        rig.pass(WITHIN.plusMillis(1));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.NOT_READY);
        assertThat(done(outcome).leader().map(Leader::candidate)).contains("a");
        rig.executor.letGo(); // too late
        rig.pass(Duration.ofSeconds(30));
        assertThat(leader.mandate().orElseThrow().token()).isOne();
        assertThat(standby.isLeader()).isFalse();
        assertThat(view().note()).isEmpty();
    }

    /** Nobody may be left to withdraw the order. */
    @Test
    void whoIsReadyTooLateDoesNotSaySo() {
        for (var late : List.of(false, true)) {
            asked.clear();
            var machine = standby();
            var order = order(Stage.ASKED, 1, "b");
            machine.prepare(rig.clock.now(), order, "a");
            rig.clock.forward(late ? WITHIN : WITHIN.minusNanos(1));
            machine.prepared(rig.clock.now(), order);
            assertThat(asked).isEqualTo(late ? List.of("claim") : List.of("claim", "ready"));
        }
    }

    @Test
    void whoDoesNotClaimTheSeatIsNotTakenForReadyAndDoesNotGetReady() {
        var machine = standby();
        var order = order(Stage.ASKED, 1, "b");
        machine.standAside(rig.clock.now());
        machine.prepare(rig.clock.now(), order, "a");
        machine.prepared(rig.clock.now(), order);
        assertThat(asked).containsExactly("claim", "release");
        assertThat(effects.done).isEmpty();
    }

    @Test
    void aStandbyWhoseListenerThrowsIsNotReady() {
        var leader = stand("a");
        rig.stand("b", rig.config().listener(event -> {
            if (event instanceof LeadershipEvent.Preparing) {
                throw new IllegalStateException("no memory for caches");
            }
        }));
        var outcome = handOver("b");
        rig.pass(WITHIN.plusMillis(1));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.NOT_READY);
        assertThat(leader.mandate().orElseThrow().token()).isOne();
        assertThat(rig.figures.failures).singleElement().isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aStandbyThatLeavesWhileItGetsReadyChangesNothing() {
        var leader = stand("a");
        var standby = stand("b");
        rig.executor.keeps = true;
        var outcome = handOver("b");
        rig.settle();
        standby.resign();
        rig.executor.letGo();
        rig.pass(WITHIN.plusMillis(1));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.NOT_READY);
        assertThat(leader.mandate().orElseThrow().token()).isOne();
    }

    @Test
    void whatWasToldNotToBeOrderedIsNotOrderedAfterwards() {
        var leader = stand("a");
        stand("b");
        rig.wire.slow = true;
        var outcome = handOver("b");
        rig.pass(Duration.ofSeconds(3));
        assertThat(outcome).isCompletedExceptionally();
        rig.wire.slow = false;
        rig.wire.deliver();
        rig.pass(WITHIN);
        assertThat(leader.mandate().orElseThrow().token()).isOne();
        assertThat(view().note()).isEmpty();
        assertThat(rig.heard).doesNotContain("b Preparing");
    }

    @Test
    void anOrderWhoseAnswerIsMissingIsNotToldNotToHaveBeenGiven() {
        stand("a");
        stand("b");
        var outcome = handOver("b");
        rig.wire.cutFrom = "note";
        rig.pass(WITHIN.plusSeconds(3));
        assertThatThrownBy(outcome::join).hasMessageContaining("it may still be carried out");
    }

    /** As a store may instead of answering. */
    @Test
    void anOrderFailsWithTheReasonIfTheSeatCannotBeAskedFor() {
        stand("a");
        stand("b");
        rig.wire.thrown = new IllegalStateException("planted: the client is closed");
        var outcome = handOver("b", lasting());
        rig.settle();
        assertThat(outcome).isCompletedExceptionally();
        assertThatThrownBy(outcome::join).hasMessageContaining("planted: the client is closed");
    }

    @Test
    void anOrderIsDrivenOnThoughAQuestionForTheSeatThrows() {
        stand("a");
        var standby = stand("b");
        rig.executor.keeps = true;
        var outcome = handOver("b", lasting());
        rig.settle();
        rig.wire.thrown = new IllegalStateException("planted: the client is closed");
        rig.pass(Duration.ofSeconds(1)); // until it has looked again
        rig.wire.thrown = null;
        rig.executor.letGo();
        rig.pass(Duration.ofSeconds(2));
        assertThat(standby.isLeader()).isTrue();
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.DONE);
    }

    @Test
    void anOrderFailsWithTheReasonIfTheSeatCannotBeWatched() {
        var queue = new Queue();
        queue.isWatched = false;
        var outcome = order(queue, "b", lasting()).begin().toCompletableFuture();
        rig.settle();
        assertThat(outcome).isCompletedExceptionally();
        assertThatThrownBy(outcome::join).hasMessageContaining("planted: no watch");
        assertThat(queue.seat.note()).as("what has failed is not ordered").isEmpty();
    }

    @Test
    void whatBecameOfAnOrderIsToldThoughItsWatchCannotBeEndedInOrder() {
        var queue = new Queue();
        queue.isUnwatched = false;
        var outcome = order(queue, "b", lasting()).begin().toCompletableFuture();
        rig.settle();
        queue.readyIs("b");
        rig.settle();
        queue.first(6, "b", "");
        rig.pass(Duration.ofSeconds(2));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.DONE);
        assertThat(rig.heard).contains("a turn threw: java.lang.IllegalStateException: planted: no end of a watch");
    }

    /** Returns the loop as one that outlasts a turn that throws. */
    private Loop lasting() {
        return new ForwardingLoop(rig.loop) {
            @Override
            public void execute(Runnable turn) {
                super.execute(() -> run(turn));
            }

            @Override
            public Timer at(long nanos, Runnable turn) {
                return super.at(nanos, () -> run(turn));
            }

            private void run(Runnable turn) {
                try {
                    turn.run();
                } catch (RuntimeException e) {
                    rig.heard.add("a turn threw: " + e);
                }
            }
        };
    }

    @Test
    void whatCannotBeHandedOverIsRefusedAtOnce() {
        assertThat(done(handOver("b")).outcome()).isEqualTo(Outcome.NOBODY_LEADS);
        var leader = stand("a");
        assertThat(done(handOver("b")).outcome()).isEqualTo(Outcome.NOT_A_CANDIDATE);
        assertThat(done(handOver("")).outcome()).isEqualTo(Outcome.NOT_A_CANDIDATE);
        assertThat(done(handOver("a")).outcome()).isEqualTo(Outcome.DONE);
        stand("b");
        rig.executor.keeps = true;
        var unused = handOver("b");
        rig.settle();
        assertThat(done(handOver("b")).outcome()).isEqualTo(Outcome.UNDER_WAY);
        assertThat(leader.isLeader()).isTrue();
    }

    @Test
    void theOneThatIsReadyFirstGetsTheSeatIfNoneIsNamed() {
        var leader = stand("a");
        rig.stand("b", rig.config().listener(event -> {
            if (event instanceof LeadershipEvent.Preparing) {
                throw new IllegalStateException("not this one");
            }
        }));
        var standby = stand("c");
        var outcome = handOver("");
        rig.settle();
        assertThat(done(outcome).leader().map(Leader::candidate)).contains("c");
        assertThat(standby.isLeader()).isTrue();
        assertThat(leader.isLeader()).isFalse();
    }

    @Test
    void aSuccessorThatDiesWhenItIsReadyCostsARetryInterval() {
        var leader = stand("a");
        var standby = stand("b");
        note("", order(Stage.READY, 1, "gone"));
        rig.settle();
        assertThat(leader.isLeader()).isFalse();
        var retry = rig.config().build().retryInterval();
        rig.pass(retry.minusMillis(1));
        assertThat(standby.isLeader()).isFalse(); // it holds back
        rig.pass(Duration.ofMillis(2));
        assertThat(standby.isLeader()).isTrue();
        rig.pass(Duration.ofSeconds(20));
        assertThat(standby.isLeader()).isTrue();
    }

    @Test
    void theFormerLeaderLeadsAgainIfNobodyElseDoes() {
        var leader = stand("a");
        note("", order(Stage.READY, 1, "gone"));
        var retry = rig.config().build().retryInterval();
        rig.pass(retry.multipliedBy(2).minusMillis(1));
        assertThat(leader.isLeader()).isFalse();
        rig.pass(Duration.ofMillis(2));
        assertThat(leader.mandate().orElseThrow().token()).isEqualTo(2);
    }

    /** Where candidates queue, observers take the first for the leader. It may be dead. */
    @Test
    void aSuccessorThatIsFirstInAQueueHasTheSeatWhenItHasTakenTheNoteAway() {
        var queue = new Queue();
        var outcome = handOverToTheNextIn(queue);
        assertThat(outcome).isNotDone();
        queue.first(7, "b", "");
        rig.pass(Duration.ofSeconds(1));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.DONE);
    }

    @Test
    void aSuccessorThatOnlyCameToBeTheFirstInAQueueNeverLed() {
        for (var takenByThen : List.of(true, false)) {
            var queue = new Queue();
            var outcome = handOverToTheNextIn(queue);
            queue.first(9, "c", takenByThen ? "" : queue.seat.note());
            assertThat(done(outcome).outcome()).isEqualTo(Outcome.TAKEN_BY_ANOTHER);
            assertThat(done(outcome).leader().map(Leader::candidate)).contains("c");
        }
    }

    /** What watching tells is no proof that it led, however late an answer is. */
    @Test
    void aSuccessorOfWhomOnlyWatchersWereToldThatItIsTheFirstInAQueueNeverLed() {
        var queue = new Queue();
        var outcome = handOver(queue, "b");
        rig.settle();
        var ready = queue.readyIs("b");
        rig.settle();
        queue.answers = false;
        queue.first(7, "b", ready);
        queue.first(9, "c", "");
        queue.answers = true;
        rig.pass(Duration.ofSeconds(2));
        assertThat(done(outcome).outcome()).isEqualTo(Outcome.TAKEN_BY_ANOTHER);
        assertThat(done(outcome).leader().map(Leader::candidate)).contains("c");
    }

    /** As by a server that has become read-only: it was asked again with each answer. */
    @Test
    void aWithdrawalThatIsRefusedIsNotTriedAgainAtOnce() {
        var queue = new Queue();
        queue.withdraws = false;
        var outcome = handOver(queue, "b");
        rig.pass(WITHIN.plus(TIMEOUT).plusSeconds(1));
        assertThat(outcome).isCompletedExceptionally();
        assertThat(queue.withdrawals).isBetween(2, 20);
    }

    /** As of a leader that proclaims something as often: each time makes us look. */
    @Test
    void anOrderIsDrivenThoughWatchingTellsOfMoreThanOneChangeASecond() {
        var queue = new Queue();
        var order = order(queue, "b");
        var outcome = order.begin();
        rig.settle();
        toldTwiceASecond(queue, 4);
        var then = System.nanoTime();
        toldTwiceASecond(queue, 4);
        assertThat(outcome.toCompletableFuture()).isNotDone();
        assertThat(order.isDrivenAt(then + TIMEOUT.plusSeconds(10).toNanos())).isTrue();
    }

    @Test
    void anOrderEndsThoughWatchingTellsOfMoreThanOneChangeASecond() {
        var queue = new Queue();
        var outcome = handOver(queue, "b");
        rig.settle();
        queue.readyIs("b"); // and the leader does not stand down
        toldTwiceASecond(queue, 10);
        assertThat(outcome).isCompletedExceptionally();
        assertThatThrownBy(outcome::join).hasMessageContaining("it may still be carried out");
    }

    private void toldTwiceASecond(Queue queue, int times) {
        for (var i = 0; i < times; i++) {
            rig.pass(Duration.ofMillis(500));
            queue.watcher.accept(queue.seat.noted(View.UNREAD));
            rig.settle();
        }
    }

    @Test
    void anOrderThatNobodyWaitsForAnyMoreIsWithdrawnByTheLeader() {
        var leader = stand("a");
        note("", order(Stage.ASKED, 1, "b"));
        rig.pass(Duration.ofSeconds(30));
        assertThat(view().note()).isEmpty();
        stand("b");
        rig.pass(Duration.ofSeconds(30));
        assertThat(leader.mandate().orElseThrow().token()).isOne();
    }

    @Test
    void aNoticeThatIsNotTrueHandsNothingOver() {
        var leader = stand("a");
        stand("b");
        rig.wire.tell(view().noted(order(Stage.READY, 1, "b").text()));
        rig.wire.tell(view().noted(order(Stage.ASKED, 1, "b").text()));
        rig.settle();
        assertThat(leader.isLeader()).isTrue();
        assertThat(rig.heard).doesNotContain("b Preparing");
    }

    @Test
    void noticesThatAreNotTruePutNoStandbyOffForever() {
        var dead = new Rig.Wire(rig.server);
        rig.elections(dead).stand("billing", rig.config().candidate("dead").build());
        rig.settle();
        var standby = stand("b");
        dead.cut = true;
        var seat = view();
        var lease = rig.config().build().lease();
        var retry = rig.config().build().retryInterval();
        for (var i = 0; i < 200 && !standby.isLeader(); i++) {
            rig.wire.tell((i % 2 == 0 ? seat : seat.heldBy(Optional.empty(), Duration.ZERO))
                    .noted(new HandOverNote(1, "order" + i, Stage.READY, WITHIN, "c").text()));
            rig.pass(Duration.ofMillis(100));
        }
        assertThat(standby.isLeader()).isTrue();
        assertThat(Duration.ofNanos(rig.clock.nanos() - 1_000_000_000_000L))
                .isLessThan(lease.plus(retry.multipliedBy(4)));
    }

    @Test
    void aNoteOfAnEarlierMandateIsNone() {
        var note = order(Stage.READY, 7, "b");
        assertThat(View.of("billing", 7).noted(note.text()).handOver()).contains(note);
        assertThat(View.of("billing", 8).noted(note.text()).handOver()).isEmpty();
    }

    @Test
    void aNoteIsReadAsItWasWritten() {
        for (var to : List.of("", "b", " b c ", "ü=&")) {
            var note = order(Stage.ASKED, 9, to);
            assertThat(HandOverNote.parse(note.text())).contains(note);
            assertThat(HandOverNote.parse(note.readyBy("x y").text())).contains(note.readyBy("x y"));
        }
        for (var text : List.of("", "ASKED", "READY x o PT1S b", "READY 1 o 1s b", "DONE 1 o PT1S b")) {
            assertThat(HandOverNote.parse(text)).isEmpty();
        }
    }

    @Test
    void aListenerThatHandsOverWouldWaitForItself() {
        var thrown = new ArrayList<Throwable>();
        var candidacy = new CompletableFuture<LoopCandidacy>();
        rig.executor.keeps = true;
        candidacy.complete(rig.stand("a", rig.config().listener(event -> {
            try {
                candidacy.join().handOver("b", WITHIN);
            } catch (IllegalStateException e) {
                thrown.add(e);
            }
        })));
        rig.executor.letGo();
        rig.settle();
        assertThat(thrown).singleElement().isInstanceOf(IllegalStateException.class);
    }

    @Test
    void whatALeaderProclaimsIsSeenByWatchers() {
        var leader = stand("a");
        var seen = new ArrayList<Map<String, String>>();
        var watch = rig.elections.election("billing").watch(now -> now.ifPresent(one -> seen.add(one.metadata())));
        rig.settle();
        leader.proclaim(Map.of("version", "2"));
        rig.settle();
        assertThat(seen).containsExactly(Map.of(), Map.of("version", "2"));
        assertThat(rig.wire.calls).filteredOn("renew"::equals).hasSize(1); // at once
        watch.close();
    }

    @Test
    void whatAStandbyProclaimsIsItsOwnWhenItLeads() {
        var leader = stand("a");
        var standby = stand("b");
        standby.proclaim(Map.of("version", "3"));
        leader.proclaim(Map.of("version", "2"));
        rig.settle();
        assertThat(view().leader().orElseThrow().metadata()).containsEntry("version", "2");
        var unused = handOver("b");
        rig.settle();
        assertThat(view().leader().orElseThrow().metadata()).containsEntry("version", "3");
        rig.pass(Duration.ofSeconds(20));
        assertThat(view().leader().orElseThrow().metadata()).containsEntry("version", "3");
        assertThat(view().candidates())
                .filteredOn(one -> one.id().equals("a"))
                .singleElement()
                .satisfies(one -> assertThat(one.metadata()).containsEntry("version", "2"));
    }

    @Test
    void whatIsTooLongIsNotProclaimed() {
        var leader = stand("a");
        assertThatThrownBy(() -> leader.proclaim(Map.of("k", "v".repeat(2_000))))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("1024");
    }

    @ParameterizedTest
    @ValueSource(strings = {"crowded", "the list has no answer", "a name on it has no answer", "cut off"})
    void whoIsNotKnownNotToStandIsGivenTheSeat(String why) {
        var records = new HalfListed(rig.clock);
        var leases = LeaseStore.over(records, rig.clock, () -> "stamp" + records.stamps.incrementAndGet());
        rig.elections(leases).stand("billing", config("a").candidate("a").build());
        rig.settle();
        records.why = why;
        assertThat(done(handOver(LazyArbiter.arbiter(leases), "a")).outcome()).isEqualTo(Outcome.DONE);
        var standby = rig.elections(leases)
                .stand("billing", config("b").candidate("b").build());
        rig.settle();
        var outcome = handOver(LazyArbiter.arbiter(leases), "b");
        rig.settle();
        assertThat(done(outcome).outcome()).as(why).isEqualTo(Outcome.DONE);
        assertThat(standby.isLeader()).as(why).isTrue();
        records.why = "";
        assertThat(done(handOver(LazyArbiter.arbiter(leases), "c")).outcome()).isEqualTo(Outcome.NOT_A_CANDIDATE);
    }

    private LoopCandidacy stand(String candidate) {
        return rig.stand(candidate, config(candidate));
    }

    private CandidacyMachine standby() {
        var standing = new Standing("billing", "b", "i", rig.config().build());
        var machine = new CandidacyMachine(
                standing, rig.clock, new SettingsTest.NoSeat(asked), effects, Duration.ofMillis(500));
        machine.start();
        return machine;
    }

    private CandidacyConfig.Builder config(String candidate) {
        return rig.config().listener(rig.heardBy(candidate + " "));
    }

    /** Has a seat handed over until its successor is the first in the queue, and has not taken the note away. */
    private CompletableFuture<HandOver> handOverToTheNextIn(Queue queue) {
        var outcome = handOver(queue, "b");
        rig.settle();
        queue.first(7, "b", queue.readyIs("b"));
        rig.pass(Duration.ofSeconds(1));
        return outcome;
    }

    private CompletableFuture<HandOver> handOver(String to) {
        return handOver(LazyArbiter.arbiter(rig.wire), to);
    }

    private CompletableFuture<HandOver> handOver(Arbiter arbiter, String to) {
        return order(arbiter, to).begin().toCompletableFuture();
    }

    private CompletableFuture<HandOver> handOver(String to, Loop loop) {
        return order(LazyArbiter.arbiter(rig.wire), to, loop).begin().toCompletableFuture();
    }

    private HandOverOrder order(Arbiter arbiter, String to) {
        return order(arbiter, to, rig.loop);
    }

    private static HandOverOrder order(Arbiter arbiter, String to, Loop loop) {
        return new HandOverOrder(
                "billing",
                arbiter,
                loop,
                TIMEOUT,
                Optional.of(to).filter(one -> !one.isEmpty()),
                WITHIN,
                Optional.empty());
    }

    private HandOver done(CompletableFuture<HandOver> outcome) {
        rig.settle();
        assertThat(outcome).isCompleted();
        return outcome.join();
    }

    private static HandOverNote order(Stage stage, long token, String to) {
        return new HandOverNote(token, "order", stage, WITHIN, to);
    }

    private void note(String expected, HandOverNote note) {
        assertThat(rig.server
                        .note("billing", note.token(), expected, note.text())
                        .toCompletableFuture()
                        .join())
                .isTrue();
    }

    private View view() {
        return rig.server.read("billing").toCompletableFuture().join();
    }

    /** Records of which the list tells some only, for this reason. */
    private static final class HalfListed extends ForwardingRecordStore {
        private final AtomicInteger stamps = new AtomicInteger();
        private final RecordStore records;
        private String why = "";

        HalfListed(Clock clock) {
            this(new MemoryRecordStore(clock, RecordTraits.PLAIN.listing(Duration.ofMinutes(10))));
        }

        private HalfListed(RecordStore records) {
            super(records);
            this.records = records;
        }

        @Override
        public Watch watch(RecordKey key, Consumer<Found> heard) {
            return records.watch(key, heard);
        }

        @Override
        public boolean isCrowded() {
            return why.equals("crowded");
        }

        @Override
        public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
            if (why.startsWith("the list")) {
                return CompletableFuture.failedStage(new UnavailableException("no answer"));
            }
            return why.equals("cut off")
                    ? CompletableFuture.completedStage(new Listing(List.of(), Optional.empty(), false))
                    : super.list(beginning, parts, timeout);
        }

        @Override
        public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
            return why.startsWith("a name") && key.parts().size() == RecordKey.OF_STANDBY
                    ? CompletableFuture.failedStage(new UnavailableException("no answer"))
                    : super.read(key, urgency, timeout);
        }
    }

    /** What an observer sees of a queue, whose first is "a" in the beginning, and is taken for the leader. */
    private static final class Queue implements Arbiter {
        private static final int MANY = 1_000; // beyond which it obeys, so that a test comes to an end

        private View seat = seat(5, "a");
        private Consumer<View> watcher = view -> {};
        private boolean answers = true;
        private boolean withdraws = true;
        private boolean isWatched = true;
        private boolean isUnwatched = true;
        private int withdrawals;

        private static View seat(long token, String first) {
            var holder = new View.Holder(first, first, Instant.EPOCH, Map.of());
            return View.of("billing", token).heldBy(Optional.of(holder), Duration.ZERO);
        }

        /** Says that this one is ready, and returns the note. */
        String readyIs(String candidate) {
            var ready = seat.handOver().orElseThrow().readyBy(candidate).text();
            seat = seat.noted(ready);
            watcher.accept(seat);
            return ready;
        }

        void first(long token, String candidate, String note) {
            seat = seat(token, candidate).noted(note);
            watcher.accept(seat.noted(note.isEmpty() ? "" : View.UNREAD));
        }

        @Override
        public CompletionStage<View> read(String election, Loop loop) {
            return answers ? CompletableFuture.completedStage(seat) : new CompletableFuture<>();
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher, Loop loop) {
            if (!isWatched) {
                throw new IllegalStateException("planted: no watch");
            }
            this.watcher = watcher;
            return isUnwatched
                    ? Watch.NONE
                    : () -> {
                        throw new IllegalStateException("planted: no end of a watch");
                    };
        }

        @Override
        public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
            if (note.isEmpty()) {
                withdrawals++;
                if (!withdraws && withdrawals < MANY) {
                    return CompletableFuture.failedStage(new UnavailableException("read only"));
                }
            }
            seat = seat.noted(note);
            return CompletableFuture.completedStage(true);
        }

        @Override
        public boolean listsCandidates() {
            return false;
        }

        @Override
        public Seat seat(Standing standing, Claimant claimant, Loop loop) {
            throw new UnsupportedOperationException("nobody stands here");
        }

        @Override
        public CompletionStage<Boolean> order(String election, Order order) {
            throw new UnsupportedOperationException("no orders but hand-overs: " + order);
        }

        @Override
        public CompletionStage<List<String>> list() {
            return CompletableFuture.completedStage(List.of("billing"));
        }

        @Override
        public String describe() {
            return "a queue";
        }

        @Override
        public void close() {}
    }
}
