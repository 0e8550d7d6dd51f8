package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a machine does when a backend grants what it has granted before. */
class GrantTest {
    private final CandidacyConfig config =
            CandidacyConfig.builder().lease(Duration.ofSeconds(10)).build();
    private final Rig.HandClock clock = new Rig.HandClock();
    private final List<String> done = new ArrayList<>();
    private boolean failsToTell;
    private final CandidacyMachine machine = new CandidacyMachine(
            new Standing("e", "a", "a-1", config),
            clock,
            new WrittenSeat(),
            new WrittenEffects(),
            Duration.ofSeconds(1));

    @Test
    void aGrantThatIsToldTwiceIsAProofAndReleasesNothing() {
        machine.start();
        grant(7);
        clock.forward(Duration.ofSeconds(3));
        grant(7);
        clock.forward(Duration.ofSeconds(6));
        assertThat(done).containsExactly("claim", "Acquired");
        assertThat(term().isValid()).as("extended by the second").isTrue();
    }

    @Test
    void whoWasToldOfAGrantThatCouldNotBeToldToAllIsToldOfItsEnd() {
        machine.start();
        failsToTell = true;
        assertThatThrownBy(() -> grant(7)).isInstanceOf(OutOfMemoryError.class);
        machine.broken(clock.now(), new ElectionException("planted"));
        assertThat(done).containsSubsequence("claim", "Acquired", "Fenced");
    }

    @Test
    void aGrantUnderAnotherTokenEndsTheMandateBeforeTheSeatIsReleased() {
        machine.start();
        grant(7);
        var first = term();
        grant(8);
        assertThat(done).startsWith("claim", "Acquired", "ended REPLACED").endsWith("Fenced", "release");
        assertThat(first.isValid()).isFalse();
        assertThat(machine.phase()).isEqualTo(Phase.FENCED);
    }

    @Test
    void aGrantThatIsToldAfterTheSeatWasGivenUpAndIsClaimedAgainIsNotOurs() {
        machine.start();
        var since = clock.now();
        machine.standAside(clock.now());
        machine.standAgain(clock.now());
        machine.granted(clock.now(), 7, new Proof(since, config.lease()));
        assertThat(done).containsExactly("claim", "release", "claim", "release");
        clock.forward(config.retryInterval());
        machine.tick(clock.now());
        grant(8);
        assertThat(done).endsWith("release", "claim", "Acquired");
    }

    @Test
    void whoWasToldToStandByClaimsNothingAndGivesBackWhatItIsGranted() {
        machine.standAside(clock.now());
        machine.start();
        machine.pulse(clock.now());
        grant(7);
        clock.forward(config.lease().multipliedBy(3));
        machine.tick(clock.now());
        machine.standAside(clock.now());
        assertThat(done).containsExactly("release", "release");
        machine.standAgain(clock.now());
        machine.standAgain(clock.now());
        assertThat(done).containsExactly("release", "release", "claim");
    }

    @Test
    void whoWasToldToStandByAndResignsLeaves() {
        machine.start();
        machine.standAside(clock.now());
        machine.resign(clock.now());
        machine.standAside(clock.now());
        machine.standAgain(clock.now());
        assertThat(done).containsExactly("claim", "release", "leave");
    }

    @Test
    void aProofThatIsToldLateTakesNothingAway() {
        machine.start();
        grant(7);
        var before = clock.now();
        clock.forward(Duration.ofSeconds(3));
        prove(clock.now());
        prove(before);
        clock.forward(Duration.ofSeconds(6));
        assertThat(term().isValid()).isTrue();
    }

    @Test
    void aGrantOfWhichNothingIsLeftIsGivenBackAndToldToNobody() {
        machine.start();
        var since = clock.now();
        clock.forward(config.lease());
        machine.granted(clock.now(), 7, new Proof(since, config.lease()));
        assertThat(done).containsExactly("claim", "release");
    }

