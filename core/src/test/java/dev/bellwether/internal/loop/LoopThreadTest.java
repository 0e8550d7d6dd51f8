package dev.bellwether.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoopThreadTest {
    /** A loop that waits parks: an interrupt that nobody forgets ends each later park at once. */
    @Test
    void aLoopThatWasInterruptedGoesOnAndWaitsForItsTimers() throws Exception {
        var clock = new CountingClock();
        var ran = new CountDownLatch(1);
        try (var loop = new LoopThread(clock, Duration.ofMinutes(1), (length, how) -> {})) {
            loop.start();
            loop.execute(() -> {
                Thread.currentThread().interrupt();
                loop.at(clock.nanos() + TimeUnit.MILLISECONDS.toNanos(500), ran::countDown);
            });
            assertThat(ran.await(30, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(clock.readings()).as("a few for each turn, none for waiting").isLessThan(100);
    }

    private static final class CountingClock implements Clock {
        private final AtomicLong readings = new AtomicLong();

        private long readings() {
            return readings.get();
        }

        @Override
        public long nanos() {
            readings.incrementAndGet();
            return Clock.system().nanos();
        }

        @Override
        public long wallMillis() {
            return Clock.system().wallMillis();
        }
    }
}
