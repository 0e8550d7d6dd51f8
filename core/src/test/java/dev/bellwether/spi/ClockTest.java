package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class ClockTest {
    /** Else it would look as if the wall clock had been set back, and end a mandate that holds. */
    @Test
    void whoIsHeldUpBetweenTheTwoReadingsReadsAgain() {
        var clock = new HeldUpOnce();
        var now = clock.now();
        assertThat(clock.millis).as("we were held up").isEqualTo(150);
        assertThat(now.nanos() / 1_000_000).isCloseTo(now.wallMillis(), within(1L));
    }

    /** Both clocks agree, but the thread that reads them is kept from running, once. */
    private static final class HeldUpOnce implements Clock {
        private long millis;

        @Override
        public long nanos() {
            return millis * 1_000_000;
        }

        @Override
        public long wallMillis() {
            var read = millis;
            millis = 150;
            return read;
        }
    }
}
