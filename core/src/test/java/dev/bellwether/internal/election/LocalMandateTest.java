package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Readers of a mandate who are held up between what they read. */
class LocalMandateTest {
    private final HoldUp clock = new HoldUp();
    private final LocalMandate mandate = new LocalMandate("bell", "ann", 7, tenSeconds(), clock);

    @Test
    void whoIsHeldUpUntilAfterTheDeadlineSeesThatItWasExtendedMeanwhile() {
        clock.nextReader = this::isExtendedAndReadLate;
        assertThat(mandate.isValid()).isTrue();
        clock.nextReader = this::isExtendedAndReadLate;
        assertThat(mandate.remaining()).isPositive();
    }

    @Test
    void whoIsHeldUpBetweenTheTwoClocksEndsNothing() {
        clock.holdUps = 3; // as often as both are read again
        assertThat(mandate.remaining()).isPositive();
        assertThat(mandate.isValid()).isTrue();
    }

    @Test
    void whatWasSeenOverIsNotExtended() {
        clock.seconds += 11;
        assertThat(mandate.isValid()).isFalse();
        clock.seconds -= 2; // nobody can know whether that was a suspension
        mandate.extend(tenSeconds());
        assertThat(mandate.isValid()).isFalse();
        assertThat(mandate.remaining()).isZero();
    }

    private void isExtendedAndReadLate() {
        clock.seconds += 9;
        mandate.extend(tenSeconds());
        clock.seconds += 9;
    }

    private Validity tenSeconds() {
        return Validity.of(
                new Proof(new Moment(clock.seconds * 1_000_000_000L, clock.seconds * 1_000L), Duration.ofSeconds(10)),
                Duration.ZERO,
                0.01);
    }

    /** A reader is held up before it, once. */
    private static final class HoldUp implements Clock {
        private long seconds = 1;
        private Runnable nextReader = () -> {};
        private int holdUps;

        @Override
        public long nanos() {
            meet();
            if (holdUps > 0) {
                holdUps--;
                seconds++;
            }
            return seconds * 1_000_000_000L;
        }

        @Override
        public long wallMillis() {
            meet();
            return seconds * 1_000L;
        }

        private void meet() {
            var next = nextReader;
            nextReader = () -> {};
            next.run();
        }
    }
}
