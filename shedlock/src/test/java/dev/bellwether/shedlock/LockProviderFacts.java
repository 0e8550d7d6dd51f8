package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What ShedLock asks of every lock provider, and of one whose locks can be extended, by two processes, and with tokens.
 * Its own tests are {@link ShedLocksOwnTests}.
 */
abstract class LockProviderFacts {
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration RUN = Duration.ofMillis(1);

    private final String name = "report-" + UUID.randomUUID();
    private final List<Elections> clients = new ArrayList<>();
    private BellwetherLockProvider one;
    private BellwetherLockProvider two;

    // JUnit calls connectBoth before anything else can look
    @SuppressWarnings("NullAway.Init")
    LockProviderFacts() {}

    abstract Elections connect();

    /** Returns how often each of eight threads takes a lock. */
    abstract int rounds();

    @BeforeEach
    void connectBoth() {
        clients.add(connect());
        clients.add(connect());
        one = new BellwetherLockProvider(clients.get(0));
        two = new BellwetherLockProvider(clients.get(1));
    }

    @AfterEach
    void closeBoth() {
        clients.forEach(Elections::close);
    }

    @Test
    void aLockIsHeldUntilItIsUnlocked() {
        var lock = taken(one, LONG);
        assertThat(isLocked()).isTrue();
        lock.unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void whoComesSecondGetsNoneInThisProcessOrAnother() {
        var lock = taken(one, LONG);
        assertThat(one.lock(configuration(LONG, Duration.ZERO))).isEmpty();
        assertThat(two.lock(configuration(LONG, Duration.ZERO))).isEmpty();
        lock.unlock();
    }

    @Test
    void locksOfDifferentNamesAreIndependent() {
        var first = taken(one, LONG);
        var second = two.lock(new LockConfiguration(ClockProvider.now(), name + "-2", LONG, Duration.ZERO));
        assertThat(second).isPresent();
        first.unlock();
        second.get().unlock();
    }

    @Test
    void aLockCanBeTakenRightAfterItWasUnlocked() {
        for (var i = 0; i < 10; i++) {
            var lock = taken(i % 2 == 0 ? one : two, LONG);
            assertThat(one.lock(configuration(LONG, Duration.ZERO))).isEmpty();
            lock.unlock();
        }
    }

    @Test
    void aLockEndsAtItsLockAtMostFor() {
        var lock = takenBriefly();
        Eventually.eventually("it has ended", PATIENCE, () -> !isLocked());
        var next = taken(two, LONG);
        lock.unlock();
        assertThat(isLocked())
                .as("the next one's, after the first was unlocked")
                .isTrue();
        next.unlock();
    }

    @Test
    void theSeatIsKeptForLockAtLeastFor() {
        var atLeast = Duration.ofSeconds(1);
        var began = System.nanoTime();
        var lock = one.lock(configuration(LONG, atLeast)).orElseThrow();
        lock.unlock();
        var next = Eventually.eventually(
                "it can be taken again", PATIENCE, () -> two.lock(configuration(LONG, Duration.ZERO)));
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(atLeast);
        next.unlock();
    }

    @Test
    void aLockThatIsExtendedOutlastsItsFirstLimit() {
        var first = Duration.ofSeconds(2);
        var began = System.nanoTime();
        var lock = taken(one, first);
        var extended = lock.extend(LONG, Duration.ZERO).orElseThrow();
        Eventually.eventually(
                "the first limit has passed",
                PATIENCE,
                () -> System.nanoTime() - began > first.plusMillis(300).toNanos());
        assertThat(isLocked()).isTrue();
        extended.unlock();
        assertThat(isLocked()).isFalse();
    }

    @Test
    void aLockThatWasUnlockedOrExtendedIsValidNoMore() {
        var lock = taken(one, LONG);
        lock.unlock();
        assertThatThrownBy(() -> lock.extend(LONG, Duration.ZERO)).isInstanceOf(IllegalStateException.class);
        var again = taken(one, LONG);
        var extended = again.extend(LONG, Duration.ZERO).orElseThrow();
        assertThatThrownBy(() -> again.extend(LONG, Duration.ZERO)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(again::unlock).isInstanceOf(IllegalStateException.class);
        assertThat(isLocked()).isTrue();
        extended.unlock();
    }

    @Test
    void aLockThatHasEndedCannotBeExtended() {
        var limit = Duration.ofSeconds(2); // enough for the answer
        var lock = taken(one, limit);
        var began = System.nanoTime();
        Eventually.eventually("it has ended", PATIENCE, () -> System.nanoTime() - began > limit.toNanos());
        assertThat(lock.extend(LONG, Duration.ZERO)).isEmpty();
        Eventually.eventually("it is free", PATIENCE, () -> !isLocked());
    }

    @Test
    void aLockWhoseTimeIsOverWhenTheAnswerComesIsNotGiven() {
        var late =
                new LockConfiguration(ClockProvider.now().minusSeconds(2), name, Duration.ofSeconds(1), Duration.ZERO);
        assertThat(one.lock(late)).isEmpty();
        Eventually.eventually("it is free", PATIENCE, () -> !isLocked());
    }

    @Test
    void theLeastTimeCanBeExtended() {
        var lock = taken(one, LONG);
        var extended = lock.extend(LONG, Duration.ofMinutes(2)).orElseThrow();
        extended.unlock();
        assertThat(isLocked()).isTrue();
        assertThat(two.lock(configuration(LONG, Duration.ZERO))).isEmpty();
        clients.get(1).election(name).standDown(); // so that nothing is left to run out
    }

    /** Eight threads of two processes, two locks; a lock is kept for a little while after each run. */
    @Test
    void neverTwoAtOnce() {
        var jobs = List.of(new Job("a"), new Job("b"));
        var runs = new ArrayList<CompletableFuture<Void>>();
        for (var i = 0; i < 8; i++) {
            var provider = i % 4 < 2 ? one : two;
            var job = jobs.get(i % 2);
            runs.add(CompletableFuture.runAsync(() -> job.runOften(provider), work -> new Thread(work).start()));
        }
        runs.forEach(CompletableFuture::join);
        assertThat(jobs).allSatisfy(job -> assertThat(job.runs).isEqualTo(4 * rounds()));
    }

    private final class Job {
        private final String suffix;
        private final AtomicInteger inside = new AtomicInteger();
        private long token;
        private int runs; // without a lock of Java's: ours is under test

        private Job(String suffix) {
            this.suffix = suffix;
        }

        private void runOften(BellwetherLockProvider provider) {
            for (var round = 0; round < rounds(); ) {
                var lock = provider.lock(
                        new LockConfiguration(ClockProvider.now(), name + suffix, LONG, Duration.ofMillis(5)));
                if (lock.isPresent()) {
                    var mandate = BellwetherLockProvider.mandate().orElseThrow();
                    assertThat(mandate.token())
                            .as(Never.mark("token after " + token))
                            .isGreaterThan(token);
                    token = mandate.token();
                    inside.incrementAndGet();
                    Eventually.throughout(Never.mark("one runs at a time"), RUN, () -> inside.get() == 1);
                    inside.decrementAndGet();
                    runs++;
                    lock.get().unlock();
                    round++;
                }
            }
        }
    }

    @Test
    void theTaskReachesItsMandateOnItsThread() {
        assertThat(BellwetherLockProvider.mandate()).isEmpty();
        var outer = taken(one, LONG);
        var mandate = BellwetherLockProvider.mandate().orElseThrow();
        assertThat(mandate.election()).isEqualTo(name);
        assertThat(mandate.isValid()).isTrue();
        var inner = one.lock(new LockConfiguration(ClockProvider.now(), name + "-inner", LONG, Duration.ZERO))
                .orElseThrow();
        assertThat(BellwetherLockProvider.mandate().orElseThrow().election()).isEqualTo(name + "-inner");
        inner.unlock();
        assertThat(BellwetherLockProvider.mandate()).contains(mandate);
        var elsewhere =
                CompletableFuture.supplyAsync(BellwetherLockProvider::mandate).join();
        assertThat(elsewhere).isEmpty();
        var extended = outer.extend(LONG, Duration.ZERO).orElseThrow();
        assertThat(BellwetherLockProvider.mandate()).contains(mandate);
        CompletableFuture.runAsync(extended::unlock).join(); // by another thread
        assertThat(BellwetherLockProvider.mandate()).isEmpty();
        assertThat(mandate.isValid()).isFalse();
    }

    /** A lock whose answer comes after its limit is not given: so the limit is what a busy machine still keeps. */
    private SimpleLock takenBriefly() {
        for (var limit = Duration.ofMillis(50); ; limit = limit.multipliedBy(2)) {
            var lock = one.lock(configuration(limit, Duration.ZERO));
            if (lock.isPresent()) {
                return lock.get();
            }
            assertThat(limit).as("the limit").isLessThan(PATIENCE);
            Eventually.eventually("it is free", PATIENCE, () -> !isLocked());
        }
    }

    private SimpleLock taken(BellwetherLockProvider provider, Duration atMost) {
        var lock = provider.lock(configuration(atMost, Duration.ZERO));
        assertThat(lock).as("the lock").isPresent();
        return lock.get();
    }

    private LockConfiguration configuration(Duration atMost, Duration atLeast) {
        return new LockConfiguration(ClockProvider.now(), name, atMost, atLeast);
    }

    private boolean isLocked() {
        return clients.get(1).election(name).leader().isPresent();
    }
}
