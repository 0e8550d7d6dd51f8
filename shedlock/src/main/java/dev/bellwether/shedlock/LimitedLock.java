package dev.bellwether.shedlock;

import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What ShedLock sees of a lock: it ends at a time, unless it is extended. Thread-safe. */
final class LimitedLock extends AbstractSimpleLock {
    private static final Logger log = LoggerFactory.getLogger(BellwetherLockProvider.class);

    private final LockedRun run;
    private final ThreadFactory threads;
    /** Completed with true when the time is over, with false when this lock is valid no more before that. */
    private final CompletableFuture<Boolean> limit = new CompletableFuture<>();

    LimitedLock(LockConfiguration configuration, LockedRun run) {
        this(configuration, run, Thread::new);
    }

    /** When its time is over, it ends on a thread of these. */
    LimitedLock(LockConfiguration configuration, LockedRun run, ThreadFactory threads) {
        super(configuration);
        this.run = run;
        this.threads = threads;
        var left = until(configuration.getLockAtMostUntil(), configuration.getLockAtMostFor());
        var unused = limit.thenAccept(this::endLater);
        limit.completeOnTimeout(true, Math.max(0, TimeUnit.NANOSECONDS.convert(left)), TimeUnit.NANOSECONDS);
    }

    private void endLater(boolean timeIsOver) {
        if (timeIsOver) { // else somebody unlocks or extends, on a thread of theirs
            onThreadOfItsOwn(this::end);
        }
    }

    /** It may wait, and this is the thread of all timers; the common pool may be full of just such tasks. */
    private void onThreadOfItsOwn(Runnable task) {
        try {
            var ending = threads.newThread(task);
            ending.setName("bellwether-shedlock-" + lockConfiguration.getName());
            ending.setDaemon(true);
            ending.start();
        } catch (RuntimeException | Error e) { // the system has no thread left
            inASecond(task, e);
        }
    }

    private void inASecond(Runnable task, Throwable because) {
        CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS, Runnable::run).execute(() -> onThreadOfItsOwn(task));
        log.error(
                "lock \"{}\" has reached its lockAtMostFor, and cannot be given back yet; trying again in a second",
                lockConfiguration.getName(),
                because);
    }

    private void end() {
        if (run.lock().isHeld()) {
            log.warn(
                    "lock \"{}\" has reached its lockAtMostFor of {} and is given back; its task may still run,"
                            + " beside the next one. A crash costs no more than the lease: make lockAtMostFor longer",
                    lockConfiguration.getName(),
                    Durations.show(lockConfiguration.getLockAtMostFor()));
            giveBack();
        }
    }

    private void giveBack() {
        try {
            run.lock().release(Duration.ZERO);
        } catch (RuntimeException | Error e) { // it is renewed until this has succeeded
            inASecond(this::giveBack, e);
        }
    }

    @Override
    protected void doUnlock() {
        limit.complete(false);
        run.unlock(until(lockConfiguration.getLockAtLeastUntil(), lockConfiguration.getLockAtLeastFor()));
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
        if (!isOver()) {
            var longer = new LimitedLock(extended, run, threads);
            if (limit.complete(false)) { // else the time is over at the moment, and the end under way
                return Optional.of(longer);
            }
            longer.limit.complete(false);
        }
        run.unlock(Duration.ZERO); // ShedLock will not: this lock is valid no more
        return Optional.empty();
    }

    private boolean isOver() {
        return isTooLate(lockConfiguration) || !run.lock().isHeld();
    }

    /** Returns whether the longest time of a lock is over. */
    static boolean isTooLate(LockConfiguration configuration) {
        return !ClockProvider.now().isBefore(configuration.getLockAtMostUntil());
    }

    /** Returns how long it is until then: no longer than at first, whatever the wall clock has been set back by. */
    private static Duration until(Instant time, Duration first) {
        var left = Duration.between(ClockProvider.now(), time);
        return left.compareTo(first) < 0 ? left : first;
    }
}
