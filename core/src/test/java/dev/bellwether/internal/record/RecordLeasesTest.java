package dev.bellwether.internal.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the engine makes of a store, beyond what the contract asks. */
class RecordLeasesTest {
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final Duration PRESENCE = Duration.ofMinutes(10);
    /** More elections than are kept in mind. */
    private static final int MANY = 10_500;
    /** So many come after those that are of no interest are forgotten. */
    private static final int FEW = 600;

    private final SettableClock clock = new SettableClock();
    private final RecordStore records = new MemoryRecordStore(clock, RecordTraits.PLAIN.listing(PRESENCE));
    private final AtomicLong stamps = new AtomicLong();
    private final LeaseStore leases = LeaseStore.over(records, clock, () -> "stamp" + stamps.incrementAndGet());

    @Test
    void oneThatHasLeftIsNotListedAgainByARenewalThatComesLater() {
        var claim = claim("a");
        var token = get(leases.acquire(claim)).view().token();
        assertThat(get(leases.read("e")).candidates()).extracting(Candidate::id).containsExactly("a");
        assertThat(get(leases.release(claim)).granted()).isTrue();
        assertThat(get(leases.renew(List.of(new Lease(claim, token, LEASE))).get(0))
                        .granted())
                .isFalse();
        assertThat(get(leases.read("e")).candidates()).isEmpty();
    }

    @Test
    void aLeaseThatWasCutShortIsNotExtendedByARenewalThatCameLate() {
        var late = new LateWrites(records);
        var slow = LeaseStore.over(late, clock, () -> "stamp" + stamps.incrementAndGet());
        var claim = claim("a");
        var token = get(slow.acquire(claim)).view().token();
        late.hold();
        var renewal = slow.renew(List.of(new Lease(claim, token, LEASE))).get(0);
        late.holdNoMore();
        var conceded = new Lease(claim, token, LEASE.dividedBy(5));
        assertThat(get(slow.renew(List.of(conceded)).get(0)).granted()).isTrue();
        late.carryOut();
        assertThat(failure(renewal)).hasMessageContaining("\"e\" was cut short");
        clock.nanos += LEASE.dividedBy(5).toNanos();
        assertThat(get(slow.acquire(claim("b"))).granted())
                .as("free after the end of the work")
                .isTrue();
    }

    @Test
    void noReleaseIsAnsweredWhileTheClaimThatItGivesBackIsUnderWay() {
        var late = new LateWrites(records);
        var slow = over(late);
        late.hold();
        var claimed = slow.acquire(claim("a"));
        late.holdNoMore();
        var releases = List.of(slow.release(claim("a")), slow.release(claim("a"))); // the second tries again
        assertThat(releases).noneMatch(release -> release.toCompletableFuture().isDone());
        late.carryOut();
        assertThat(get(claimed).granted()).isTrue();
        releases.forEach(RecordLeasesTest::get);
        assertThat(get(leases.read("e")).holder()).isEmpty();
    }

    /** The simulator has stores that never answer; a real one gives a request up. */
    @Test
    void aClaimThatIsNeverAnsweredKeepsNoReleaseWaitingForever() {
        var late = new LateWrites(records);
        var slow = LeaseStore.over(late, clock, () -> "stamp" + stamps.incrementAndGet());
        late.hold();
        slow.acquire(claim("a"));
        late.holdNoMore();
        assertThat(slow.release(claim("a")).toCompletableFuture()).isNotDone();
        clock.nanos += LEASE.toNanos();
        assertThat(slow.release(claim("a")).toCompletableFuture()).isCompletedWithValueMatching(one -> !one.granted());
    }

    @Test
    void aClaimThatIsCarriedOutAfterItsReleaseWasAnsweredTakesNothing() {
        for (var former : List.of("nobody", "b")) {
            var election = "after " + former;
            var late = new LateWrites(records);
            var slow = over(late);
            if (former.equals("b")) {
                get(leases.acquire(claim(election, former, 1)));
                get(leases.release(claim(election, former, 1)));
            }
            late.hold();
            var claims = List.of(slow.acquire(claim(election, "a", 1)), slow.acquire(claim(election, "a", 2)));
            late.giveUp();
            claims.forEach(one -> assertThat(failure(one)).hasMessageContaining("no answer"));
            late.holdNoMore();
            assertThat(get(slow.release(claim(election, "a", 2))).granted()).isFalse();
            late.carryOut();
            assertThat(get(leases.read(election)).holder()).as(election).isEmpty();
            assertThat(get(slow.acquire(claim(election, "c", 1))).granted())
                    .as("free at once, %s", election)
                    .isTrue();
        }
    }

    /** A claim is several requests, each of which may take that long. */
    @Test
    void aClaimThatWasGivenUpWritesNothingMoreOnceItsReleaseWasAnswered() {
        for (var step : List.of("read", "write")) {
            var election = "during its " + step;
            var late = new LateWrites(records);
            var slow = over(late);
            late.hold();
            late.holdReads();
            var claimed = slow.acquire(claim(election, "a", 1));
            clock.nanos += LEASE.dividedBy(4).toNanos();
            if (step.equals("write")) {
                late.carryOut(); // the reading; the write is under way now
            }
            late.holdNoMore();
            clock.nanos += LEASE.dividedBy(4).toNanos();
            assertThat(get(slow.release(claim(election, "a", 1))).granted()).isFalse();
            late.carryOut();
            assertThat(get(leases.read(election)).holder()).as(election).isEmpty();
            assertThat(failure(claimed)).hasMessageContaining("given up");
            assertThat(get(slow.acquire(claim(election, "a", 2))).granted())
                    .as("a later claim of the same candidacy, %s", election)
                    .isTrue();
        }
    }

    /** A claim that was given up is no longer known once another has been made, but must be withdrawn all the same. */
    @Test
    void allClaimsThatWereGivenUpWriteNothingMoreOnceTheReleaseWasAnswered() {
        var late = new LateWrites(records);
        var slow = over(late);
        late.holdReads();
        slow.acquire(claim("e", "a", 1));
        clock.nanos += LEASE.dividedBy(2).toNanos();
        slow.acquire(claim("e", "a", 2));
        clock.nanos += LEASE.dividedBy(2).toNanos();
        late.holdNoMore();
        get(slow.release(claim("e", "a", 2)));
        late.carryOut();
        assertThat(get(leases.read("e")).holder()).isEmpty();
    }

    /** Nobody may write over the record of another to keep our own claim from it. */
    @Test
    void aReleaseHasNoAnswerWhileAClaimMayStillTakeTheSeatOfOneThatIsGone() {
        var late = new LateWrites(records);
        var slow = over(late);
        get(leases.acquire(claim("gone")));
        get(slow.acquire(claim("a")));
        clock.nanos += LEASE.toNanos();
        late.hold();
        var claimed = slow.acquire(claim("a"));
        late.giveUp();
        assertThat(failure(claimed)).hasMessageContaining("no answer");
        late.holdNoMore();
        assertThat(failure(slow.release(claim("a")))).hasMessageContaining("may still be carried out");
        late.carryOut();
        assertThat(get(slow.release(claim("a"))).granted()).isTrue();
        assertThat(get(leases.read("e")).holder()).isEmpty();
    }

