package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.Phase;
import dev.bellwether.TaskFailure;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The effect of every setting. */
class SettingsTest {
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void theCandidateIdIsWhatOthersSee() {
        rig.stand("pod-7", rig.config());
        assertThat(view().holder().orElseThrow().candidate()).isEqualTo("pod-7");
    }

    @Test
    void theLeaseIsWhatASuccessorWaitsForAfterACrash() {
        rig.stand("a", rig.config().lease(Duration.ofSeconds(4)));
        rig.wire.cut = true; // as good as dead
        var successor = other("b", CandidacyConfig.builder());
        rig.pass(Duration.ofMillis(3_990));
        assertThat(successor.isLeader()).isFalse();
        rig.pass(Duration.ofMillis(20));
        assertThat(successor.isLeader()).isTrue();
    }

    @Test
    void theRenewIntervalIsHowOftenTheLeaseIsRenewed() {
        rig.stand("a", rig.config().renewInterval(Duration.ofSeconds(1)));
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(60));
        // due at a multiple of a quarter interval, so that renewals of many elections meet: never later than an
        // interval
        assertThat(rig.wire.calls).containsOnly("renew").hasSizeBetween(60, 80);
    }

    @Test
    void theRetryIntervalIsHowSoonAFailureIsTriedAgainGiveOrTakeAFifth() {
        rig.stand("a", rig.config().retryInterval(Duration.ofMillis(500)));
        rig.wire.muffled = true;
        rig.pass(Duration.ofSeconds(4)); // the renewal has failed by now
        rig.wire.calls.clear();
        rig.pass(Duration.ofSeconds(3));
        assertThat(rig.wire.calls).containsOnly("renew").hasSizeBetween(5, 8);
    }

    @Test
    void theStandDownBudgetIsTakenOffTheLease() {
        var candidacy = rig.stand("a", rig.config().standDownBudget(Duration.ofSeconds(5)));
        assertThat(candidacy.mandate().orElseThrow().remaining()).isEqualTo(Duration.ofMillis(4_899));
    }

    @Test
    void theDriftBoundIsTakenOffTheLease() {
        var candidacy = rig.stand("a", rig.config().driftBound(0.1));
        assertThat(candidacy.mandate().orElseThrow().remaining()).isEqualTo(Duration.ofMillis(6_999));
    }

    @Test
    void withABackoffAStandbyAsksLessAndLessOften() {
        rig.stand("a", rig.config());
        rig.wire.calls.clear();
        other("b", CandidacyConfig.builder().standbyBackoff(Duration.ofMinutes(2)), rig.wire);
        rig.pass(Duration.ofMinutes(60));
        var patient = count("acquire");
        rig.wire.calls.clear();
        other("c", CandidacyConfig.builder(), rig.wire);
        rig.pass(Duration.ofMinutes(60));
        assertThat(patient).isBetween(25, 60);
        assertThat(count("acquire")).isGreaterThan(300);
    }

    @Test
    void aStandbyNeverPausesForLongerThanItsBackoff() {
        rig.stand("a", rig.config());
        var longest = Duration.ofMinutes(2);
        other("b", CandidacyConfig.builder().standbyBackoff(longest), rig.wire);
        for (var pause = 0; pause < 300; pause++) {
            rig.wire.calls.clear();
            rig.pass(longest);
            assertThat(count("acquire")).as("in pause %d", pause).isPositive();
        }
    }

    @Test
    void aLowerPriorityGivesWayWhenTheSeatIsFree() {
        var leader = rig.stand("a", rig.config());
        var low = other("low", CandidacyConfig.builder().priority(1));
        var high = other("high", CandidacyConfig.builder().priority(2));
        rig.pass(Duration.ofSeconds(10)); // each has asked once more, and so knows of the other
        leader.resign();
        rig.settle();
        assertThat(high.isLeader()).isTrue();
        assertThat(low.isLeader()).isFalse();
    }

    @Test
    void aHigherPriorityDoesNotDisplaceALeader() {
        var leader = rig.stand("a", rig.config());
        var high = other("high", CandidacyConfig.builder().priority(1000));
        rig.pass(Duration.ofMinutes(5));
        assertThat(leader.isLeader()).isTrue();
        assertThat(high.isLeader()).isFalse();
    }

    @Test
    void metadataReachesObservers() {
        rig.stand("a", rig.config().metadata(Map.of("zone", "b")));
        assertThat(view().holder().orElseThrow().metadata()).containsEntry("zone", "b");
    }

    @Test
    void aLeaderThatIsNotPulsedStandsDownAndStandsAgainWhenItIs() throws Exception {
        var candidacy = rig.stand("a", rig.config().maxPulseInterval(Duration.ofSeconds(30)));
        for (var i = 0; i < 5; i++) {
            rig.pass(Duration.ofSeconds(20));
            assertThat(candidacy.pulse(Duration.ZERO)).isTrue();
        }
        rig.pass(Duration.ofSeconds(31));
        assertThat(rig.heard).containsExactly("Acquired", "Revoked UNPULSED");
        rig.pass(Duration.ofMinutes(5));
        assertThat(view().holder()).as("left to others").isEmpty();
        assertThat(candidacy.pulse(Duration.ZERO)).isFalse();
        rig.settle();
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void aLeaderStandsDownWhenItsPulseIsDueAndNotWhenSomebodyLooksNext() {
        rig.stand("a", rig.config().maxPulseInterval(Duration.ofMillis(2_250)));
        rig.pass(Duration.ofMillis(2_249));
        assertThat(rig.heard).containsExactly("Acquired");
        rig.pass(Duration.ofMillis(1));
        assertThat(rig.heard).containsExactly("Acquired", "Revoked UNPULSED");
    }

    @Test
    void aPulseCountsThoughItFindsThatTheWorkHasOverrun() throws Exception {
        var candidacy = rig.stand("a", rig.config().maxPulseInterval(Duration.ofSeconds(30)));
        rig.executor.keeps = true;
        rig.pass(Duration.ofSeconds(31));
        rig.stall(Duration.ofSeconds(3)); // the budget is 2 s
        assertThat(candidacy.pulse(Duration.ZERO)).isFalse();
        rig.executor.letGo();
        rig.settle();
        assertThat(rig.heard).contains("Fenced UNPULSED");
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void aPulseThatFindsNoMemoryHoldsUpNoOther() throws Exception {
        var candidacy = rig.stand("a", rig.config().maxPulseInterval(Duration.ofSeconds(30)));
        rig.loop.thrown = new OutOfMemoryError("planted");
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO)).isInstanceOf(OutOfMemoryError.class);
        for (var i = 0; i < 3; i++) {
            rig.pass(Duration.ofSeconds(20));
            assertThat(candidacy.pulse(Duration.ZERO)).isTrue();
        }
        assertThat(rig.heard).containsExactly("Acquired");
    }

    @Test
    void aClosedCandidacyCannotBePulsed() {
        var candidacy = rig.stand("a", rig.config());
        candidacy.resign();
        rig.settle();
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("billing")
                .hasMessageContaining("ended");
    }

    @Test
    void listenerAndTaskRunOnTheExecutorOfTheCandidacy() {
        var own = new Rig.HandExecutor();
        var candidacy = rig.stand("a", rig.config().executor(own));
        candidacy.whileLeading(mandate -> {});
        rig.settle();
        assertThat(own.ran).isEqualTo(2);
        assertThat(rig.executor.ran).isZero();
    }

    @Test
    void stepsOfATaskBeginATaskIntervalApart() {
        var steps = new AtomicInteger();
        var candidacy = rig.stand("a", rig.config().taskInterval(Duration.ofMillis(100)));
        candidacy.whileLeading(mandate -> steps.incrementAndGet());
        rig.pass(Duration.ofMillis(950));
        assertThat(steps).hasValue(10);
    }

    @Test
    void aTaskThatThrowsRunsAgainAfterTheRetryInterval() {
        var steps = new AtomicInteger();
        var candidacy = rig.stand("a", rig.config().retryInterval(Duration.ofSeconds(1)));
        candidacy.whileLeading(mandate -> {
            steps.incrementAndGet();
            throw new IllegalArgumentException("planted");
        });
        rig.pass(Duration.ofMillis(4_500));
        assertThat(steps).hasValue(5);
        assertThat(rig.figures.failures).hasSize(5);
        assertThat(candidacy.isLeader()).isTrue();
    }

    @Test
    void aTaskThatThrowsLateRunsAgainAfterTheRetryIntervalToo() {
        var begun = new ArrayList<Long>();
        var candidacy = rig.stand("a", rig.config().retryInterval(Duration.ofSeconds(1)));
        candidacy.whileLeading(mandate -> {
            begun.add(rig.clock.nanos);
            if (begun.size() == 1) {
                rig.stall(Duration.ofSeconds(2));
                throw new IllegalArgumentException("planted");
            }
        });
        rig.pass(Duration.ofSeconds(4));
        assertThat(begun.get(1) - begun.get(0)).isEqualTo(Duration.ofSeconds(3).toNanos());
    }

    @Test
    void aTaskThatThrowsRunsAgainNoSoonerThanAfterTheTaskInterval() {
        var steps = new AtomicInteger();
        var candidacy = rig.stand("a", rig.config().taskInterval(Duration.ofMinutes(1)));
        candidacy.whileLeading(mandate -> {
            steps.incrementAndGet();
            throw new IllegalArgumentException("planted");
        });
        rig.pass(Duration.ofSeconds(59));
        assertThat(steps).hasValue(1);
        rig.pass(Duration.ofSeconds(2));
        assertThat(steps).hasValue(2);
    }

    @Test
    void aTaskThatThrowsEndsTheCandidacyIfSoConfigured() {
        var candidacy = rig.stand("a", rig.config().onTaskFailure(TaskFailure.END));
        candidacy.whileLeading(mandate -> {
            throw new IllegalArgumentException("planted");
        });
        rig.pass(Duration.ofMillis(10));
        assertThat(rig.heard).containsExactly("Acquired", "Revoked FAILED", "Failed");
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        assertThatThrownBy(() -> candidacy.pulse(Duration.ZERO)).isInstanceOf(ElectionException.class);
    }

    @Test
    void workThatOutlastsTheLeaseHaltsTheProcessIfSoConfigured() {
        for (var halts : new boolean[] {true, false}) {
            var standing = new Standing(
                    "billing", "a", "i", rig.config().haltOnOverrun(halts).build());
            var effects = new Written();
            var machine = new CandidacyMachine(
                    standing, rig.clock, new NoSeat(new ArrayList<>()), effects, Duration.ofMillis(500));
            machine.start();
            machine.granted(rig.clock.now(), 1, new Proof(rig.clock.now(), Duration.ofSeconds(10)));
            rig.clock.forward(Duration.ofMillis(7_900));
            machine.tick(rig.clock.now());
            assertThat(effects.done).contains("interrupt").doesNotContain("halt");
            rig.clock.forward(Duration.ofSeconds(2)); // the lease less the drift
            machine.tick(rig.clock.now());
            assertThat(effects.done.contains("halt")).isEqualTo(halts);
        }
    }

    @Test
    void whatRunsIsInterruptedHalfWayThroughTheStandDownBudget() {
        var effects = new Written();
        var standing = new Standing("billing", "a", "i", rig.config().build());
        var machine = new CandidacyMachine(
                standing, rig.clock, new NoSeat(new ArrayList<>()), effects, Duration.ofMillis(500));
        machine.start();
        machine.granted(rig.clock.now(), 1, new Proof(rig.clock.now(), Duration.ofSeconds(10)));
        machine.resign(rig.clock.now());
        rig.clock.forward(Duration.ofMillis(980));
        machine.tick(rig.clock.now());
        assertThat(effects.done).doesNotContain("interrupt");
        rig.clock.forward(Duration.ofMillis(20));
        machine.tick(rig.clock.now());
        assertThat(effects.done).contains("interrupt");
    }

    @Test
    void figuresAreTold() {
        var candidacy = rig.stand("a", rig.config());
        rig.pass(Duration.ofSeconds(4));
        assertThat(candidacy.status().sinceProof().orElseThrow())
                .isBetween(Duration.ofMillis(600), Duration.ofMillis(1_500));
        rig.wire.muffled = true;
        rig.pass(Duration.ofSeconds(20));
        assertThat(rig.figures.attempts)
                .startsWith(Metrics.Attempt.WON, Metrics.Attempt.RENEWED, Metrics.Attempt.MISSED)
                .contains(Metrics.Attempt.UNANSWERED);
        assertThat(rig.figures.terms).containsExactly(1L);
        assertThat(rig.figures.losses).containsExactly(Cause.UNREACHABLE);
        assertThat(rig.figures.delays).isNotEmpty();
        assertThat(candidacy.status().sinceProof()).isEmpty();
    }

    private View view() {
        return rig.server.read("billing").toCompletableFuture().join();
    }

    private int count(String call) {
        return (int) rig.wire.calls.stream().filter(call::equals).count();
    }

    private LoopCandidacy other(String candidate, CandidacyConfig.Builder config) {
        return other(candidate, config, rig.server);
    }

    private LoopCandidacy other(String candidate, CandidacyConfig.Builder config, LeaseStore store) {
        var candidacy = (LoopCandidacy) rig.elections(store)
                .stand("billing", config.candidate(candidate).build());
        rig.settle();
        return candidacy;
    }

    /** Writes down what a machine wants done. */
    static final class Written implements CandidacyMachine.Effects {
        final ArrayList<String> done = new ArrayList<>();

        @Override
        public void publish(@Nullable LocalMandate mandate) {}

        @Override
        public void tell(LeadershipEvent event) {
            done.add(Rig.told(event));
        }

        @Override
        public void prepare(HandOverNote order, LeadershipEvent.Preparing event) {
            done.add("prepare");
        }

        @Override
        public void startWork(LocalMandate mandate) {}

        @Override
        public void stopWork() {}

        @Override
        public void interruptWork() {
            done.add("interrupt");
        }

        @Override
        public void halt(LocalMandate mandate) {
            done.add("halt");
        }

        @Override
        public void ended(LocalMandate mandate, Cause cause, Duration held, String detail) {}

        @Override
        public void closed() {}
    }

    /** A seat that does nothing but write down what is asked of it. */
    record NoSeat(List<String> asked) implements Seat {
        @Override
        public void claim() {
            asked.add("claim");
        }

        @Override
        public void concede(Duration within) {
            asked.add("concede");
        }

        @Override
        public void release() {
            asked.add("release");
        }

        @Override
        public void ready(HandOverNote order) {
            asked.add("ready");
        }

        @Override
        public void leave() {
            asked.add("leave");
        }
    }
}