    @Test
    void aGrantThatWasGivenBackByOneThatStoodAsideIsNotOursWhenItIsToldAgain() {
        machine.start();
        machine.standAside(clock.now());
        clock.forward(Duration.ofMillis(1));
        var since = clock.now();
        clock.forward(Duration.ofMillis(1));
        machine.granted(clock.now(), 7, new Proof(since, config.lease()));
        machine.standAgain(clock.now());
        machine.granted(clock.now(), 7, new Proof(since, config.lease()));
        assertThat(done).containsExactly("claim", "release", "release", "claim", "release");
    }

    @Test
    void workThatEndedInTimeIsNotFencedThoughTheFailureCannotBeTold() {
        machine.start();
        grant(7);
        machine.fail(clock.now(), new ElectionException("planted"));
        failsToTell = true;
        assertThatThrownBy(() -> machine.workEnded(clock.now())).isInstanceOf(OutOfMemoryError.class);
        machine.broken(clock.now(), new ElectionException("planted"));
        assertThat(done).contains("Revoked").doesNotContain("Fenced");
    }

    @Test
    void aSeatThatTakesItsTimeToLeaveIsNotTakenForGone() {
        machine.start();
        machine.resign(clock.now());
        for (var look = 0; look < 10; look++) {
            clock.forward(config.renewInterval());
            machine.tick(clock.now());
        }
        assertThat(machine.phase()).isEqualTo(Phase.LEAVING);
        machine.left(Departure.CONFIRMED);
        assertThat(machine.departure()).isEqualTo(Departure.CONFIRMED);
        assertThat(done).containsExactly("claim", "leave");
    }

    @Test
    void aMandateIsOverBeforeAnybodyIsToldAndBeforeTheSeatIsConceded() {
        machine.start();
        grant(7);
        machine.leaveToOthers(clock.now());
        assertThat(done).containsExactly("claim", "Acquired", "ended STOOD_DOWN", "concede", "Revoked");
    }

    @Test
    void theLossOfAnotherTokenEndsNothing() {
        machine.start();
        grant(7);
        machine.lost(clock.now(), 6, Cause.REPLACED);
        assertThat(term().isValid()).isTrue();
        assertThat(done).containsExactly("claim", "Acquired");
    }

    @Test
    void anAbandonedLeaderConcedesItsSeatSoThatItIsRenewedNoLonger() {
        machine.start();
        grant(7);
        machine.abandon(clock.now());
        assertThat(done).containsExactly("claim", "Acquired", "ended RESIGNED", "concede");
    }

    private void assertThatNothingIsHeld(String when) {
        assertThat(machine.term() == null || !term().isValid())
                .as("the mandate is over " + when)
                .isTrue();
    }

    private LocalMandate term() {
        return Objects.requireNonNull(machine.term());
    }

    private void prove(Moment since) {
        machine.proven(clock.now(), term().token(), new Proof(since, config.lease()));
    }

    private void grant(long token) {
        machine.granted(clock.now(), token, new Proof(clock.now(), config.lease()));
    }

    private final class WrittenSeat implements Seat {
        @Override
        public void claim() {
            done.add("claim");
        }

        @Override
        public void concede(Duration within) {
            assertThatNothingIsHeld("before the seat is conceded");
            done.add("concede");
        }

        @Override
        public void release() {
            assertThatNothingIsHeld("before the seat is released");
            done.add("release");
        }

        @Override
        public void leave() {
            done.add("leave");
        }
    }

    private final class WrittenEffects implements CandidacyMachine.Effects {
        @Override
        public void publish(@Nullable LocalMandate mandate) {}

        @Override
        public void tell(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced) {
                assertThatNothingIsHeld("before anybody is told");
            }
            done.add(event.getClass().getSimpleName());
            if (failsToTell) { // the next listener
                failsToTell = false;
                throw new OutOfMemoryError("planted");
            }
        }

        @Override
        public void startWork(LocalMandate mandate) {}

        @Override
        public void stopWork() {}

        @Override
        public void interruptWork() {}

        @Override
        public void halt(LocalMandate mandate) {}

        @Override
        public void ended(LocalMandate mandate, Cause cause, Duration held, String detail) {
            done.add("ended " + cause);
        }

        @Override
        public void closed() {}
    }
}