    @Test
    void leasesThatAreRenewedAtDifferentTimesShareASession() {
        var held = held(leases, 20);
        for (var i = 0; i < held.size(); i++) {
            clock.nanos += LEASE.dividedBy(40).toNanos();
            assertThat(get(leases.renew(held.subList(i, i + 1)).get(0)).granted())
                    .isTrue();
        }
        assertThat(sessions()).hasSize(1);
    }

    /** Since when a seat is held stands in the record from then on, and the store told it when the seat was taken. */
    @Test
    void theFirstRenewalReadsNothing() {
        clock.nanos += LEASE.toNanos(); // at zero no time is known
        var late = new LateWrites(records);
        var slow = over(late);
        var claim = claim("a");
        var token = get(slow.acquire(claim)).view().token();
        late.holdReads();
        var renewal = slow.renew(List.of(new Lease(claim, token, LEASE))).get(0);
        assertThat(renewal.toCompletableFuture()).isCompletedWithValueMatching(Answer::granted);
    }

    /** On a store that is slow the second writing of a session begins before the first has an answer. */
    @Test
    void aSessionThatIsMadeTwiceLives() {
        var late = new LateWrites(records);
        var slow = over(late);
        var held = held(slow, 20);
        late.hold();
        var first = slow.renew(held);
        clock.nanos += LEASE.dividedBy(20).toNanos();
        var second = slow.renew(held);
        late.holdNoMore();
        late.carryOut();
        assertThat(first).allMatch(renewal -> get(renewal).granted());
        assertThat(second).allMatch(renewal -> get(renewal).granted());
        assertThat(sessions()).hasSize(1);
        assertThat(get(records.read(RecordKey.seat("election7"), Urgency.LOOK, LEASE))
                        .text())
                .contains("session=" + sessions().get(0).parts().get(1));
    }

    /** The renewal of the session says nothing of a seat that a late write may take out of it. */
    @Test
    void aSharedSeatThatALateWriteMayCutShortIsRenewedByAWriteOfItsOwn() {
        var late = new LateWrites(records);
        var slow = over(late);
        var held = held(slow, 20);
        slow.renew(held).forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
        var one = held.get(7);
        late.hold();
        slow.renew(List.of(new Lease(one.claim(), one.token(), LEASE.dividedBy(20))));
        late.giveUp();
        late.holdNoMore();
        assertThat(get(slow.renew(List.of(one)).get(0)).granted()).isTrue();
        late.carryOut();
        var other = over(records);
        var claim = new Claim("election7", "b", "b-1", LEASE, LEASE.multipliedBy(4), 0, Map.of());
        assertThat(get(other.acquire(claim)).granted()).isFalse();
        clock.nanos += LEASE.dividedBy(2).toNanos();
        assertThat(get(other.acquire(claim)).granted())
                .as("half a lease after it was renewed for a whole one")
                .isFalse();
    }

    /** The session goes on for the others, and would keep the seat as long as it does. */
    @Test
    void aSharedSeatThatIsConcededAlongWithRenewalsLeavesItsSession() {
        var held = held(leases, 20);
        leases.renew(held).forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
        var one = held.get(7);
        var conceded = new ArrayList<>(held);
        conceded.set(7, new Lease(one.claim(), one.token(), LEASE.dividedBy(5)));
        leases.renew(conceded)
                .forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
        var other = over(records);
        var claim = claim("election7", "b", 1);
        assertThat(get(other.acquire(claim)).granted()).isFalse();
        clock.nanos += LEASE.dividedBy(5).toNanos();
        assertThat(get(other.acquire(claim)).granted()).isTrue();
    }

    @Test
    void aSessionThatIsOverIsRemovedAlsoByOneThatHasNone() {
        get(leases.renew(held(leases, 20)).get(19));
        assertThat(sessions()).hasSize(1);
        var other = LeaseStore.over(records, clock, () -> "other" + stamps.incrementAndGet());
        var successor = new Claim("election7", "b", "b-1", LEASE, LEASE.multipliedBy(4), 0, Map.of());
        var taken = get(other.acquire(successor));
        for (var tries = 0; !taken.granted() && tries < 5; tries++) {
            clock.nanos += LEASE.toNanos();
            taken = get(other.acquire(successor));
        }
        assertThat(taken.granted()).isTrue();
        var lease = new Lease(successor, taken.view().token(), LEASE);
        for (var leaseLengths = 0; leaseLengths < 3; leaseLengths++) {
            clock.nanos += LEASE.dividedBy(2).toNanos();
            assertThat(get(other.renew(List.of(lease)).get(0)).granted()).isTrue();
            clock.nanos += LEASE.dividedBy(2).toNanos();
            assertThat(get(other.renew(List.of(lease)).get(0)).granted()).isTrue();
        }
        assertThat(sessions()).isEmpty();
    }

    @Test
    void aHolderLearnsThroughItsSessionOfAnOrderThatNobodyTellsIt() {
        for (var election : List.of(4, 7, 13)) { // each, since one seat is looked at in turn anyway
            var holder = over(new ForwardingRecordStore(records));
            var held = held(holder, 20);
            get(holder.renew(held).get(19));
            assertThat(get(over(new ForwardingRecordStore(records)).order("election" + election, Order.STAND_DOWN)))
                    .isTrue();
            get(holder.renew(held).get(election));
            assertThat(get(holder.renew(held).get(election)).view().standDown()).isTrue();
            held.forEach(lease -> get(holder.release(lease.claim())));
        }
    }

    @Test
    void aHolderLearnsThroughItsSessionOfANoteThatNobodyTellsIt() {
        for (var election : List.of(4, 7, 13)) { // each, since one seat is looked at in turn anyway
            var holder = over(new ForwardingRecordStore(records));
            var held = held(holder, 20);
            get(holder.renew(held).get(19));
            var token = held.get(election).token();
            assertThat(get(over(new ForwardingRecordStore(records)).note("election" + election, token, "", "a note")))
                    .isTrue();
            get(holder.renew(held).get(election));
            assertThat(get(holder.renew(held).get(election)).view().note()).isEqualTo("a note");
            held.forEach(lease -> get(holder.release(lease.claim())));
        }
    }

    /** An order is written into the session, too, and then the holder has to read that before it can write. */
    @Test
    void aSessionIsRenewedThoughOrdersAreGivenToAllOfItsSeatsAtATime() {
        var late = new LateWrites(records);
        var holder = over(late);
        var held = held(holder, 20);
        get(holder.renew(held).get(19));
        var before = revisionOfSession();
        var fast = new LateWrites(records);
        var operator = over(fast);
        fast.hold();
        fast.holdReads();
        var orders = held.stream()
                .map(lease -> operator.order(lease.claim().election(), Order.STAND_DOWN))
                .toList();
        late.hold();
        late.holdReads();
        var renewals = holder.renew(held);
        for (var turn = 0; turn < 60 && revisionOfSession() == before; turn++) {
            fast.carryOut();
        }
        for (var turn = 0; turn < 60; turn++) {
            late.carryOut();
            fast.carryOut();
        }
        late.holdNoMore();
        assertThat(renewals).allMatch(renewal -> get(renewal).granted());
        assertThat(orders).allMatch(order -> get(order));
        assertThat(holder.renew(held)).allMatch(renewal -> get(renewal).view().standDown());
    }

