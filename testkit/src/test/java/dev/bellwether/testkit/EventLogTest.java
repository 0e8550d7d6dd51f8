package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class EventLogTest {
    private final EventLog log = new EventLog();

    @Test
    void whatIsPairedAndInOrderPasses() throws Exception {
        acquired(1);
        log.requirePaired(false);
        revoked(1);
        fenced(1);
        acquired(3);
        revoked(3);
        acquired(4);
        fenced(4);
        log.requirePaired(true);
        assertThat(log.turns()).hasSize(7).startsWith("Acquired 1", "Revoked 1 RESIGNED", "Fenced 1 EXPIRED");
        assertThat(log.count(LeadershipEvent.Acquired.class)).isEqualTo(3);
        assertThat(log.last(LeadershipEvent.Revoked.class).orElseThrow().endedNanos())
                .isPresent();
    }

    @Test
    void aMandateLeftOpenIsFound() throws Exception {
        acquired(1);
        assertThatThrownBy(() -> log.requirePaired(true))
                .hasMessageContaining("neither revoked nor fenced: [Acquired 1]");
    }

    @Test
    void anotherAcquiredBeforeTheEndOfTheLastIsFound() throws Exception {
        acquired(1);
        acquired(2);
        assertThatThrownBy(() -> log.requirePaired(false)).hasMessageContaining("NEVER: Acquired out of order");
    }

    @Test
    void aTokenThatDoesNotRiseIsFound() throws Exception {
        acquired(2);
        fenced(2);
        acquired(2);
        assertThatThrownBy(() -> log.requirePaired(false)).hasMessageContaining("NEVER: the token did not rise");
    }

    @Test
    void anEndWithoutABeginningIsFound() throws Exception {
        revoked(1);
        assertThatThrownBy(() -> log.requirePaired(false)).hasMessageContaining("NEVER: Revoked out of order");
    }

    @Test
    void aSecondEndIsFound() throws Exception {
        acquired(1);
        fenced(1);
        fenced(1);
        assertThatThrownBy(() -> log.requirePaired(false)).hasMessageContaining("NEVER: Fenced out of order");
    }

    @Test
    void twoCallsAtOnceAreFound() throws Exception {
        var entered = new CountDownLatch(1);
        var go = new CountDownLatch(1);
        var slow = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Acquired) {
                entered.countDown();
                go.await();
            }
        });
        var thread = new Thread(() -> {
            try {
                slow.onEvent(new LeadershipEvent.Acquired(new Paper(1)));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        entered.await();
        slow.onEvent(new LeadershipEvent.Fenced(new Paper(1), Cause.EXPIRED));
        go.countDown();
        thread.join();
        assertThatThrownBy(() -> slow.requirePaired(false))
                .hasMessageContaining("NEVER: two calls of the listener at once");
    }

    private void acquired(long token) throws Exception {
        log.onEvent(new LeadershipEvent.Acquired(new Paper(token)));
    }

    private void revoked(long token) throws Exception {
        log.onEvent(new LeadershipEvent.Revoked(new Paper(token), Cause.RESIGNED));
    }

    private void fenced(long token) throws Exception {
        log.onEvent(new LeadershipEvent.Fenced(new Paper(token), Cause.EXPIRED));
    }

    /** A mandate on paper. */
    private record Paper(long token) implements Mandate {
        @Override
        public String election() {
            return "x";
        }

        @Override
        public String candidate() {
            return "a";
        }

        @Override
        public boolean isValid() {
            return false;
        }

        @Override
        public Duration remaining() {
            return Duration.ZERO;
        }

        @Override
        public void ensure(Duration atLeast) {
            throw new UnsupportedOperationException();
        }
    }
}
