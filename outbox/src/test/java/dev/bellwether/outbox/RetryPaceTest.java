package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RetryPaceTest {
    private static final long FIRST = 30;
    private static final long LONGEST = 100;

    private long now = 1_000;
    private final RetryPace pace = new RetryPace(FIRST, LONGEST, now);

    /** Returns how long it takes until something that is held is tried again, in a session that goes on. */
    private long pause() {
        for (var pause = 0L; pause <= LONGEST; pause++) {
            if (pace.isDue(true, now)) {
                return pause;
            }
            now++;
        }
        return -1;
    }

    private void sessionHoldsNothing(long nanos) {
        pace.begins(now);
        assertThat(pace.isDue(false, now)).isFalse();
        now += nanos;
        assertThat(pace.isDue(false, now)).isFalse();
    }

    @Test
    void pausesDoubleUpToTheLongestWhileWhatWasHeldIsHeldAgain() {
        for (var expected : new long[] {FIRST, 2 * FIRST, LONGEST, LONGEST}) {
            assertThat(pause()).isEqualTo(expected);
            sessionHoldsNothing(1);
        }
    }

    @Test
    void whatIsHeldWhenNothingWasForLongIsTriedAgainAfterTheFirstPause() {
        assertThat(pause()).isEqualTo(FIRST);
        assertThat(pause()).isEqualTo(2 * FIRST);
        sessionHoldsNothing(FIRST);
        assertThat(pause()).isEqualTo(FIRST);
    }

    /** What it waits for in that time is often what cannot be published. */
    @Test
    void sessionsThatEndSoonDoNotMakeThePauseShort() {
        assertThat(pause()).isEqualTo(FIRST);
        sessionHoldsNothing(FIRST - 1);
        now += FIRST;
        sessionHoldsNothing(FIRST - 1);
        assertThat(pause()).isEqualTo(2 * FIRST);
    }
}