    /** Each that is looked at is renewed only when it was read: were it all at once, most would be read too late. */
    @Test
    void theLeasesOfManySeatsAreRenewedThoughTwoOfThemAreGivenOrders() {
        var slow = new SlowReads(records);
        slow.isSlow = false;
        var holder = over(slow);
        var held = held(holder, 1_000);
        get(holder.renew(held).get(999));
        for (var election : List.of(4, 700)) {
            assertThat(get(over(new ForwardingRecordStore(records)).order("election" + election, Order.STAND_DOWN)))
                    .isTrue();
        }
        slow.isSlow = true;
        var ordered = new TreeSet<Integer>();
        for (var rounds = 0; rounds < 10; rounds++) {
            var renewals = holder.renew(held);
            slow.answerAll();
            assertThat(renewals).allMatch(renewal -> get(renewal).granted());
            IntStream.range(0, held.size())
                    .filter(i -> get(renewals.get(i)).view().standDown())
                    .forEach(ordered::add);
        }
        assertThat(ordered).containsExactly(4, 700);
    }

    private long revisionOfSession() {
        return get(records.read(sessions().get(0), Urgency.LOOK, LEASE)).revision();
    }

    @Test
    void aSessionThatEndedShortlyBeforeIsRemovedAtTheEnd() {
        for (var renewed : List.of(20, 1, 0)) {
            var holder = over(new ForwardingRecordStore(records));
            var held = held(holder, 20);
            get(holder.renew(held).get(19));
            clock.nanos += LEASE.toNanos(); // an outage
            holder.renew(held.subList(0, renewed)).forEach(RecordLeasesTest::get);
            var again = IntStream.range(0, 20)
                    .mapToObj(i -> claim("election" + i, "a" + i, renewed))
                    .toList();
            var next = again.stream()
                    .map(claim ->
                            new Lease(claim, getGranted(holder, claim).view().token(), LEASE))
                    .toList();
            holder.renew(next).forEach(RecordLeasesTest::get);
            held.forEach(lease -> get(holder.release(lease.claim())));
            next.forEach(lease -> get(holder.release(lease.claim())));
            holder.close();
            assertThat(sessions()).as("after %d renewals", renewed).isEmpty();
        }
    }

    /** Else nobody would remove it: it is of interest to those who have seats in it. */
    @Test
    void aSessionWhoseSeatsLeaveWhileItIsWrittenIsNotLeftBehind() {
        var late = new LateWrites(records);
        var slow = over(late);
        var held = held(slow, 20);
        late.hold();
        var renewals = slow.renew(held);
        late.holdNoMore();
        held.forEach(lease -> get(slow.release(lease.claim())));
        late.carryOut();
        renewals.forEach(renewal -> assertThat(get(renewal).granted()).isFalse());
        slow.close();
        assertThat(sessions()).isEmpty();
    }

    private Answer getGranted(LeaseStore holder, Claim claim) {
        var answer = get(holder.acquire(claim));
        for (var tries = 0; !answer.granted() && tries < 12; tries++) {
            clock.nanos += LEASE.dividedBy(10).toNanos();
            answer = get(holder.acquire(claim));
        }
        assertThat(answer.granted()).isTrue();
        return answer;
    }

    @Test
    void oneThatOnlyStandsByForgetsTheSessionsThatAreOver() {
        var standby = over(new ForwardingRecordStore(records));
        var held = held(leases, 20);
        get(leases.renew(held).get(19));
        for (var tries = 0; tries < 4; tries++) {
            get(standby.acquire(claim("election7", "b", 1)));
            clock.nanos += LEASE.toNanos();
        }
        assertThat(sessions()).isEmpty();
    }

    /** One thread learns which session a seat names while another ends the last watch of that seat. */
    @Test
    void noSessionIsWatchedWhoseSeatsNobodyWatches() throws Exception {
        get(leases.renew(held(leases, 20)).get(19));
        var store = new CountedWatches(records);
        var seats = new Seats(store, clock, () -> "other" + stamps.incrementAndGet());
        var key = RecordKey.seat("election7");
        var found = get(records.read(key, Urgency.LOOK, LEASE));
        Consumer<View> watcher = view -> {};
        for (var round = 0; round < 5_000; round++) {
            seats.watch("election7", watcher);
            var ready = new AtomicBoolean();
            var heard = CompletableFuture.runAsync(() -> {
                ready.set(true);
                seats.heard(key, found);
            });
            while (!ready.get()) {
                Thread.onSpinWait();
            }
            seats.unwatch("election7", watcher);
            heard.get(10, TimeUnit.SECONDS);
            assertThat(store.open).as("round %d", round).hasValue(0);
        }
    }

    @Test
    void anOrderIsLookedForThoughTheAnswerToTheSessionsNextWriteIsLost() {
        var late = new LateWrites(new ForwardingRecordStore(records));
        var holder = over(late);
        var held = held(holder, 20);
        get(holder.renew(held).get(19));
        held.subList(10, 20).forEach(lease -> get(holder.release(lease.claim()))); // so that few are left
        get(holder.renew(held.subList(0, 10)).get(0));
        assertThat(get(over(new ForwardingRecordStore(records)).order("election7", Order.STAND_DOWN)))
                .isTrue();
        late.loseAnswer();
        assertThat(failure(holder.renew(held.subList(7, 8)).get(0))).hasMessageContaining("no answer");
        get(holder.renew(held.subList(7, 8)).get(0));
        assertThat(get(holder.renew(held.subList(7, 8)).get(0)).view().standDown())
                .isTrue();
    }

    @Test
    void aSessionWithFewSeatsLooksAtThemInTurn() {
        var holder = over(new ForwardingRecordStore(records));
        var held = held(holder, 20);
        get(holder.renew(held).get(19));
        held.subList(10, 20).forEach(lease -> get(holder.release(lease.claim())));
        var few = held.subList(0, 10);
        get(holder.renew(few).get(0));
        // by a process that was stopped before it could tell the session, or that lost its answer
        assertThat(get(over(new NoNudges(records)).order("election7", Order.STAND_DOWN)))
                .isTrue();
        for (var rounds = 0; rounds < 2 * few.size(); rounds++) {
            holder.renew(few).forEach(RecordLeasesTest::get);
        }
        assertThat(get(holder.renew(few).get(7)).view().standDown()).isTrue();
    }

