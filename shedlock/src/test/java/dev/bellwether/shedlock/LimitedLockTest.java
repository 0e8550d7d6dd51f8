package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Elections;
import dev.bellwether.HeldLock;
import dev.bellwether.Mandate;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of a lock in a process that has no thread left, or whose wall clock is set. */
class LimitedLockTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    private final Elections elections = Elections.connect("memory:" + UUID.randomUUID());
    private final BellwetherLockProvider provider = new BellwetherLockProvider(elections);

    @AfterEach
    void close() {
        elections.close();
    }

    private static LockConfiguration lasting(Duration time) {
        return new LockConfiguration(ClockProvider.now(), "report", time, Duration.ZERO);
    }

    @Test
    void aLockWhoseEndCannotBeTimedIsGivenBack() {
        assertThatThrownBy(() -> provider.lock(new Untimed(2)))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessage("planted: no thread for a timer");
        assertThat(BellwetherLockProvider.mandate()).isEmpty();
        assertThat(provider.lock(lasting(LONG))).isPresent();
    }

    @Test
    void aLockWhoseExtensionCannotBeTimedStillEnds() throws InterruptedException {
        var run = new LockedRun(elections.lock("report").tryLock().lock().orElseThrow());
        var lock = new LimitedLock(lasting(Duration.ofSeconds(1)), run);
        assertThatThrownBy(() -> lock.doExtend(new Untimed(1))).isInstanceOf(OutOfMemoryError.class);
        assertThat(run.lock().isHeld()).isTrue();
        Eventually.eventually(
                "the lock ends", Duration.ofSeconds(20), () -> !run.lock().isHeld());
    }

    @Test
    void aLockThatNoThreadCouldEndIsEndedLater() throws InterruptedException {
        var run = new LockedRun(elections.lock("report").tryLock().lock().orElseThrow());
        var tries = new AtomicInteger();
        var lock = new LimitedLock(lasting(Duration.ofMillis(1)), run, ending -> {
            if (tries.incrementAndGet() < 3) {
                throw new OutOfMemoryError("planted: unable to create native thread");
            }
            return new Thread(ending);
        });
        assertThat(lock).isNotNull();
        Eventually.eventually(
                "the lock ends", Duration.ofSeconds(20), () -> !run.lock().isHeld());
        assertThat(tries).hasValue(3);
    }

    /** For its elections the lock is kept until that has succeeded, though it is held by nobody here. */
    @Test
    void aLockThatCouldNotBeGivenBackIsGivenBackLater() throws InterruptedException {
        var held = elections.lock("report").tryLock().lock().orElseThrow();
        var tries = new AtomicInteger();
        var run = new LockedRun(new HeldLock() {
            @Override
            public Mandate mandate() {
                return held.mandate();
            }

            @Override
            public boolean isHeld() {
                return tries.get() == 0;
            }

            @Override
            public void release(Duration keptFree) {
                if (tries.incrementAndGet() < 3) {
                    throw new OutOfMemoryError("planted");
                }
                held.release(keptFree);
            }

            @Override
            public void close() {
                held.close();
            }
        });
        assertThat(new LimitedLock(lasting(Duration.ofMillis(1)), run)).isNotNull();
        Eventually.eventually("the lock is given back", Duration.ofSeconds(20), () -> !held.isHeld());
        assertThat(tries).hasValue(3);
    }

    /** The seat was kept for as much longer as the clock had been set back, and the job ran nowhere. */
    @Test
    void aWallClockThatWasSetBackKeepsALockNoLongerThanAskedFor() {
        var before = ClockProvider.now().plus(Duration.ofHours(1));
        provider.lock(new LockConfiguration(before, "report", LONG, Duration.ofSeconds(1)))
                .orElseThrow()
                .unlock();
        Eventually.eventually(
                "the next one has it",
                Duration.ofSeconds(20),
                () -> provider.lock(lasting(LONG)).isPresent());
    }

    /** Its end cannot be read from the given time on, as if there were no thread for a timer. */
    private static final class Untimed extends LockConfiguration {
        private final int from;
        private int times;

        private Untimed(int from) {
            super(ClockProvider.now(), "report", LONG, Duration.ZERO);
            this.from = from;
        }

        @Override
        public Instant getLockAtMostUntil() {
            if (++times >= from) {
                throw new OutOfMemoryError("planted: no thread for a timer");
            }
            return super.getLockAtMostUntil();
        }
    }
}
