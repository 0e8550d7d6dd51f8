package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.LockAnswer;
import dev.bellwether.LockConfig;
import dev.bellwether.LockTask;
import dev.bellwether.Mandate;
import dev.bellwether.RunLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What a lock for one run promises, whose candidacies come and go. */
abstract class LockFacts extends OperatorFacts {
    private static final int THREADS = 10;
    private static final Duration RUN = Duration.ofMillis(3);

    @Test
    void ofTenThreadsThatWantALockOneRunsAtATimeUnderAHigherToken() {
        var locks = new RunLock[] {lock(), lock()};
        var inside = new AtomicInteger();
        var last = new AtomicLong();
        var runs = new ArrayList<CompletableFuture<Boolean>>();
        for (var i = 0; i < THREADS; i++) {
            var lock = locks[i % locks.length];
            runs.add(CompletableFuture.supplyAsync(
                    () -> tryRun(lock, mandate -> alone(mandate, inside, last)), work -> new Thread(work).start()));
        }
        for (var run : runs) {
            assertThat(run.join()).as("it ran").isTrue();
        }
    }

    private static void alone(Mandate mandate, AtomicInteger inside, AtomicLong last) {
        var before = last.getAndSet(mandate.token());
        assertThat(mandate.token())
                .as(Never.mark("the token of a run, after one under token " + before))
                .isGreaterThan(before);
        inside.incrementAndGet();
        Eventually.throughout(
                Never.mark("one runs at a time, " + mandate), RUN, () -> inside.get() == 1 || !mandate.isValid());
        inside.decrementAndGet();
    }

    @Test
    void aLockIsTheSeatOfTheElectionOfItsName() {
        var client = stage.client();
        var leader = stage.standLong(client);
        var token = leader.awaitLeads().token();
        var lock = lock();
        var refused = Eventually.eventually("the answer", stage.patience(), () -> Optional.of(tryLock(lock)));
        assertThat(refused.isHeld()).isFalse();
        assertThat(refused.holder()).contains(leader.id());
        leader.candidacy().close();
        var next = Eventually.eventually(
                "the lock is had without waiting for the lease",
                stage.longLease().dividedBy(2),
                () -> tryLock(lock).lock());
        assertThat(next.mandate().token()).isGreaterThan(token);
        next.close();
        assertThat(next.isHeld()).isFalse();
        stage.eventually(
                "the seat is free", () -> stage.observe(client).leader().isEmpty());
    }

    private RunLock lock() {
        var settings = stage.infrastructure().settings(stage.longLease()).build();
        return stage.client()
                .lock(stage.election(), LockConfig.builder().candidacy(settings).build());
    }

    private static LockAnswer tryLock(RunLock lock) {
        try {
            return lock.tryLock();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private boolean tryRun(RunLock lock, LockTask<RuntimeException> task) {
        try {
            return lock.tryRun(stage.patience().multipliedBy(2), task);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