    /** A right that was withdrawn for a while, or a mistake of the server's. */
    @Test
    void oneRefusalKeepsNoProcessFromSharingForever() {
        var refusing = new RefusedSessions(records);
        var holder = over(refusing);
        var held = held(holder, 20);
        holder.renew(held).forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
        assertThat(sessions()).isEmpty();
        refusing.refuses = false;
        for (var i = 0; i < 100; i++) { // 300 s
            clock.nanos += LEASE.toNanos() * 3 / 10;
            holder.renew(held)
                    .forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
        }
        assertThat(sessions()).hasSize(1);
    }

    /** Each reading has a time of its own, and a server has its limits. */
    @Test
    void moreElectionsAreListedThanAreReadInTheTimeOfOneReading() {
        var names = IntStream.range(0, 2_000).mapToObj(i -> "election" + i).toList();
        names.forEach(name -> get(leases.acquire(claim(name, "a", 1))));
        var slow = new SlowReads(records);
        var listed = over(slow).list();
        slow.answerAll();
        assertThat(get(listed)).containsExactlyInAnyOrderElementsOf(names);
    }

    @Test
    void howManySeatsHaveLeftASessionNeverFalls() {
        var late = new LateWrites(records);
        var holder = over(late);
        var held = held(holder, 20);
        get(holder.renew(held).get(19));
        held.subList(15, 19).forEach(lease -> get(holder.release(lease.claim())));
        late.hold();
        var slow = holder.renew(held.subList(0, 1)).get(0);
        late.holdNoMore();
        get(holder.release(held.get(14).claim()));
        clock.nanos += LEASE.dividedBy(5).toNanos(); // another write is begun beside the one that takes long
        get(holder.renew(held.subList(0, 1)).get(0));
        assertThat(left()).isEqualTo(5);
        late.carryOut(); // refused, and written again
        get(slow);
        assertThat(left()).isEqualTo(5);
    }

    private long left() {
        var text = get(records.read(sessions().get(0), Urgency.LOOK, LEASE)).text();
        return Fields.parse(text).number("token");
    }

    /** Not even under its nonce: a copy of a process must not end the term of the one that leads. */
    @Test
    void nobodyGivesBackWhatAnotherProcessHolds() {
        var claim = claim("a");
        var token = get(leases.acquire(claim)).view().token();
        assertThat(get(LeaseStore.over(records, clock, () -> "other" + stamps.incrementAndGet())
                                .release(claim))
                        .granted())
                .isFalse();
        assertThat(get(leases.renew(List.of(new Lease(claim, token, LEASE))).get(0))
                        .granted())
                .isTrue();
    }

    @Test
    void aNewcomerLooksForItselfWhateverWasKnownHereBefore() {
        for (var presence : List.of(Duration.ZERO, PRESENCE)) {
            var store = new MemoryRecordStore(clock, RecordTraits.PLAIN.listing(presence));
            var leader = over(store);
            var others = over(new ForwardingRecordStore(store));
            assertThat(get(leader.acquire(claim("a"))).granted()).isTrue();
            assertThat(get(others.acquire(claim("b"))).granted()).isFalse();
            get(others.release(claim("b")));
            get(leader.release(claim("a")));
            assertThat(get(others.acquire(claim("c"))).granted())
                    .as("standbys are listed for %s", presence)
                    .isTrue();
        }
    }

    private LeaseStore over(RecordStore store) {
        return LeaseStore.over(store, clock, () -> "stamp" + stamps.incrementAndGet());
    }

    private List<Lease> held(LeaseStore holder, int elections) {
        return IntStream.range(0, elections)
                .mapToObj(i -> new Claim("election" + i, "a", "a-" + i, LEASE, LEASE.multipliedBy(4), 0, Map.of()))
                .map(claim -> new Lease(claim, get(holder.acquire(claim)).view().token(), LEASE))
                .toList();
    }

    private List<RecordKey> sessions() {
        return get(records.list(List.of("session"), RecordKey.OF_SESSION, LEASE))
                .keys();
    }

    @Test
    void aCandidateThatComesAgainIsListedThoughItsRemovalComesLate() {
        var late = new LateWrites(records);
        var slow = over(late);
        get(slow.acquire(claim("e", "a", 1)));
        late.holdRemovals();
        get(slow.release(claim("e", "a", 1)));
        var unused = slow.acquire(claim("e", "a", 2));
        late.carryOut();
        assertThat(listed()).hasSize(1);
    }

    @Test
    void aCandidateThatComesAgainBeforeItsReleaseIsAnsweredIsListed() {
        var late = new LateWrites(records);
        var slow = over(late);
        get(slow.acquire(claim("e", "a", 1)));
        late.hold();
        var released = slow.release(claim("e", "a", 1));
        late.holdNoMore();
        get(slow.acquire(claim("e", "a", 2)));
        late.carryOut();
        assertThat(get(released).granted()).isTrue();
        assertThat(listed()).hasSize(1);
    }

    @Test
    void aCandidateWhoseRemovalFailedIsRemovedWhenTheStoreAnswersAgain() {
        var broken = new BrokenRemovals(records);
        var leaving = new RecordLeases(broken, clock, this::stamp, broken::later);
        get(leases.acquire(claim("b")));
        get(leaving.acquire(claim("a")));
        broken.breaks = true;
        assertThat(get(leaving.release(claim("a"))).granted()).isFalse();
        assertThat(get(leaving.release(claim("a"))).granted()).isFalse();
        broken.passTime();
        assertThat(listed()).hasSize(2);
        broken.breaks = false;
        broken.passTime();
        assertThat(listed()).containsExactly(RecordKey.standby("e", 0, "b"));
        broken.passTime();
        assertThat(broken.pauses)
                .as("longer each time, and not again when it is done")
                .containsExactly(Duration.ofSeconds(1), Duration.ofSeconds(2));
    }

    @Test
    void aCandidateWhoseRemovalFailedAndThatComesAgainStaysListed() {
        var broken = new BrokenRemovals(records);
        var leaving = new RecordLeases(broken, clock, this::stamp, broken::later);
        for (var comesAgain : List.of("before it fails", "after it has failed")) {
            get(leaving.acquire(claim("a")));
            broken.breaks = true;
            broken.holds = comesAgain.startsWith("before");
            get(leaving.release(claim("a")));
            var again = leaving.acquire(claim("a"));
            broken.letGo();
            get(again);
            broken.breaks = false;
            broken.passTime();
            assertThat(listed()).as(comesAgain).hasSize(1);
            get(leaving.release(claim("a")));
            assertThat(listed()).as(comesAgain).isEmpty();
        }
    }

    @Test
    void aRemovalThatFailsIsTriedAtTheEndAndNoMoreAfterwards() {
        for (var breaksAtTheEnd : List.of(false, true)) {
            var broken = new BrokenRemovals(records);
            var leaving = new RecordLeases(broken, clock, this::stamp, broken::later);
            get(leaving.acquire(claim("a")));
            broken.breaks = true;
            get(leaving.release(claim("a")));
            broken.breaks = breaksAtTheEnd;
            leaving.close();
            assertThat(broken.tried).hasValue(2);
            assertThat(listed()).hasSize(breaksAtTheEnd ? 1 : 0);
            broken.passTime();
            assertThat(broken.tried).hasValue(2);
        }
    }

