package dev.bellwether.internal.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Leader;
import dev.bellwether.Metrics;
import dev.bellwether.Phase;
import dev.bellwether.RosterConfig;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.View;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JointElectionsTest {
    private static final Duration LEASE = Duration.ofSeconds(10);
    private static final Duration SOON = Duration.ofMillis(100);

    private final Rig rig = new Rig();
    private final Rig.Wire old = new Rig.Wire(new MemoryLeaseStore(rig.loop.clock()));
    private final Rig.Wire next = new Rig.Wire(new MemoryLeaseStore(rig.loop.clock()));
    private final Elections byOld = over(old);
    private final Elections byNext = over(next);
    private final Elections byBoth = Elections.jointly(over(old), over(next), config());

    private Elections over(LeaseStore store) {
        return Elections.over(store, config());
    }

    private ElectionsConfig config() {
        return ElectionsConfig.builder().loop(rig.loop).executor(Runnable::run).build();
    }

    private Candidacy stand(Elections elections, String candidate) {
        var candidacy = elections.stand(
                "billing",
                CandidacyConfig.builder().candidate(candidate).lease(LEASE).build());
        rig.pass(SOON);
        return candidacy;
    }

    private long led(Elections elections, String candidate) {
        var candidacy = stand(elections, candidate);
        assertThat(candidacy.isLeader()).as(candidate + " leads").isTrue();
        var token = candidacy.mandate().orElseThrow().token();
        leave(candidacy);
        return token;
    }

    private void leave(Candidacy candidacy) {
        candidacy.resign();
        rig.pass(SOON);
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
    }

    @Test
    void tokensRiseThereAndBack() {
        var tokens = new ArrayList<Long>();
        for (var i = 0; i < 3; i++) {
            tokens.add(led(byOld, "old" + i));
            tokens.add(led(byBoth, "both" + i));
        }
        for (var i = 0; i < 3; i++) {
            tokens.add(led(byNext, "next" + i));
            tokens.add(led(byBoth, "again" + i));
        }
        tokens.add(led(byOld, "back"));
        assertThat(tokens).containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 9L, 10L, 12L, 13L, 15L, 16L);
    }

    @Test
    void recordsRememberTheTokenThatTheyWereRaisedTo() {
        var records = new MemoryRecordStore(rig.loop.clock(), RecordTraits.PLAIN);
        for (var i = 0; i < 7; i++) {
            led(byOld, "old" + i);
        }
        var leases = LeaseStore.over(
                records, rig.loop.clock(), () -> UUID.randomUUID().toString());
        var onRecords = Elections.jointly(over(old), over(leases), config());
        assertThat(led(onRecords, "both")).isEqualTo(8);
        assertThat(led(byOld, "between")).isEqualTo(9);
        assertThat(led(onRecords, "both")).isEqualTo(10);
        assertThat(led(over(leases), "next")).isGreaterThan(10);
    }

    @Test
    void whoHasTheOldSeatKeepsAJointCandidateAwayAndSoDoesWhoHasTheNext() {
        var first = stand(byOld, "old");
        var joint = stand(byBoth, "both");
        assertThat(joint.isLeader()).isFalse();
        assertThat(joint.status().following()).contains("old");
        leave(first);
        assertThat(joint.isLeader()).isTrue();
        var last = stand(byNext, "next");
        assertThat(last.isLeader()).isFalse();
        leave(joint);
        assertThat(last.isLeader()).isTrue();
        var standby = stand(byBoth, "standby");
        rig.pass(LEASE.multipliedBy(5));
        assertThat(standby.isLeader()).isFalse();
        assertThat(standby.status().following()).contains("next");
        leave(last);
        assertThat(standby.isLeader()).isTrue();
    }

    @Test
    void theMandateIsOverAtTheEarlierDeadlineOfTheTwo() {
        for (var cut : List.of(old, next)) {
            var joint = stand(byBoth, "both");
            var before = joint.mandate().orElseThrow().remaining();
            cut.cut = true;
            rig.pass(before.minus(LEASE.dividedBy(3)));
            assertThat(joint.isLeader()).isTrue();
            rig.pass(LEASE.dividedBy(3).plus(SOON));
            assertThat(joint.isLeader()).isFalse();
            cut.cut = false;
            rig.pass(LEASE.multipliedBy(4));
            assertThat(joint.isLeader()).as("when it answers again").isTrue();
            leave(joint);
        }
    }

    /** Else the age of the last proof, as meters have it, would stay young while the mandate runs out. */
    @ParameterizedTest
    @ValueSource(strings = {"old", "next"})
    void aRenewalByWhichTheMandateLastsNoLongerIsNotTold(String cut) {
        var renewals = new ArrayList<String>();
        var telling = ElectionsConfig.builder()
                .loop(rig.loop)
                .executor(Runnable::run)
                .metrics(new Metrics() {
                    @Override
                    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                        if (attempt == Attempt.RENEWED) {
                            renewals.add(candidate);
                        }
                    }
                })
                .build();
        var joint = stand(Elections.jointly(over(old), over(next), telling), "both");
        (cut.equals("old") ? old : next).cut = true;
        rig.pass(LEASE.dividedBy(2));
        assertThat(joint.isLeader()).isTrue();
        assertThat(renewals).isEmpty();
        (cut.equals("old") ? old : next).cut = false;
        rig.pass(LEASE.multipliedBy(2));
        assertThat(joint.isLeader()).isTrue();
        assertThat(renewals).isNotEmpty();
    }

    @Test
    void aFencedCandidateKeepsTheOldSeatFromNobodyThoughAnAnswerComesLate() {
        for (var millis = 3_300; millis < 6_700; millis += 20) { // the old side may be the first to see what time it is
            new JointElectionsTest().isFencedWhenItWasHeldUpAfter(Duration.ofMillis(millis));
        }
    }

    private void isFencedWhenItWasHeldUpAfter(Duration time) {
        var joint = byBoth.stand(
                "billing",
                CandidacyConfig.builder()
                        .candidate("both")
                        .lease(LEASE)
                        .listener(event -> {})
                        .executor(work -> {}) // it does not end
                        .build());
        rig.pass(SOON);
        assertThat(joint.isLeader()).isTrue();
        old.slow = true;
        next.slow = true;
        rig.pass(time); // a renewal of both is carried out, and not answered yet
        rig.stall(Duration.ofMillis(8_500).minus(time));
        rig.settle();
        assertThat(joint.status().phase()).isEqualTo(Phase.FENCED);
        old.slow = false;
        next.slow = false;
        old.deliver();
        rig.pass(LEASE.multipliedBy(3));
        assertThat(joint.status().phase()).isEqualTo(Phase.FENCED);
        assertThat(byNext.election("billing").leader()).isEmpty();
        assertThat(byOld.election("billing").leader())
                .as("held up after %s", time)
                .isEmpty();
    }

    @Test
    void theOldSeatIsGivenBackWhileTheNextDoesNotAnswer() {
        next.cut = true;
        var joint = stand(byBoth, "both");
        var standby = stand(byOld, "old");
        assertThat(standby.isLeader()).isFalse();
        rig.pass(LEASE.plus(LEASE.dividedBy(2)));
        assertThat(standby.isLeader()).as("who needs no other").isTrue();
        rig.pass(LEASE.multipliedBy(10));
        leave(standby);
        next.cut = false;
        rig.pass(LEASE.multipliedBy(2));
        assertThat(joint.isLeader()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"no answer", "no space left"})
    void theOldSeatIsGivenBackWhileTheNextAnswersReadingsAndNoClaims(String why) {
        next.cutFrom = why.equals("no answer") ? "acquire" : "";
        next.unavailableFrom = why.equals("no answer") ? "" : "acquire";
        var joint = stand(byBoth, "both");
        var standby = stand(byOld, "old");
        assertThat(standby.isLeader()).isFalse();
        rig.pass(LEASE.plus(LEASE.dividedBy(2)));
        assertThat(standby.isLeader()).as("who needs no other").isTrue();
        rig.pass(LEASE.multipliedBy(10));
        assertThat(standby.isLeader()).isTrue();
        leave(standby);
        next.cutFrom = "";
        next.unavailableFrom = "";
        rig.pass(LEASE.multipliedBy(4));
        assertThat(joint.isLeader()).isTrue();
    }

    /** It waits for itself, since the next seat is taken by its own id. */
    @Test
    void theOldSeatIsGivenBackIfBothAreOnePlace() {
        stand(Elections.jointly(over(old), over(old), config()), "both");
        var standby = stand(byOld, "old");
        assertThat(standby.isLeader()).isFalse();
        rig.pass(LEASE.multipliedBy(3));
        assertThat(standby.isLeader()).isTrue();
    }

    @Test
    void whoFindsNoClaimsAnsweredLeavesTheOldSeatToOthersForLongerEachTime() {
        next.cutFrom = "acquire";
        stand(byBoth, "both");
        var held = 0;
        var leases = 30;
        for (var i = 0; i < leases * 10; i++) {
            rig.pass(LEASE.dividedBy(10));
            held += byOld.election("billing").leader().isPresent() ? 1 : 0;
        }
        assertThat(held / 10).as("leases for which the old seat was taken").isBetween(5, leases / 3);
    }

    @Test
    void whoWaitsForTheNextSeatKeepsTheOldOneOrClaimsItAgain() {
        var leader = stand(byNext, "next");
        var joint = stand(byBoth, "both");
        List<Runnable> troubles = List.of(
                () -> {
                    old.cut = true;
                    rig.pass(LEASE.multipliedBy(17).dividedBy(20)); // beyond the deadline, within the lease
                    old.cut = false;
                },
                () -> rig.stall(LEASE.multipliedBy(17).dividedBy(20)),
                () -> rig.setBack(LEASE.multipliedBy(3).dividedBy(200))); // beyond what the drift bound allows
        for (var trouble : troubles) {
            trouble.run();
            rig.pass(LEASE.multipliedBy(3));
            assertThat(byOld.election("billing").leader())
                    .as("who has the old seat after trouble number %d", troubles.indexOf(trouble))
                    .hasValueSatisfying(one -> assertThat(one.candidate()).isEqualTo("both"));
        }
        leave(leader);
        assertThat(joint.isLeader()).isTrue();
    }

    @Test
    void ordersReachWhoLeads() {
        var watched = new ArrayList<String>();
        try (var watch = byBoth.election("billing")
                .watch(leader -> watched.add(leader.map(Leader::candidate).orElse("nobody")))) {
            assertThat(watch).isNotNull();
            rig.pass(SOON);
            var joint = stand(byBoth, "both");
            var second = stand(byBoth, "second");
            assertThat(byBoth.election("billing").leader())
                    .hasValueSatisfying(leader -> assertThat(leader.candidate()).isEqualTo("both"));
            assertThat(byBoth.election("billing").candidates()).hasSize(2);
            assertThat(byBoth.election("billing").standDown()).isTrue();
            rig.pass(LEASE.dividedBy(2));
            assertThat(second.isLeader()).isTrue();
            byBoth.election("billing").end();
            rig.pass(LEASE);
            assertThat(stand(byOld, "old").status().phase()).isEqualTo(Phase.CLOSED);
            assertThat(stand(byNext, "next").status().phase()).isEqualTo(Phase.CLOSED);
            assertThat(List.of(joint, second))
                    .allSatisfy(one -> assertThat(one.status().phase()).isEqualTo(Phase.CLOSED));
            assertThat(byBoth.list()).containsExactly("billing");
        }
        assertThat(watched).containsSubsequence("nobody", "both", "second", "nobody");
    }

    @Test
    void whoLeadsByOneSeatAloneIsOrderedToStandDown() {
        for (var alone : List.of(byOld, byNext)) {
            var leader = stand(alone, "alone");
            assertThat(leader.isLeader()).isTrue();
            assertThat(byBoth.election("billing").standDown()).isTrue();
            rig.pass(SOON);
            assertThat(leader.isLeader()).isFalse();
            leave(leader);
        }
        assertThat(byBoth.election("billing").standDown()).as("somebody leads").isFalse();
    }

    @Test
    void anElectionOfWhichOneSeatHasEndedIsShownAsEnded() {
        var seat = View.of("billing", 1);
        var ended = seat.inEra(0, true);
        assertThat(JointArbiter.both(ended, seat).ended()).isTrue();
        assertThat(JointArbiter.both(seat, ended).ended()).isTrue();
        assertThat(JointArbiter.both(seat, seat).ended()).isFalse();
    }

    @Test
    void whoLeadsByTheOldSeatAloneIsShownThoughTheNextHasHadHigherTokens() {
        for (var i = 0; i < 3; i++) {
            led(byNext, "next" + i);
        }
        var watched = new ArrayList<String>();
        try (var watch = byBoth.election("billing")
                .watch(leader -> watched.add(
                        leader.map(who -> who.candidate() + who.token()).orElse("nobody")))) {
            assertThat(watch).isNotNull();
            rig.pass(SOON);
            var first = stand(byOld, "old");
            assertThat(byBoth.election("billing").leader())
                    .hasValueSatisfying(leader -> assertThat(leader.candidate()).isEqualTo("old"));
            leave(first);
            assertThat(byBoth.election("billing").leader()).isEmpty();
            assertThat(led(byNext, "next")).isEqualTo(4);
            assertThat(led(byOld, "old")).isEqualTo(2);
        }
        assertThat(watched).containsExactly("nobody", "old1", "nobody", "next4", "nobody", "old2", "nobody");
    }

    @Test
    void aWatchThatCannotBeginLeavesNoneBehind() {
        var other = new Rig();
        var ofNext =
                Elections.over(next, ElectionsConfig.builder().loop(other.loop).build());
        var elections = Elections.jointly(over(old), ofNext, config());
        other.loop.thrown = new OutOfMemoryError("planted");
        assertThatThrownBy(() -> elections.election("billing").watch(leader -> {}))
                .hasMessage("planted");
        rig.pass(SOON);
        assertThat(old.watchers).isEmpty();
    }

    @Test
    void aWatchThatCannotBeEndedOnOneHalfEndsOnTheOther() {
        var other = new Rig();
        var ofOld =
                Elections.over(old, ElectionsConfig.builder().loop(other.loop).build());
        var watch = Elections.jointly(ofOld, over(next), config())
                .election("billing")
                .watch(leader -> {});
        rig.pass(SOON);
        assertThat(next.watchers).hasSize(1);
        other.loop.thrown = new OutOfMemoryError("planted");
        assertThatThrownBy(watch::close).hasMessage("planted");
        rig.pass(SOON);
        assertThat(next.watchers).isEmpty();
    }

    @Test
    void whoStandsByHoldsNeitherSeat() {
        var joint = stand(byBoth, "both");
        joint.standAside();
        rig.pass(SOON);
        assertThat(led(byOld, "old")).isEqualTo(2);
        assertThat(led(byNext, "next")).isEqualTo(2);
        joint.standAgain();
        rig.pass(SOON);
        assertThat(joint.isLeader()).isTrue();
    }

    @Test
    void whatCannotBeIsRefusedWithTheReason() {
        assertThatThrownBy(() -> byBoth.roster("roles", RosterConfig.ofRoles(8)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("a roster cannot be held on rig and rig jointly");
        var dropping = new MemoryRecordStore(rig.loop.clock(), RecordTraits.PLAIN.vanishing(true));
        var toDropping = Elections.jointly(over(old), over(LeaseStore.over(dropping)), config());
        assertThatThrownBy(() -> toDropping.stand("billing"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("tokens cannot be made to rise");
        assertThatThrownBy(() -> Elections.jointly(byBoth, byNext))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("cannot be held jointly with others");
    }

    /** While it is not connected nobody knows, and the candidacy is let in. */
    @Test
    void whatCannotBeIsRefusedWithTheReasonWhenTheNextInfrastructureIsConnected() throws InterruptedException {
        var there = new CompletableFuture<Boolean>();
        var lazily = ElectionsConfig.builder().connectLazily(true).build();
        var toUnable = Elections.over(
                "the next one",
                () -> {
                    there.join();
                    return unable();
                },
                lazily);
        var store = new MemoryLeaseStore(Clock.system());
        try (var elections = Elections.jointly(Elections.over(store, ElectionsConfig.defaults()), toUnable)) {
            var candidacy = elections.stand("billing");
            while (store.read("billing").toCompletableFuture().join().holder().isEmpty()) {
                Thread.onSpinWait(); // until it claims the next seat
            }
            there.complete(true);
            assertThatThrownBy(candidacy::awaitClose)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("queue cannot be held jointly with others")
                    .hasMessageContaining("tokens cannot be made to rise");
        }
    }

    /** A backend whose tokens cannot be chosen. */
    private static Arbiter unable() {
        var arbiter = LazyArbiter.arbiter(new MemoryLeaseStore(Clock.system()));
        return with(Arbiter.class, arbiter, method -> switch (method.getName()) {
            case "setsTokens" -> Optional.of(false);
            case "describe" -> Optional.of("queue");
            case "seat" ->
                Optional.of(with(Seat.class, new Object(), asked -> {
                    throw new UnsupportedOperationException("planted: " + asked);
                }));
            default -> Optional.empty();
        });
    }

    private static <T> T with(Class<T> type, Object real, Function<Method, Optional<Object>> answers) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    var answer = answers.apply(method);
                    return answer.isPresent() ? answer.get() : method.invoke(real, arguments);
                }));
    }

    // ---------------------------------------------------------------- by a URI

    @Test
    void aUriNamesBoth() throws InterruptedException {
        var name = "memory:" + UUID.randomUUID();
        try (var elections = Elections.connect("joint:?old=" + name + "&next=memory%3A" + UUID.randomUUID());
                var candidacy = elections.stand("billing")) {
            assertThat(candidacy.await(Duration.ofSeconds(30))).isPresent();
            try (var alone = Elections.connect(name)) {
                assertThat(alone.election("billing").leader()).isPresent();
            }
        }
    }

    @Test
    void aUriThatIsWrongSaysWhatWouldBeRight() {
        assertWrong("joint:?old=memory:a", "names no next infrastructure");
        assertWrong("joint:x?old=memory:a&next=memory:b", "something between joint: and the question mark");
        assertWrong("joint:?old=memory:a&next=nothing", "the parameter next");
        assertWrong("joint:?old=memory:a&next=nothing:b", "no backend for the scheme");
        assertWrong("joint:?old=memory:a&next=joint%3A%3Fold%3Da", "is joint itself");
        assertWrong("joint:?old=memory:a&next=memory:a", "names the same infrastructure twice");
        assertWrong("joint:?old=memory:a&next=memory:b&lease=3s", "unknown parameter \"lease\"");
    }

    private static void assertWrong(String uri, String message) {
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(message);
    }

    @Test
    void secretsOfEitherAreNotShown() {
        var uri = ConnectUri.parse("joint:?old=jdbc%3Apostgresql%3A%2F%2Fdb%2Fapp%3Fuser%3Da%26password%3Dopen-sesame"
                + "&next=nats%3A%2F%2Fann%3Ahush-hush%40nats%3A4222");
        assertThat(uri.toString())
                .doesNotContain("open-sesame")
                .doesNotContain("hush-hush")
                .contains("postgresql", "nats:4222");
        assertThat(uri.redact("open-sesame, hush-hush")).isEqualTo("***, ***");
        assertThat(uri.parameter("old"))
                .hasValueSatisfying(old -> assertThat(old).endsWith("password=open-sesame"));
    }
}
