package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * When a process halts whose work does not end: whatever happens after the seat was promised to others, never later
 * than they may have it. A lease of 10 s, 2 s for standing down, and 1 % for drift.
 */
class HardEndTest {
    private static final Duration WITHIN = Duration.ofMillis(500);
    private static final Duration IN_TIME = Duration.ofMillis(495);
    private final ElectionException error = new ElectionException("planted");

    private final CandidacyConfig config = CandidacyConfig.builder()
            .lease(Duration.ofSeconds(10))
            .haltOnOverrun(true)
            .build();
    private final Rig.HandClock clock = new Rig.HandClock();
    private final List<String> done = new ArrayList<>();
    private boolean interruptThrows;
    private boolean releaseThrows;
    private boolean endedThrows;
    private final CandidacyMachine machine = new CandidacyMachine(
            new Standing("e", "a", "a-1", config), clock, new DeadSeat(), new Halting(), Duration.ofSeconds(1));

    @BeforeEach
    void lead() {
        machine.start();
        machine.granted(clock.now(), 7, new Proof(clock.now(), config.lease()));
    }

    private long standDown() {
        var hardEnd = clock.nanos() + IN_TIME.toNanos();
        machine.asked(clock.now(), 7, Cause.REVOKED_BY_OPERATOR, WITHIN);
        clock.forward(Duration.ofMillis(300));
        machine.tick(clock.now()); // interrupts what runs
        return hardEnd;
    }

    private void assertHaltsAt(long nanos) {
        assertHaltsAt(nanos, Phase.FENCED);
    }

    private void assertHaltsAt(long nanos, Phase phase) {
        assertThat(machine.phase()).isEqualTo(phase);
        assertThat(machine.wakeAtNanos()).isEqualTo(nanos);
        clock.forward(Duration.ofNanos(nanos - 1 - clock.nanos()));
        machine.tick(clock.now());
        assertThat(done).doesNotContain("halt");
        clock.forward(Duration.ofNanos(1));
        machine.tick(clock.now());
        assertThat(done).contains("halt");
    }

    private void assertHaltsNow() {
        assertThat(machine.wakeAtNanos()).isLessThanOrEqualTo(clock.nanos());
        machine.tick(clock.now());
        assertThat(done).contains("halt");
    }

    /** The wall clock alone runs on. */
    private void suspend(Duration time) {
        clock.wallNanos += time.toNanos();
    }