    @Test
    void aRemovalThatFailsIsTriedUntilTheRecordHasRunOutByItself() {
        var broken = new BrokenRemovals(records);
        var leaving = new RecordLeases(broken, clock, this::stamp, broken::later);
        get(leaving.acquire(claim("a")));
        broken.breaks = true;
        get(leaving.release(claim("a")));
        while (broken.passTime() > 0) {
            clock.nanos += broken.pauses.get(broken.pauses.size() - 1).toNanos();
        }
        assertThat(clock.nanos()).isCloseTo(PRESENCE.toNanos(), withinPercentage(10));
        assertThat(broken.pauses).contains(Duration.ofSeconds(30)).hasSizeLessThan(30);
    }

    @Test
    void aRemovalThatFailsIsTriedAgainByItself() throws InterruptedException {
        var broken = new BrokenRemovals(records);
        var leaving = new RecordLeases(broken);
        get(leaving.acquire(claim("a")));
        broken.breaks = true;
        get(leaving.release(claim("a")));
        assertThat(broken.triedTwice.await(30, TimeUnit.SECONDS)).isTrue();
    }

    /** It would find out when the seat is vacant, and take that for a right that was withdrawn. */
    @Test
    void aCandidateThatMayOnlyReadIsToldSoWhileAnotherLeads() {
        get(leases.acquire(claim("a")));
        var reader = over(new WithoutSigns(records, new AccessRefusedException("may not write")));
        assertThat(failure(reader.acquire(claim("b"))))
                .hasRootCauseInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("may not write");
    }

    @Test
    void aClaimWaitsNoLongerThanATenthOfALeaseForASignThatHangs() {
        get(leases.acquire(claim("a")));
        var hanging = new WithoutSigns(records, null);
        var pauses = new ArrayList<Duration>();
        var tasks = new ArrayList<Runnable>();
        var standing = new RecordLeases(hanging, clock, this::stamp, pause -> {
            pauses.add(pause);
            return tasks::add;
        });
        var claimed = standing.acquire(claim("b"));
        assertThat(claimed.toCompletableFuture()).isNotDone();
        tasks.forEach(Runnable::run);
        assertThat(get(claimed).granted()).isFalse();
        assertThat(pauses).containsExactly(LEASE.dividedBy(10));
        assertThat(get(standing.acquire(claim("b"))).granted())
                .as("and not again")
                .isFalse();
    }

    private String stamp() {
        return "stamp" + stamps.incrementAndGet();
    }

    private List<RecordKey> listed() {
        return get(records.list(List.of("e"), RecordKey.OF_STANDBY, LEASE)).keys();
    }

    @Test
    void aCandidateSignsAgainInTimeAndNoMoreOftenThanThat() {
        var standby = claim("b");
        get(leases.acquire(claim("a")));
        get(leases.acquire(standby));
        var signed = signed(standby);
        clock.nanos += PRESENCE.dividedBy(4).toNanos();
        get(leases.acquire(standby));
        assertThat(signed(standby)).as("soon").isEqualTo(signed);
        clock.nanos += PRESENCE.dividedBy(4).toNanos();
        get(leases.acquire(standby));
        assertThat(signed(standby)).as("after half of the time").isGreaterThan(signed);
    }

    @Test
    void aStandbyIsListedWithTheTimeOfItsLastSignWhileAnotherLeads() {
        clock.nanos = LEASE.toNanos();
        get(leases.acquire(claim("a")));
        get(leases.acquire(claim("b")));
        clock.nanos += LEASE.toNanos();
        get(leases.acquire(claim("b")));
        assertThat(get(leases.read("e")).candidates())
                .filteredOn(one -> !one.leads())
                .singleElement()
                .satisfies(standby -> assertThat(standby.heard()).contains(Instant.EPOCH.plus(LEASE)));
    }

    /** A hand-over is under way until the next grant: also to who knows the former leader by what it wrote only. */
    @Test
    void aLeaderThatIsGoneByTheServersClockLeavesItsNote() {
        clock.nanos = LEASE.toNanos();
        var token = get(leases.acquire(claim("a"))).view().token();
        assertThat(get(leases.note("e", token, "", "a note"))).isTrue();
        clock.nanos += LEASE.multipliedBy(2).toNanos();
        var other = LeaseStore.over(records, clock, () -> "other" + stamps.incrementAndGet());
        var seen = get(other.read("e"));
        assertThat(seen.holder()).isEmpty();
        assertThat(seen.note()).isEqualTo("a note");
    }

    @Test
    void whatOneProcessDoesAnotherHearsOf() {
        var other = LeaseStore.over(records, clock, () -> "other" + stamps.incrementAndGet());
        var heard = new ArrayList<View>();
        var watch = other.watch("e", heard::add);
        var token = get(leases.acquire(claim("a"))).view().token();
        assertThat(heard.get(heard.size() - 1).leader().orElseThrow().token()).isEqualTo(token);
        assertThat(get(leases.order("e", Order.STAND_DOWN))).isTrue();
        assertThat(heard.get(heard.size() - 1).standDown()).isTrue();
        get(leases.release(claim("a")));
        assertThat(heard.get(heard.size() - 1).holder()).isEmpty();
        watch.close();
        var told = heard.size();
        get(leases.acquire(claim("b")));
        assertThat(heard).hasSize(told);
    }

    @Test
    void whoWatchesHearsOfAConcessionAndOfTheEnd() {
        var heard = new ArrayList<View>();
        var watch = over(records).watch("e", heard::add);
        var token = get(leases.acquire(claim("a"))).view().token();
        get(leases.renew(List.of(new Lease(claim("a"), token, LEASE.dividedBy(5))))
                .get(0));
        assertThat(heard.get(heard.size() - 1).remaining()).isEqualTo(LEASE.dividedBy(5));
        assertThat(get(leases.order("e", Order.END))).isTrue();
        assertThat(heard.get(heard.size() - 1).ended()).isTrue();
        watch.close();
    }

    /** It was told on, and what was known of the seat was kept forever. */
    @Test
    void aWatchForWhichThereIsNoThreadLeavesNothingBehind() {
        var lacking = new ForwardingRecordStore(records) {
            @Override
            public Watch watch(RecordKey key, Consumer<Found> heard) {
                throw new OutOfMemoryError("unable to create native thread");
            }
        };
        var other = LeaseStore.over(lacking, clock, () -> "other" + stamps.incrementAndGet());
        var heard = new ArrayList<View>();
        assertThatThrownBy(() -> other.watch("e", heard::add)).isInstanceOf(OutOfMemoryError.class);
        get(other.acquire(claim("a")));
        assertThat(heard).isEmpty();
    }

    @Test
    void aWatchThatCannotBeEndedInOrderIsOverAllTheSame() {
        var failing = new ForwardingRecordStore(records) {
            @Override
            public Watch watch(RecordKey key, Consumer<Found> heard) {
                return () -> {
                    throw new IllegalStateException("planted: the client cannot unsubscribe");
                };
            }
        };
        var other = LeaseStore.over(failing, clock, () -> "other" + stamps.incrementAndGet());
        var heard = new ArrayList<View>();
        var watch = other.watch("e", heard::add);
        assertThatThrownBy(watch::close).isInstanceOf(IllegalStateException.class);
        get(other.acquire(claim("a")));
        assertThat(heard).isEmpty();
    }

    @Test
    void whoseClaimIsToBeConfirmedDoesNotLeadAndIsNotOrderedToStandDown() {
        var waiting = new RecordTraits(false, "", "", LEASE, Duration.ZERO, Duration.ZERO, Duration.ZERO, 0);
        var store = over(new MemoryRecordStore(clock, waiting));
        assertThat(get(store.acquire(claim("a"))).granted()).isFalse();
        assertThat(get(store.order("e", Order.STAND_DOWN))).as("somebody leads").isFalse();
        clock.nanos += LEASE.toNanos();
        assertThat(get(store.acquire(claim("a"))).granted()).isTrue();
        assertThat(get(store.order("e", Order.STAND_DOWN))).isTrue();
        assertThat(get(store.read("e")).standDown()).isTrue();
    }

    @Test
    void anElectionThatEndedIsListedAndOneThatWasDeletedIsNot() {
        get(leases.acquire(claim("a")));
        assertThat(get(leases.list())).containsExactly("e");
        assertThat(get(leases.order("e", Order.END))).isTrue();
        assertThat(get(leases.read("e")).ended()).isTrue();
        assertThat(get(leases.list())).containsExactly("e");
        assertThat(get(leases.order("e", Order.DELETE))).isTrue();
        assertThat(get(leases.read("e")).era()).isOne();
        assertThat(get(leases.list())).isEmpty();
        assertThat(get(leases.order("nobody stands here", Order.STAND_DOWN))).isFalse();
    }

    @Test
    void aClaimOfAnEraBeforeLeavesADeletedElectionDeleted() {
        get(leases.acquire(claim("a")));
        get(leases.release(claim("a")));
        assertThat(get(leases.order("e", Order.DELETE))).isTrue();
        var late = get(leases.acquire(claim("a", 0)));
        assertThat(late.granted()).isFalse();
        assertThat(late.view().era()).isOne();
        assertThat(get(leases.list())).isEmpty();
        assertThat(get(leases.acquire(claim("b", 1))).granted()).isTrue();
        assertThat(get(leases.list())).containsExactly("e");
    }

    /** It cannot know how old a record is that it has not seen before: docs/records.md. */
    @Test
    void aStandbyThatMissedTheLastRenewalsMayWaitUpToALeaseMore() {
        var leader = over(records);
        var token = get(leader.acquire(claim("a"))).view().token();
        var standby = over(new ForwardingRecordStore(records));
        assertThat(get(standby.acquire(claim("b"))).granted()).isFalse();
        clock.nanos += 1;
        assertThat(get(leader.renew(List.of(new Lease(claim("a"), token, LEASE)))
                                .get(0))
                        .granted())
                .as("the last renewal, of which nobody tells the standby")
                .isTrue();
        clock.nanos += LEASE.toNanos();
        var late = get(standby.acquire(claim("b")));
        assertThat(late.granted()).isFalse();
        assertThat(late.view().remaining()).isEqualTo(LEASE);
        clock.nanos += LEASE.toNanos();
        assertThat(get(standby.acquire(claim("b"))).granted()).isTrue();
    }

    @Test
    void theFindingsSayHowLongNobodyLeadsAndWhoseClockDecides() {
        var config = CandidacyConfig.ofLease(LEASE);
        assertThat(leases.findings(config))
                .extracting(Finding::about)
                .contains("crash", "freeze", "hand-over", "clock");
        assertThat(leases.findings(config))
                .extracting(Finding::says)
                .anyMatch(line -> line.contains("one that missed the last notices may wait up to a lease more"));
        assertThat(leases.completed(config)).isEqualTo(config);
        leases.check("e", config);
        assertThat(leases.describe()).isEqualTo("memory");
        leases.close();
        leases.close();
    }

    @Test
    void aRecordThatCannotBeReadIsAFindingAndHidesNoOther() {
        get(leases.acquire(claim("later", "a", 1)));
        get(records.write(
                RecordKey.seat("earlier"), 0, new Draft("bellwether=3&state=vacant", ""), Urgency.KEEP, LEASE));
        var objecting = new ForwardingRecordStore(records) {
            @Override
            public String scope() {
                return "shelf";
            }

            @Override
            public Optional<Finding> objection(String election, Duration lease) {
                return Optional.of(Finding.warning("lease", election + " is held for " + lease, "make it shorter"));
            }
        };
        assertThat(over(objecting).findings(CandidacyConfig.ofLease(LEASE)))
                .filteredOn(finding -> finding.level() != Finding.Level.OK)
                .extracting(finding -> finding.level() + " " + finding.says())
                .satisfiesExactly(
                        unreadable -> assertThat(unreadable)
                                .startsWith("ERROR election \"earlier\" cannot be read: ")
                                .contains("in a format that this version of Bellwether does not know")
                                .contains("Run one version, or use another shelf"),
                        held -> assertThat(held).isEqualTo("WARNING later is held for " + LEASE));
    }