    private static void fails(ThrowingCallable turn) {
        assertThatThrownBy(turn).isInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void whoIsAskedWithMoreTimeThanItsBudgetHasThat() {
        machine.asked(clock.now(), 7, Cause.MOVED, config.lease().dividedBy(2));
        var hardEnd = clock.nanos() + Duration.ofMillis(1_980).toNanos();
        clock.forward(config.standDownBudget().dividedBy(2));
        machine.tick(clock.now()); // interrupts what runs
        assertThat(machine.wakeAtNanos()).isEqualTo(hardEnd);
    }

    @Test
    void aSeatThatIsLostWhileItsLeaderStandsDownPutsNothingOff() {
        var hardEnd = standDown();
        clock.forward(Duration.ofMillis(100));
        machine.lost(clock.now(), 7, Cause.EXPIRED);
        assertHaltsAt(hardEnd);
    }

    @Test
    void turnsThatThrowWhileItStandsDownPutNothingOff() {
        var hardEnd = standDown();
        machine.broken(clock.now(), error);
        clock.forward(Duration.ofMillis(100));
        machine.broken(clock.now(), error);
        assertHaltsAt(hardEnd);
    }

    @Test
    void turnsThatThrowWhenItIsFencedPutNothingOff() {
        clock.forward(Duration.ofSeconds(8));
        machine.tick(clock.now());
        var leaseEnd = clock.nanos() + Duration.ofMillis(1_900).toNanos();
        clock.forward(Duration.ofSeconds(1));
        machine.broken(clock.now(), error);
        assertHaltsAt(leaseEnd);
    }

    @Test
    void aTurnThatThrowsAfterTheDeadlineIsMeasuredByTheLeaseAndNotByTheBudget() {
        var leaseEnd = clock.nanos() + Duration.ofMillis(9_900).toNanos();
        clock.forward(Duration.ofMillis(9_500));
        machine.broken(clock.now(), error);
        assertHaltsAt(leaseEnd);
    }

    @Test
    void aTurnThatThrowsInTimeLeavesTheBudget() {
        machine.broken(clock.now(), error);
        assertHaltsAt(clock.nanos() + config.standDownBudget().toNanos());
    }

    @Test
    void whatMustHaveEndedIsHaltedBeforeAnythingElseIsTried() {
        standDown();
        interruptThrows = true;
        fails(() -> machine.broken(clock.now(), error));
        clock.forward(Duration.ofMillis(195));
        fails(() -> machine.broken(clock.now(), error));
        assertThat(done).contains("halt");
    }

    @Test
    void whatMustHaveEndedIsHaltedThoughEachTurnThrowsFromTheFirst() {
        endedThrows = true;
        fails(() -> machine.broken(clock.now(), error));
        clock.forward(Duration.ofSeconds(1));
        fails(() -> machine.broken(clock.now(), error));
        assertThat(done).doesNotContain("halt");
        clock.forward(Duration.ofSeconds(1));
        fails(() -> machine.broken(clock.now(), error));
        assertThat(done).contains("halt");
    }

    @Test
    void whatMustHaveEndedIsHaltedThoughTheMachineWasSuspendedMeanwhile() {
        standDown();
        suspend(Duration.ofSeconds(1));
        machine.broken(clock.now(), error);
        assertThat(done).contains("halt");
    }

    @Test
    void aLeaderThatWasSuspendedUntilAnotherMayLeadHaltsAtOnce() {
        suspend(Duration.ofHours(1));
        machine.tick(clock.now());
        assertThat(machine.phase()).isEqualTo(Phase.FENCED);
        assertHaltsNow();
    }

    @Test
    void aLeaderThatWasSuspendedBeyondItsDeadlineHaltsWhenAnotherMayLead() {
        suspend(Duration.ofSeconds(8));
        machine.tick(clock.now());
        assertHaltsAt(clock.nanos() + Duration.ofMillis(1_900).toNanos());
    }

    @Test
    void whoIsFencedAndThenSuspendedHaltsAtOnce() {
        clock.forward(Duration.ofSeconds(8));
        machine.tick(clock.now());
        assertThat(done).doesNotContain("halt");
        suspend(Duration.ofSeconds(2));
        machine.tick(clock.now());
        assertThat(done).contains("halt");
    }

    @Test
    void whoLosesItsSeatAndIsThenSuspendedHaltsAtOnce() {
        machine.lost(clock.now(), 7, Cause.REPLACED);
        suspend(config.standDownBudget());
        machine.tick(clock.now());
        assertThat(done).contains("halt");
    }

    @Test
    void aSeatThatIsLostAfterAShortSuspensionHaltsThatMuchSooner() {
        standDown();
        suspend(Duration.ofMillis(100));
        machine.lost(clock.now(), 7, Cause.EXPIRED);
        assertHaltsAt(clock.nanos() + Duration.ofMillis(95).toNanos());
    }

    @Test
    void aTurnThatThrowsAfterASuspensionHaltsAtOnce() {
        suspend(Duration.ofHours(1));
        machine.broken(clock.now(), error);
        assertHaltsNow();
    }

    @Test
    void aTurnThatThrowsWhenItIsFencedAndSuspendedHaltsAtOnce() {
        clock.forward(Duration.ofSeconds(8));
        machine.tick(clock.now());
        suspend(Duration.ofSeconds(2));
        machine.broken(clock.now(), error);
        assertThat(done).contains("halt");
    }

    @Test
    void turnsThatThrowWhileTheMillisecondsDoNotMatchBringNothingForward() {
        clock.forward(Duration.ofNanos(700_000));
        machine.broken(clock.now(), error);
        var hardEnd = clock.nanos() + config.standDownBudget().toNanos();
        for (var turn = 0; turn < 1_000; turn++) {
            clock.forward(Duration.ofNanos(900_001));
            machine.broken(clock.now(), error);
        }
        assertThat(machine.wakeAtNanos()).isBetween(hardEnd - 2_000_000, hardEnd);
    }

    @Test
    void aTurnThatThrowsAfterASuspensionHaltsNothingIfNothingRuns() {
        suspend(Duration.ofHours(1));
        machine.broken(clock.now(), error);
        machine.workEnded(clock.now());
        assertThat(done).doesNotContain("halt");
    }

    @Test
    void workThatEndsInTheTurnThatFoundTheSuspensionHaltsNothing() {
        suspend(Duration.ofHours(1));
        machine.tick(clock.now());
        machine.workEnded(clock.now());
        machine.tick(clock.now());
        assertThat(done).doesNotContain("halt");
    }

    @Test
    void workThatEndedTooLateHaltsNothingAfterwards() {
        standDown();
        clock.forward(Duration.ofSeconds(1));
        machine.workEnded(clock.now());
        machine.tick(clock.now());
        assertThat(done).doesNotContain("halt");
    }

    @Test
    void workThatHasEndedHaltsNothingThoughTheSeatCannotBeGivenBack() {
        standDown();
        releaseThrows = true;
        fails(() -> machine.workEnded(clock.now()));
        for (var turn = 0; turn < 20; turn++) {
            machine.broken(clock.now(), error);
            fails(() -> machine.workEnded(clock.now()));
            clock.forward(Duration.ofSeconds(1));
            machine.tick(clock.now());
        }
        assertThat(done).doesNotContain("halt");
        releaseThrows = false;
        machine.workEnded(clock.now());
        assertThat(machine.phase()).isEqualTo(Phase.LEAVING);
    }

    @Test
    void whoIsAbandonedWhileItStandsDownPutsNothingOff() {
        var hardEnd = standDown();
        machine.abandon(clock.now());
        assertThat(machine.isToHalt()).isTrue();
        assertHaltsAt(hardEnd, Phase.CLOSED);
        assertThat(machine.isToHalt()).isFalse();
    }

    @Test
    void whoIsAbandonedWhenTheSeatHasPassedHaltsAtOnce() {
        standDown();
        clock.forward(Duration.ofSeconds(1));
        machine.abandon(clock.now());
        assertHaltsNow();
    }

    @Test
    void aLeaderThatIsAbandonedInterruptsAndHaltsWhenTheLeaseEnds() {
        var leaseEnd = clock.nanos() + Duration.ofMillis(9_900).toNanos();
        machine.abandon(clock.now());
        machine.tick(clock.now());
        assertThat(done).containsExactly("interrupt");
        assertHaltsAt(leaseEnd, Phase.CLOSED);
    }

    @Test
    void whoIsAbandonedAndThenSuspendedHaltsAtOnce() {
        machine.abandon(clock.now());
        suspend(Duration.ofHours(1));
        machine.tick(clock.now());
        assertThat(done).contains("halt");
    }

    @Test
    void workThatEndsWhenItHasBeenAbandonedHaltsNothing() {
        standDown();
        clock.forward(Duration.ofSeconds(1));
        machine.abandon(clock.now());
        machine.workEnded(clock.now());
        machine.tick(clock.now());
        assertThat(done).doesNotContain("halt");
        assertThat(machine.isToHalt()).isFalse();
        assertThat(machine.wakeAtNanos()).isNull();
    }

    @Test
    void theNextMandateHasATimeOfItsOwn() {
        standDown();
        machine.workEnded(clock.now());
        clock.forward(config.lease());
        machine.tick(clock.now());
        machine.granted(clock.now(), 8, new Proof(clock.now(), config.lease()));
        assertThat(Objects.requireNonNull(machine.term()).token()).isEqualTo(8);
        machine.lost(clock.now(), 8, Cause.REPLACED);
        assertHaltsAt(clock.nanos() + config.standDownBudget().toNanos());
    }

    private final class DeadSeat implements Seat {
        @Override
        public void claim() {}

        @Override
        public void concede(Duration within) {}

        @Override
        public void release() {
            if (releaseThrows) {
                throw new OutOfMemoryError("planted");
            }
        }

        @Override
        public void leave() {}
    }

    private final class Halting implements CandidacyMachine.Effects {
        @Override
        public void publish(@Nullable LocalMandate mandate) {}

        @Override
        public void tell(LeadershipEvent event) {}

        @Override
        public void startWork(LocalMandate mandate) {}

        @Override
        public void stopWork() {}

        @Override
        public void interruptWork() {
            if (interruptThrows) {
                throw new OutOfMemoryError("planted");
            }
            done.add("interrupt");
        }

        @Override
        public void halt(LocalMandate mandate) {
            done.add("halt");
        }

        @Override
        public void ended(LocalMandate mandate, Cause cause, Duration held, String detail) {
            if (endedThrows) {
                throw new OutOfMemoryError("planted");
            }
        }

        @Override
        public void closed() {}
    }
}