    @Test
    void aListOfElectionsThatIsRefusedIsAFinding() {
        var refusing = new ForwardingRecordStore(records) {
            @Override
            public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
                return CompletableFuture.failedStage(new AccessRefusedException("may not list"));
            }
        };
        assertThat(over(refusing).findings(CandidacyConfig.ofLease(LEASE)))
                .filteredOn(finding -> finding.level() == Finding.Level.ERROR)
                .singleElement()
                .satisfies(refused -> assertThat(refused.says()).endsWith("may not list"));
    }

    @Test
    void whatAStoreCannotDoIsRefusedWithItsReason() {
        var traits = new RecordTraits(
                false, "may not read", "never ends", LEASE, Duration.ofSeconds(1), LEASE, Duration.ZERO, 0);
        var blind = LeaseStore.over(new MemoryRecordStore(clock, traits), clock, () -> "s" + stamps.incrementAndGet());
        assertThat(failure(blind.order("e", Order.STAND_DOWN))).hasMessage("may not read");
        assertThat(failure(blind.read("e"))).hasMessageContaining("may not read");
        assertThat(blind.watch("e", view -> {})).isEqualTo(Watch.NONE);
        assertThat(blind.findings(CandidacyConfig.ofLease(LEASE)))
                .anyMatch(finding -> finding.says().equals("may not read"));
        var endless = new RecordTraits(false, "", "never ends", LEASE, LEASE, LEASE, Duration.ZERO, 0);
        var others =
                LeaseStore.over(new MemoryRecordStore(clock, endless), clock, () -> "s" + stamps.incrementAndGet());
        assertThat(failure(others.order("e", Order.END))).hasMessageStartingWith("never ends");
    }

    /** As many seats as are known at most are looked through while others are asked for, and the sessions they name. */
    @Test
    void manySeatsAreLookedThroughWhileOthersLearnOfTheirSessions() throws Exception {
        var held = held(leases, 20);
        get(leases.renew(held).get(19));
        var done = new AtomicBoolean();
        var renewing = CompletableFuture.supplyAsync(() -> {
            var rounds = 0;
            for (; !done.get(); rounds++) {
                leases.renew(held).forEach(RecordLeasesTest::get);
            }
            return rounds;
        });
        var reading = CompletableFuture.runAsync(
                () -> IntStream.range(0, 100_000).forEach(i -> get(leases.read("another" + i))));
        try {
            reading.get(60, TimeUnit.SECONDS);
        } finally {
            done.set(true);
        }
        assertThat(renewing.get(60, TimeUnit.SECONDS)).isPositive();
    }

    @Test
    void whoMakesSessionsAgainAndAgainRemembersThoseOfTheLastWhile() {
        var seats = new Seats(records, clock, () -> "stamp" + stamps.incrementAndGet());
        var sharing = new LeaseSessions(records, seats, clock, () -> "session" + stamps.incrementAndGet());
        for (var i = 0; i < 100; i++) {
            var held = IntStream.range(0, 20)
                    .mapToObj(number -> new Claim(
                            "election" + number,
                            "a",
                            "a-" + stamps.incrementAndGet(),
                            LEASE,
                            LEASE.multipliedBy(4),
                            0,
                            Map.of()))
                    .map(claim -> new Lease(
                            claim, get(seats.acquire(claim, false)).view().token(), LEASE))
                    .toList();
            sharing.renew(held)
                    .forEach(renewal -> assertThat(get(renewal).granted()).isTrue());
            assertThat(sessions()).hasSize(1);
            for (var lease : held) {
                assertThat(get(seats.release(lease.claim())).granted()).isTrue();
                sharing.forget(lease.claim());
            }
            clock.nanos += LEASE.toNanos();
        }
        assertThat(seats.known()).as("20 seats, and the sessions of two leases").isLessThan(20 + 5);
    }

    @Test
    void aLeadThatWasTakenOverLeavesNothingBehind() {
        var seats = new Seats(records, clock, () -> "stamp" + stamps.incrementAndGet());
        var others = new Seats(records, clock, () -> "stamp" + stamps.incrementAndGet());
        for (var i = 0; i < MANY; i++) {
            var election = "order" + i;
            assertThat(get(seats.acquire(claim(election, "a", 1), true)).granted())
                    .isTrue();
            get(others.acquire(claim(election, "b", 1), true));
            clock.nanos += LEASE.toNanos();
            assertThat(get(others.acquire(claim(election, "b", 2), true)).granted())
                    .isTrue();
            assertThat(get(seats.release(claim(election, "a", 0))).granted()).isFalse();
            get(others.release(claim(election, "b", 2)));
        }
        assertThat(seats.known()).isLessThan(FEW);
        assertThat(others.known()).isLessThan(FEW);
    }

    @Test
    void aClaimWithoutAnAnswerLeavesNothingBehindOnceAnotherLeads() {
        var late = new LateWrites(records);
        var seats = new Seats(late, clock, () -> "stamp" + stamps.incrementAndGet());
        var others = new Seats(records, clock, () -> "stamp" + stamps.incrementAndGet());
        for (var i = 0; i < MANY; i++) {
            var election = "order" + i;
            late.hold();
            var claimed = seats.acquire(claim(election, "a", 1), true);
            late.giveUp();
            assertThat(failure(claimed)).hasMessageContaining("no answer");
            late.holdNoMore();
            get(others.acquire(claim(election, "b", 1), true));
            assertThat(get(seats.acquire(claim(election, "a", 2), true)).granted())
                    .isFalse();
            get(seats.release(claim(election, "a", 0)));
        }
        assertThat(seats.known()).isLessThan(FEW);
    }

    @Test
    void theAnswerToAClaimThatAnotherHasWrittenOverLeavesNothingBehind() {
        var late = new LateWrites(records);
        var seats = new Seats(late, clock, () -> "stamp" + stamps.incrementAndGet());
        var others = new Seats(records, clock, () -> "stamp" + stamps.incrementAndGet());
        for (var i = 0; i < MANY; i++) {
            var election = "order" + i;
            late.holdAnswers();
            var claimed = seats.acquire(claim(election, "a", 1), true);
            late.holdNoMore();
            get(others.acquire(claim(election, "b", 1), true));
            clock.nanos += LEASE.toNanos();
            assertThat(get(others.acquire(claim(election, "b", 2), true)).granted())
                    .isTrue();
            get(others.release(claim(election, "b", 2)));
            get(seats.release(claim(election, "a", 0)));
            late.carryOut();
            assertThat(claimed).isDone();
        }
        assertThat(seats.known()).isLessThan(FEW);
    }

    /** Nobody can know whether such a claim comes yet: that is kept for an hour. */
    @Test
    void claimsToAStoreThatTakesNoWritesAreForgottenInTime() {
        var seats = new Seats(new NoWrites(records), clock, () -> "stamp" + stamps.incrementAndGet());
        for (var i = 0; i < MANY; i++) {
            var election = "order" + i;
            assertThat(failure(seats.acquire(claim(election, "a", 1), true))).hasMessageContaining("no answer");
            assertThat(failure(seats.release(claim(election, "a", 1)))).hasMessageContaining("no answer");
            clock.nanos += Duration.ofSeconds(1).toNanos();
        }
        assertThat(seats.known()).as("the claims of the last hour, and some").isLessThan(3_600 + FEW);
    }

    private static Throwable failure(CompletionStage<?> answer) {
        return answer.toCompletableFuture().handle((value, error) -> error).join();
    }

    private long signed(Claim claim) {
        var key = RecordKey.standby(claim.election(), claim.priority(), claim.candidate());
        return get(records.read(key, Urgency.LOOK, LEASE)).revision();
    }

    private static Claim claim(String candidate) {
        return claim(candidate, Claim.ANY_ERA);
    }

    private static Claim claim(String candidate, long era) {
        return new Claim("e", candidate, candidate + "-1", LEASE, LEASE.multipliedBy(4), 0, Map.of(), era, 0);
    }

    private static Claim claim(String election, String candidate, int number) {
        return new Claim(election, candidate, candidate + '-' + number, LEASE, LEASE.multipliedBy(4), 0, Map.of());
    }

    private static <T> T get(CompletionStage<T> answer) {
        return answer.toCompletableFuture().join();
    }

    /** The same records; what is written to them arrives late, if it is held up. */
    private static final class LateWrites extends ForwardingRecordStore {
        private boolean holds;
        private boolean holdsAnswers;
        private boolean holdsReads;
        private boolean holdsRemovals;
        private boolean loses;
        private final List<Runnable> held = new ArrayList<>();
        private final List<CompletableFuture<Written>> answers = new ArrayList<>();

        LateWrites(RecordStore records) {
            super(records);
        }

        void hold() {
            holds = true;
        }

        /** What is written arrives at once; that it did is told late. */
        void holdAnswers() {
            holdsAnswers = true;
        }

        void holdReads() {
            holdsReads = true;
        }

        void holdRemovals() {
            holdsRemovals = true;
        }

        /** The answer to the next write that is carried out is lost. */
        void loseAnswer() {
            loses = true;
        }

        void holdNoMore() {
            holds = false;
            holdsAnswers = false;
            holdsReads = false;
        }

        void carryOut() {
            var all = List.copyOf(held);
            held.clear();
            all.forEach(Runnable::run);
        }

        /** What is held up has no answer, and may still be carried out. */
        void giveUp() {
            answers.forEach(answer -> answer.completeExceptionally(new UnavailableException("no answer")));
            answers.clear();
        }

        @Override
        public CompletionStage<Written> write(
                RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
            if (loses) {
                var written = get(super.write(key, expected, draft, urgency, timeout));
                loses = !written.done();
                return loses
                        ? CompletableFuture.completedStage(written)
                        : CompletableFuture.failedStage(new UnavailableException("no answer"));
            }
            if (holdsAnswers) {
                var written = get(super.write(key, expected, draft, urgency, timeout));
                var answer = new CompletableFuture<Written>();
                held.add(() -> answer.complete(written));
                return answer;
            }
            if (!holds) {
                return super.write(key, expected, draft, urgency, timeout);
            }
            var answer = new CompletableFuture<Written>();
            answers.add(answer);
            held.add(() -> answer.complete(get(super.write(key, expected, draft, urgency, timeout))));
            return answer;
        }

        @Override
        public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
            if (!holdsReads) {
                return super.read(key, urgency, timeout);
            }
            var answer = new CompletableFuture<Found>();
            held.add(() -> answer.complete(get(super.read(key, urgency, timeout))));
            return answer;
        }

        @Override
        public CompletionStage<?> remove(RecordKey key, Duration timeout) {
            if (!holdsRemovals) {
                return super.remove(key, timeout);
            }
            var answer = new CompletableFuture<Object>();
            held.add(() -> answer.complete(get(super.remove(key, timeout).thenApply(done -> true))));
            return answer;
        }
    }

    /** The same records, of which none can be removed while it is broken; and what is to be done later. */
    private static final class BrokenRemovals extends ForwardingRecordStore {
        private final AtomicInteger tried = new AtomicInteger();
        private final CountDownLatch triedTwice = new CountDownLatch(2);
        private final List<Duration> pauses = new ArrayList<>();
        private final List<Runnable> tasks = new ArrayList<>();
        private final List<Runnable> held = new ArrayList<>();
        private volatile boolean breaks;
        private boolean holds;

        BrokenRemovals(RecordStore records) {
            super(records);
        }

        Executor later(Duration pause) {
            return task -> {
                pauses.add(pause);
                tasks.add(task);
            };
        }

        /** Returns how much was done. */
        int passTime() {
            var due = List.copyOf(tasks);
            tasks.clear();
            due.forEach(Runnable::run);
            return due.size();
        }

        void letGo() {
            holds = false;
            held.forEach(Runnable::run);
            held.clear();
        }

        @Override
        public CompletionStage<?> remove(RecordKey key, Duration timeout) {
            tried.incrementAndGet();
            triedTwice.countDown();
            if (!breaks) {
                return super.remove(key, timeout);
            }
            var answer = new CompletableFuture<Object>();
            Runnable fails = () -> answer.completeExceptionally(new UnavailableException("no answer"));
            if (holds) {
                held.add(fails);
            } else {
                fails.run();
            }
            return answer;
        }
    }

    /** The same records, among which no session may be written for a while. */
    private static final class RefusedSessions extends ForwardingRecordStore {
        private boolean refuses = true;

        RefusedSessions(RecordStore records) {
            super(records);
        }

        @Override
        public CompletionStage<Written> write(
                RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
            return refuses && key.isSession()
                    ? CompletableFuture.failedStage(new AccessRefusedException("may not write"))
                    : super.write(key, expected, draft, urgency, timeout);
        }
    }

    /** The same records, of which 200 are read in a second, one after the other. */
    private final class SlowReads extends ForwardingRecordStore {
        private final ArrayDeque<Runnable> asked = new ArrayDeque<>();
        private boolean isSlow = true;

        SlowReads(RecordStore records) {
            super(records);
        }

        @Override
        public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
            if (!isSlow) {
                return super.read(key, urgency, timeout);
            }
            var answer = new CompletableFuture<Found>();
            var begun = clock.nanos;
            asked.add(() -> {
                if (clock.nanos - begun > timeout.toNanos()) {
                    answer.completeExceptionally(new UnavailableException("was not asked within " + timeout));
                } else {
                    clock.nanos += 5_000_000;
                    answer.complete(get(super.read(key, urgency, timeout)));
                }
            });
            return answer;
        }

        void answerAll() {
            for (var next = asked.poll(); next != null; next = asked.poll()) {
                next.run();
            }
        }
    }

    /** The same records, to which nobody is added who stands: that is refused, or has no answer. */
    private static final class WithoutSigns extends ForwardingRecordStore {
        private final @Nullable AccessRefusedException refusal;

        WithoutSigns(RecordStore records, @Nullable AccessRefusedException refusal) {
            super(records);
            this.refusal = refusal;
        }

        @Override
        public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
            return refusal == null ? new CompletableFuture<>() : CompletableFuture.failedStage(refusal);
        }
    }

    /** The same records; one who writes into the session of another has no answer, and nothing is written there. */
    private static final class NoNudges extends ForwardingRecordStore {
        NoNudges(RecordStore records) {
            super(records);
        }

        @Override
        public CompletionStage<Written> write(
                RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
            return key.isSession()
                    ? CompletableFuture.completedStage(Written.at(expected + 1, Instant.EPOCH))
                    : super.write(key, expected, draft, urgency, timeout);
        }
    }

    /** The same records, of which none can be written. */
    private static final class NoWrites extends ForwardingRecordStore {
        NoWrites(RecordStore records) {
            super(records);
        }

        @Override
        public CompletionStage<Written> write(
                RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
            return CompletableFuture.failedStage(new UnavailableException("no answer"));
        }
    }

    /** The same records, and how many watches are open. */
    private static final class CountedWatches extends ForwardingRecordStore {
        private final AtomicInteger open = new AtomicInteger();

        CountedWatches(RecordStore records) {
            super(records);
        }

        @Override
        public Watch watch(RecordKey key, Consumer<Found> heard) {
            open.incrementAndGet();
            return open::decrementAndGet;
        }
    }

    private static final class SettableClock implements Clock {
        private long nanos;

        @Override
        public long nanos() {
            return nanos;
        }

        @Override
        public long wallMillis() {
            return nanos / 1_000_000;
        }
    }
}
