package dev.bellwether.internal.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.HeldLock;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LockConfig;
import dev.bellwether.LockTask;
import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.UnavailableException;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.internal.loop.ForwardingLoop;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On real threads. A minute's lease is one that nobody here waits for. */
@Timeout(60)
class CandidacyLockTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final LockConfig A_MINUTE = LockConfig.ofLease(Duration.ofMinutes(1));
    private final String uri = "memory:" + UUID.randomUUID();
    private final List<String> told = new CopyOnWriteArrayList<>();

    @Test
    void aLockThatIsRefusedSaysSoByItsType() {
        var refusing = new Rig.Wire(new MemoryLeaseStore(Clock.system())) {
            @Override
            public CompletionStage<Answer> acquire(Claim claim) {
                return CompletableFuture.failedStage(new AccessRefusedException("wrong password"));
            }
        };
        try (var elections = Elections.over(refusing, ElectionsConfig.defaults())) {
            assertThatThrownBy(() -> elections.lock("report", A_MINUTE).tryLock())
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("lock \"report\"")
                    .hasMessageContaining("wrong password");
        }
    }

    @Test
    void aLockThatIsKeptFreeIsFreeInTheEndThoughThatCouldNotBeTimed() throws Exception {
        var thread = new LoopThread(Clock.system(), LONG, (length, how) -> {});
        thread.start();
        var here = Thread.currentThread();
        var lacks = new AtomicBoolean();
        var loop = new ForwardingLoop(thread) {
            private boolean lacking; // on the loop, in a turn that this test has asked for

            @Override
            public void execute(Runnable turn) {
                var ours = Thread.currentThread().equals(here) && lacks.get();
                super.execute(() -> {
                    lacking = ours;
                    try {
                        turn.run();
                    } finally {
                        lacking = false;
                    }
                });
            }

            @Override
            public Timer at(long nanos, Runnable turn) {
                if (lacking) {
                    throw new OutOfMemoryError("planted");
                }
                return super.at(nanos, turn);
            }
        };
        try (var elections = Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder().loop(loop).build())) {
            var lock = elections.lock("report", A_MINUTE);
            var held = lock.tryLock().lock().orElseThrow();
            lacks.set(true);
            held.release(Duration.ofMillis(100));
            lacks.set(false);
            assertThat(lock.tryLock(Duration.ofSeconds(10)).isHeld()).isTrue();
        }
    }

    /** Such as that of an application that shuts down, or a full one. */
    @Test
    void aTaskThatAnExecutorDidNotLetUsTellOfTheEndIsWaitedForAndInterrupted() {
        var full = new AtomicBoolean();
        Executor executor = piece -> {
            if (full.get()) {
                throw new RejectedExecutionException("planted");
            }
            new Thread(piece).start();
        };
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(60))
                        .standDownBudget(Duration.ofSeconds(6))
                        .executor(executor)
                        .build())
                .build();
        var seen = new ArrayList<String>();
        try (var one = Elections.connect(uri);
                var two = Elections.connect(uri)) {
            assertThatThrownBy(() -> one.lock("report", config).tryRun(mandate -> {
                        full.set(true);
                        assertThat(two.election("report").standDown()).isTrue();
                        seen.add(
                                two.lock("report", A_MINUTE)
                                                .tryLock(Duration.ofSeconds(1))
                                                .isHeld()
                                        ? "lost"
                                        : "kept");
                        try {
                            new CountDownLatch(1).await(LONG.toSeconds(), TimeUnit.SECONDS);
                        } catch (InterruptedException e) {
                            seen.add("interrupted");
                        }
                    }))
                    .isInstanceOf(NotLeaderException.class);
            assertThat(seen).containsExactly("kept", "interrupted");
        }
    }

    /** Where a session is closed, its seat is free. */
    @Test
    void aLockThatIsKeptFreeIsNoMandateAnyMoreWhenTheConnectionIsClosed() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var elections = Elections.over(wire, ElectionsConfig.defaults());
        var kept = LockConfig.builder().atLeast(Duration.ofMinutes(1)).build();
        var held = elections.lock("report", kept).tryLock().lock().orElseThrow();
        held.close();
        assertThat(held.mandate().isValid()).isTrue();
        wire.onClose = () -> told.add("valid: " + held.mandate().isValid());
        elections.close();
        assertThat(told).containsExactly("valid: false");
    }

    /** Such as a bucket of NATS with a TTL: what is not there must be watched for a lease. */
    @Test
    void aSeatThatMustBeWatchedBeforeItIsTakenIsWaitedFor() throws Exception {
        assertThat(triesOn(RecordTraits.PLAIN.vanishing(true), mandate -> {})).isTrue();
        assertThat(told).startsWith("Acquired").doesNotContain("Following");
    }

    /** Such as beside candidates of Choria: our own claim is no holder. */
    @Test
    void aSeatThatIsOursOnlyAfterAWhileIsWaitedFor() throws Exception {
        var plain = RecordTraits.PLAIN;
        var traits = new RecordTraits(
                plain.mayVanish(),
                plain.unreadable(),
                plain.endless(),
                Duration.ofSeconds(1),
                plain.pause(),
                plain.foreign(),
                plain.presence(),
                plain.sharing(),
                plain.others());
        assertThat(triesOn(traits, mandate -> {})).isTrue();
        assertThat(told).startsWith("Acquired").doesNotContain("Following");
    }

    private boolean triesOn(RecordTraits traits, LockTask<RuntimeException> task) throws InterruptedException {
        var records = LeaseStore.over(new MemoryRecordStore(Clock.system(), traits));
        var settings = ElectionsConfig.builder().requestTimeout(Duration.ofSeconds(2));
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(3))
                        .listener(event -> told.add(Rig.told(event)))
                        .build())
                .build();
        try (var elections = Elections.over(records, settings.build())) {
            return elections.lock("report", config).tryRun(task);
        }
    }

    @Test
    void aSeatThatNobodyHoldsAndThatIsNotGrantedIsNoSilence() {
        var vacant = new Rig.Wire(new MemoryLeaseStore(Clock.system())) {
            @Override
            public CompletionStage<Answer> acquire(Claim claim) {
                return CompletableFuture.completedStage(new Answer(false, View.unheld(claim.election())));
            }
        };
        var settings = ElectionsConfig.builder().requestTimeout(Duration.ofSeconds(2));
        try (var elections = Elections.over(vacant, settings.build())) {
            var lock = elections.lock("report", LockConfig.ofLease(Duration.ofMillis(100)));
            assertThatThrownBy(lock::tryLock)
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("nobody is known to hold lock \"report\"")
                    .hasMessageContaining("within 2.1 s");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whereNoThreadIsFreeForTheAnswerNoneComes(boolean anotherHoldsIt) throws Exception {
        var only = Executors.newSingleThreadExecutor();
        var settings = ElectionsConfig.builder()
                .requestTimeout(Duration.ofMillis(500))
                .executor(only)
                .build();
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(5))
                        .standDownBudget(Duration.ofMillis(200))
                        .renewInterval(Duration.ofMillis(200))
                        .build())
                .build();
        try (var others = Elections.connect(uri);
                var elections = Elections.connect(uri, settings)) {
            if (anotherHoldsIt) {
                assertThat(others.lock("report", A_MINUTE).tryLock().isHeld()).isTrue();
            }
            var lock = elections.lock("report", config);
            assertThatThrownBy(only.submit((Callable<?>) lock::tryLock)::get)
                    .hasCauseInstanceOf(UnavailableException.class)
                    .hasMessageContaining("no answer within 500 ms");
        } finally {
            only.shutdown();
        }
    }

    @Test
    void oneHoldsTheLockAndTheOthersAreToldWho() throws Exception {
        try (var first = Elections.connect(uri);
                var second = Elections.connect(uri)) {
            var answer = first.lock("report", A_MINUTE).tryLock();
            var held = answer.lock().orElseThrow();
            assertThat(answer.isHeld()).isTrue();
            assertThat(answer.holder()).isEmpty();
            assertThat(held.isHeld()).isTrue();
            var other = second.lock("report", A_MINUTE);
            var refused = other.tryLock();
            assertThat(refused.isHeld()).isFalse();
            assertThat(refused.holder()).contains(held.mandate().candidate());
            assertThat(other.tryRun(mandate -> {
                        throw new AssertionError("two at once");
                    }))
                    .isFalse();
            held.close();
            held.close();
            assertThat(held.isHeld()).isFalse();
            try (var next = other.tryLock().lock().orElseThrow()) {
                assertThat(next.mandate().token()).isGreaterThan(held.mandate().token());
            }
        }
    }

    @Test
    void theTaskRunsOnTheCallersThreadAndTheLockIsFreeAfterIt() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var lock = elections.lock("report", A_MINUTE);
            var caller = Thread.currentThread();
            var last = 0L;
            for (var i = 0; i < 20; i++) {
                var token = new CompletableFuture<Long>();
                assertThat(lock.tryRun(mandate -> {
                            mandate.ensure();
                            assertThat(Thread.currentThread()).isSameAs(caller);
                            token.complete(mandate.token());
                        }))
                        .isTrue();
                assertThat(token.join()).isGreaterThan(last);
                last = token.join();
            }
            assertThat(elections.election("report").leader()).isEmpty();
        }
    }

    @Test
    void whatTheTaskThrowsComesThroughAndTheLockIsFree() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var lock = elections.lock("report", A_MINUTE);
            assertThatThrownBy(() -> lock.tryRun(mandate -> {
                        throw new IOException("planted");
                    }))
                    .isInstanceOf(IOException.class)
                    .hasMessage("planted");
            assertThat(lock.tryRun(mandate -> {})).isTrue();
        }
    }

    @Test
    void whoWaitsGetsTheLockWhenItIsGivenBack() throws Exception {
        try (var first = Elections.connect(uri);
                var second = Elections.connect(uri)) {
            var held = first.lock("report", A_MINUTE).tryLock().lock().orElseThrow();
            var other = second.lock("report", A_MINUTE);
            assertThat(other.tryLock(Duration.ofMillis(50)).holder())
                    .contains(held.mandate().candidate());
            var waits = inBackground(() -> other.tryLock(LONG));
            eventually(() -> first.election("report").candidates().size() == 2);
            held.close();
            waits.get(30, TimeUnit.SECONDS).lock().orElseThrow().close();
        }
    }

    @Test
    void aLockIsNotReentrantAndExcludesOtherThreadsOfItsProcess() throws Exception {
        var named = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofMinutes(1))
                        .candidate("node-1")
                        .build())
                .build();
        try (var elections = Elections.connect(uri)) {
            var lock = elections.lock("report", named);
            var ran = lock.tryRun(mandate -> {
                assertThat(mandate.candidate()).startsWith("node-1_");
                assertThat(lock.tryLock().holder()).contains(mandate.candidate());
                assertThat(inBackground(() -> elections.lock("report", named).tryLock())
                                .get()
                                .holder())
                        .contains(mandate.candidate());
            });
            assertThat(ran).isTrue();
        }
    }

    @Test
    void aLockAndACandidacyOfOneNameAreOneSeat() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var lock = elections.lock("billing", A_MINUTE);
            var candidacy = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofMinutes(1)));
            assertThat(candidacy.await(LONG)).isPresent();
            assertThat(lock.tryLock().holder()).contains(candidacy.candidate());
            candidacy.close();
            try (var held = lock.tryLock().lock().orElseThrow()) {
                var standby = elections.stand("billing");
                eventually(() -> standby.status()
                        .following()
                        .equals(Optional.of(held.mandate().candidate())));
            }
        }
    }

    /** Ten threads on four connections, each with a wait that runs out now and then just when the lock is granted. */
    @Test
    void neverTwoAtOnceHoweverShortTheWait() throws Exception {
        var inside = new AtomicInteger();
        var most = new AtomicInteger();
        var runs = new AtomicInteger();
        var highest = new AtomicReference<>(0L);
        try (var one = Elections.connect(uri);
                var two = Elections.connect(uri)) {
            var done = new ArrayList<Future<Object>>();
            for (var i = 0; i < 10; i++) {
                var lock = (i % 2 == 0 ? one : two).lock("report", A_MINUTE);
                var wait = Duration.ofNanos(i * 300_000L);
                done.add(inBackground(() -> {
                    for (var run = 0; run < 10; ) {
                        var ran = lock.tryRun(wait, mandate -> {
                            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                            assertThat(mandate.token()).isGreaterThan(highest.getAndSet(mandate.token()));
                            runs.incrementAndGet();
                            inside.decrementAndGet();
                        });
                        run += ran ? 1 : 0;
                    }
                    return "done";
                }));
            }
            for (var future : done) {
                future.get(50, TimeUnit.SECONDS);
            }
            assertThat(most).hasValue(1);
            assertThat(runs).hasValue(100);
            eventually(() -> one.election("report").candidates().isEmpty());
        }
    }

    @Test
    void aClaimThatIsCarriedOutAfterTheAnswerIsGivenBack() throws Exception {
        var store = new MemoryLeaseStore(Clock.system());
        var late = new LateClaims(store);
        try (var slow = Elections.over(
                        late,
                        ElectionsConfig.builder()
                                .requestTimeout(Duration.ofMillis(100))
                                .build());
                var other = Elections.over(store, ElectionsConfig.defaults())) {
            var lock = slow.lock("report", A_MINUTE);
            assertThatThrownBy(lock::tryLock)
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("100 ms")
                    .hasMessageContaining("lock \"report\"");
            assertThat(other.election("report").leader()).isEmpty();
            late.claims.take().run();
            var token = other.election("report").state(); // it had the seat, or has it no more by now
            assertThat(token.leader().map(leader -> leader.token()).orElse(1L)).isEqualTo(1);
            assertThat(other.lock("report", A_MINUTE).tryRun(LONG, mandate -> {}))
                    .isTrue();
        }
    }

    @Test
    void aGrantThatComesWhenTheTimeIsOverIsHeldByNobody() throws Exception {
        var store = new MemoryLeaseStore(Clock.system());
        var late = new LateClaims(store);
        try (var slow = Elections.over(
                late,
                ElectionsConfig.builder().requestTimeout(Duration.ofMillis(100)).build())) {
            var heard = new LinkedBlockingQueue<String>();
            var config = LockConfig.builder()
                    .candidacy(CandidacyConfig.builder()
                            .lease(Duration.ofMinutes(1))
                            .listener(event -> heard.add(Rig.told(event)))
                            .build())
                    .build();
            var lock = slow.lock("report", config);
            late.answersWithRelease = true; // the grant arrives together with the first sign that we have given up
            assertThatThrownBy(lock::tryLock).isInstanceOf(UnavailableException.class);
            eventually(() -> slow.election("report").leader().isEmpty());
            assertThat(heard).doesNotContain("Acquired");
        }
    }

    @Test
    void theTaskIsInterruptedWhenItsMandateIsFencedAndTheCallerIsTold() throws Exception {
        var server = new MemoryLeaseStore(Clock.system());
        var store = new Robbed(server);
        try (var elections = Elections.over(store, ElectionsConfig.defaults());
                var others = Elections.over(server, ElectionsConfig.defaults())) {
            var robber = new CompletableFuture<Future<HeldLock>>();
            assertThatThrownBy(() -> elections.lock("report", A_MINUTE).tryRun(mandate -> {
                        robber.complete(inBackground(() -> store.takenBy(others)));
                        new CountDownLatch(1).await();
                    }))
                    .isInstanceOf(NotLeaderException.class)
                    .hasMessageContaining("REPLACED")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            robber.get().get().close();
            assertThat(elections.lock("report", A_MINUTE).tryRun(mandate -> {})).isTrue();
        }
    }

    @Test
    void anInterruptOfOursDoesNotFollowTheThread() throws Exception {
        var server = new MemoryLeaseStore(Clock.system());
        var store = new Robbed(server);
        try (var elections = Elections.over(store, ElectionsConfig.defaults());
                var others = Elections.over(server, ElectionsConfig.defaults())) {
            var robber = new CompletableFuture<Future<HeldLock>>();
            assertThatThrownBy(() -> elections.lock("report", A_MINUTE).tryRun(mandate -> {
                        robber.complete(inBackground(() -> store.takenBy(others)));
                        eventually(() -> Thread.currentThread().isInterrupted());
                    }))
                    .isInstanceOf(NotLeaderException.class)
                    .hasNoCause();
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            robber.get().get().close();
        }
    }

    @Test
    void aLockThatWasLostIsNotTakenAgainByItself() throws Exception {
        var server = new MemoryLeaseStore(Clock.system());
        var store = new Robbed(server);
        try (var elections = Elections.over(store, ElectionsConfig.defaults());
                var others = Elections.over(server, ElectionsConfig.defaults())) {
            var lost = elections.lock("report", A_MINUTE).tryLock().lock().orElseThrow();
            try (var held = store.takenBy(others)) {
                assertThat(held.mandate().token()).isEqualTo(lost.mandate().token() + 1);
                eventually(() -> !lost.isHeld());
                eventually(() -> others.election("report").candidates().size() == 1);
            }
            lost.close();
        }
    }

    @Test
    void aLockWhoseEndCouldNotBeToldIsNotTakenAgainByItself() throws Exception {
        var refuses = new AtomicBoolean();
        var settings = ElectionsConfig.builder()
                .executor(work -> {
                    if (refuses.get()) {
                        throw new RejectedExecutionException("full");
                    }
                    new Thread(work).start();
                })
                .build();
        var granted = new AtomicInteger();
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(1)) // who was ordered to stand down stays away for so long
                        .listener(event -> granted.addAndGet(event instanceof LeadershipEvent.Acquired ? 1 : 0))
                        .build())
                .build();
        try (var elections = Elections.connect(uri, settings);
                var others = Elections.connect(uri)) {
            var held = elections.lock("report", config).tryLock().lock().orElseThrow();
            eventually(() -> granted.get() == 1);
            refuses.set(true);
            assertThat(others.election("report").standDown()).isTrue();
            others.lock("report", A_MINUTE).tryLock(LONG).lock().orElseThrow().close();
            refuses.set(false);
            eventually(() -> granted.get() == 2);
            eventually(() -> others.election("report").candidates().isEmpty());
            assertThat(held.isHeld()).isFalse();
        }
    }

    @Test
    void theSeatWaitsForTheLockWhicheverThreadTellsItsEnd() throws Exception {
        var config = LockConfig.builder()
                .candidacy(ofAMinute(Duration.ofSeconds(20)).build())
                .build();
        var taker = Executors.newSingleThreadExecutor();
        var onTaker = new AtomicBoolean();
        Executor elsewhere = work -> new Thread(work).start();
        var settings = ElectionsConfig.builder()
                .executor(work -> (onTaker.get() ? taker : elsewhere).execute(work))
                .build();
        try (var elections = Elections.connect(uri, settings);
                var others = Elections.connect(uri)) {
            var held = taker.submit(() ->
                            elections.lock("report", config).tryLock().lock().orElseThrow())
                    .get();
            onTaker.set(true);
            assertThat(others.election("report").standDown()).isTrue();
            eventually(() -> !held.isHeld());
            var other = others.lock("report", config);
            assertThat(other.tryLock(Duration.ofSeconds(1)).isHeld()).isFalse();
            held.close();
            other.tryLock(LONG).lock().orElseThrow().close();
        } finally {
            taker.shutdown();
        }
    }

    @Test
    void aListenerThatIsSlowDoesNotHoldUpTheAnswer() throws Exception {
        var listening = new CountDownLatch(1);
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofMinutes(1))
                        .listener(event -> listening.await())
                        .build())
                .build();
        try (var elections = Elections.connect(uri)) {
            var held = elections.lock("report", config).tryLock();
            listening.countDown();
            held.lock().orElseThrow().close();
        }
    }

    @Test
    void aTaskThatOutlivesItsMandateIsNoSuccessEvenIfItReturns() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var lock = elections.lock("report", A_MINUTE);
            assertThatThrownBy(() -> lock.tryRun(mandate -> {
                        elections.election("report").standDown();
                        eventually(() -> !mandate.isValid());
                    }))
                    .isInstanceOf(NotLeaderException.class)
                    .hasMessageContaining("REVOKED_BY_OPERATOR")
                    .hasNoCause();
            assertThat(lock.tryRun(mandate -> {})).isTrue();
        }
    }

    @Test
    void theSuccessorWaitsForTheTaskWhichIsInterruptedHalfWayThroughTheBudget() throws Exception {
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofMinutes(1))
                        .standDownBudget(Duration.ofSeconds(6))
                        .build())
                .build();
        try (var first = Elections.connect(uri);
                var second = Elections.connect(uri)) {
            var working = new CountDownLatch(1);
            var ended = new AtomicBoolean();
            var runs = inBackground(() -> first.lock("report", config).tryRun(mandate -> {
                working.countDown();
                try {
                    new CountDownLatch(1).await();
                } finally {
                    ended.set(!mandate.isValid());
                }
            }));
            working.await();
            var waits = inBackground(() -> second.lock("report", config)
                    .tryRun(LONG, mandate -> assertThat(ended).isTrue()));
            eventually(() -> first.election("report").candidates().size() == 2);
            assertThat(second.election("report").standDown()).isTrue();
            assertThat(waits.get(30, TimeUnit.SECONDS)).isTrue();
            assertThatThrownBy(runs::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(NotLeaderException.class);
        }
    }

    @Test
    void theSuccessorWaitsForTheTaskThatOutlastsAnOutage() throws Exception {
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(9))
                        .standDownBudget(Duration.ofSeconds(4))
                        .build())
                .build();
        var server = new MemoryLeaseStore(Clock.system());
        var wire = new Rig.Wire(server);
        wire.cutFrom = "renew";
        try (var first = Elections.over(wire, ElectionsConfig.defaults());
                var second = Elections.over(server, ElectionsConfig.defaults())) {
            var working = new CountDownLatch(1);
            var another = new CountDownLatch(1);
            var twoAtOnce = new AtomicBoolean();
            var runs = inBackground(() -> first.lock("report", config).tryRun(mandate -> {
                working.countDown();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) { // what it was about cannot be left at once
                    twoAtOnce.set(another.await(2, TimeUnit.SECONDS));
                }
            }));
            working.await();
            assertThat(second.lock("report", config).tryRun(LONG, mandate -> another.countDown()))
                    .isTrue();
            assertThatThrownBy(() -> runs.get(30, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(NotLeaderException.class)
                    .hasMessageContaining("UNREACHABLE");
            assertThat(twoAtOnce).isFalse();
        }
    }

    @Test
    void theSuccessorWaitsForTheTaskThoughThereIsNoMemoryToResign() throws Exception {
        var config = LockConfig.builder()
                .candidacy(ofAMinute(Duration.ofSeconds(4)).build())
                .build();
        var loop = new ScarceLoop(new LoopThread(Clock.system(), LONG, (length, how) -> {}));
        try (var first = Elections.connect(
                        uri, ElectionsConfig.builder().loop(loop).build());
                var second = Elections.connect(uri)) {
            var working = new CountDownLatch(1);
            var ended = new AtomicBoolean();
            var runs = inBackground(() -> first.lock("report", config).tryRun(mandate -> {
                working.countDown();
                try {
                    new CountDownLatch(1).await();
                } finally {
                    ended.set(true);
                }
            }));
            working.await();
            loop.scarce = true;
            assertThat(second.election("report").standDown()).isTrue();
            assertThat(second.lock("report", config)
                            .tryRun(LONG, mandate -> assertThat(ended).isTrue()))
                    .isTrue();
            assertThatThrownBy(runs::get).hasCauseInstanceOf(NotLeaderException.class);
            assertThat(loop.scarce).isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {LeadershipEvent.Acquired.class, LeadershipEvent.Revoked.class})
    void theTaskIsInterruptedHalfWayThroughTheBudgetThoughTheListenerIsDeafToThat(Class<?> busyWith) throws Exception {
        var listening = new CountDownLatch(1);
        var ended = new CountDownLatch(1);
        var config = LockConfig.builder()
                .candidacy(ofAMinute(Duration.ofSeconds(4))
                        .listener(event -> {
                            if (busyWith.isInstance(event)) {
                                listening.countDown();
                                eventually(() -> ended.getCount() == 0);
                            }
                        })
                        .build())
                .build();
        try (var first = Elections.connect(uri);
                var second = Elections.connect(uri)) {
            var working = new CountDownLatch(1);
            var interrupts = new AtomicInteger();
            var runs = inBackground(() -> first.lock("report", config).tryRun(mandate -> {
                working.countDown();
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    interrupts.incrementAndGet();
                } finally {
                    ended.countDown();
                }
            }));
            working.await();
            assertThat(second.election("report").standDown()).isTrue();
            listening.await();
            assertThat(second.lock("report", config)
                            .tryRun(LONG, mandate -> assertThat(interrupts).hasValue(1)))
                    .isTrue();
            assertThatThrownBy(runs::get).hasCauseInstanceOf(NotLeaderException.class);
        }
    }

    @Test
    void closingTheElectionsEndsWhoHoldsAndWhoWaits() throws Exception {
        try (var others = Elections.connect(uri)) {
            var elections = Elections.connect(uri);
            var heard = new LinkedBlockingQueue<Cause>();
            var held = elections
                    .lock(
                            "report",
                            LockConfig.builder()
                                    .candidacy(CandidacyConfig.builder()
                                            .lease(Duration.ofMinutes(1))
                                            .listener(event -> {
                                                if (event instanceof LeadershipEvent.Revoked revoked) {
                                                    heard.add(revoked.cause());
                                                }
                                            })
                                            .build())
                                    .build())
                    .tryLock()
                    .lock()
                    .orElseThrow();
            var waits = inBackground(() -> elections.lock("report", A_MINUTE).tryLock(LONG));
            eventually(() -> others.election("report").candidates().size() == 2);
            var closes = inBackground(() -> {
                elections.close();
                return true;
            });
            assertThat(heard.take()).isEqualTo(Cause.RESIGNED);
            assertThat(held.isHeld()).isFalse();
            assertThat(others.election("report").leader())
                    .as("the seat until it is given back")
                    .isPresent();
            held.close();
            assertThat(closes.get()).isTrue();
            assertThatThrownBy(waits::get)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("closed");
            assertThat(others.lock("report", A_MINUTE).tryRun(mandate -> {})).isTrue();
            assertThatThrownBy(() -> elections.lock("report")).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void whoIsInterruptedWhileWaitingHoldsNothingAndIsNoCandidate() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var held = elections.lock("report", A_MINUTE).tryLock().lock().orElseThrow();
            var waits =
                    new FutureTask<>(() -> elections.lock("report", A_MINUTE).tryLock(LONG));
            var thread = new Thread(waits);
            thread.start();
            eventually(() -> elections.election("report").candidates().size() == 2);
            thread.interrupt();
            assertThatThrownBy(waits::get).hasCauseInstanceOf(InterruptedException.class);
            eventually(() -> elections.election("report").candidates().size() == 1);
            assertThat(held.isHeld()).isTrue();
            held.close();
        }
    }

    @Test
    void theSeatIsKeptFreeAfterAShortRun() throws Exception {
        var atLeast = Duration.ofMillis(400);
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.ofLease(Duration.ofMinutes(1)))
                .atLeast(atLeast)
                .build();
        try (var first = Elections.connect(uri);
                var second = Elections.connect(uri)) {
            var began = System.nanoTime();
            assertThat(first.lock("report", config).tryRun(mandate -> {})).isTrue();
            assertThat(second.lock("report", config).tryRun(LONG, mandate -> {}))
                    .isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(atLeast);
            // that of the second is kept now, too, beyond the end of its elections
        }
    }

    @Test
    void whatIsKeptFreeOutlivesTheEndOfTheElectionsAsLongAsTheLease() throws Exception {
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.ofLease(Duration.ofMinutes(1)))
                .atLeast(Duration.ofSeconds(50))
                .build();
        try (var others = Elections.connect(uri)) {
            try (var elections = Elections.connect(uri)) {
                assertThat(elections.lock("report", config).tryRun(mandate -> {}))
                        .isTrue();
            }
            assertThat(others.lock("report", config).tryLock().isHeld()).isFalse();
            assertThat(others.election("report").leader()).isPresent();
        }
    }

    @Test
    void whatIsKeptFreeIsFreeAfterTheEndOfTheElectionsThoughSomebodyIsStillTold() throws Exception {
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.ofLease(Duration.ofSeconds(2)))
                .atLeast(Duration.ofHours(1))
                .build();
        var heard = new CountDownLatch(1);
        var elections = Elections.connect(uri);
        try (var others = Elections.connect(uri)) {
            var candidacy = CandidacyConfig.builder()
                    .lease(Duration.ofSeconds(2))
                    .listener(event -> eventually(() -> heard.getCount() == 0))
                    .build();
            elections.stand("busy", candidacy).await(LONG);
            assertThat(elections.lock("report", config).tryRun(mandate -> {})).isTrue();
            elections.close();
            assertThat(others.lock("report", config).tryRun(LONG, mandate -> {}))
                    .isTrue();
        } finally {
            heard.countDown();
        }
    }

    @Test
    void whatIsKeptFreeKeepsNoOutageOpenBeyondTheEndOfTheElections() throws Exception {
        var told = new LinkedBlockingQueue<String>();
        var store = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var config = ElectionsConfig.builder()
                .metrics(new Metrics() {
                    @Override
                    public void outageBegan(String what) {
                        told.add("began");
                    }

                    @Override
                    public void outageEnded(Duration length) {
                        told.add("ended");
                    }
                })
                .build();
        try (var elections = Elections.over(store, config)) {
            var kept = LockConfig.builder()
                    .candidacy(CandidacyConfig.ofLease(Duration.ofSeconds(3)))
                    .atLeast(Duration.ofMinutes(1))
                    .build();
            assertThat(elections.lock("report", kept).tryRun(mandate -> {})).isTrue();
            store.cut = true;
            assertThat(told.poll(30, TimeUnit.SECONDS)).isEqualTo("began");
        }
        assertThat(told.poll(30, TimeUnit.SECONDS)).isEqualTo("ended");
        assertThat(told).isEmpty();
    }

    /** That nobody holds it, or that it is taken often, is nothing to be alarmed at. */
    @Test
    void figuresOfALockAreTakenForThoseOfNoElection() throws Exception {
        var told = new CopyOnWriteArrayList<String>();
        var config = ElectionsConfig.builder()
                .metrics(new Metrics() {
                    @Override
                    public void termBegan(String election, String candidate, long token) {
                        told.add(election);
                    }

                    @Override
                    public void termEnded(String election, String candidate, Cause cause, Duration held) {
                        told.add(election);
                    }

                    @Override
                    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                        told.add(election);
                    }

                    @Override
                    public void callbackDelayed(String election, String candidate, Duration queued) {
                        told.add(election);
                    }
                })
                .build();
        try (var elections = Elections.connect(uri, config)) {
            assertThat(elections.lock("report", A_MINUTE).tryRun(mandate -> {})).isTrue();
        }
        assertThat(told).hasSizeGreaterThan(3).containsOnly("report()");
    }

    @Test
    void anOperatorFreesWhatIsKept() throws Exception {
        var config = LockConfig.builder()
                .candidacy(CandidacyConfig.ofLease(Duration.ofMinutes(1)))
                .atLeast(Duration.ofSeconds(50))
                .build();
        try (var elections = Elections.connect(uri)) {
            elections.lock("report", config).tryRun(mandate -> {});
            assertThat(elections.election("report").standDown()).isTrue();
            assertThat(elections.lock("report", A_MINUTE).tryRun(LONG, mandate -> {}))
                    .isTrue();
        }
    }

    @Test
    void whatCannotBeIsRefusedWithWords() throws Exception {
        try (var elections = Elections.connect(uri)) {
            assertThatThrownBy(() -> elections.lock("report").tryLock(Duration.ofSeconds(-1)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("-1 s");
            assertThatThrownBy(() -> elections.lock(" ")).isInstanceOf(ElectionException.class);
            var pulsed = CandidacyConfig.builder().maxPulseInterval(LONG).build();
            assertThatThrownBy(() -> LockConfig.builder().candidacy(pulsed))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("maxPulseInterval is 30 s");
            var longId = CandidacyConfig.builder().candidate("x".repeat(181)).build();
            assertThatThrownBy(() -> LockConfig.builder().candidacy(longId))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("181 characters");
            assertThatThrownBy(() -> LockConfig.builder().atLeast(Duration.ofMillis(-1)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("atLeast");
            elections.lock("ended").tryRun(mandate -> {});
            elections.election("ended").end();
            assertThatThrownBy(() -> elections.lock("ended").tryLock())
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("Reopen");
        }
    }

    @Test
    void theElectionsMayBeClosedFromTheTaskOfALock() throws Exception {
        var elections = Elections.connect(uri);
        var twoSeconds = LockConfig.ofLease(Duration.ofSeconds(2));
        var interrupted = new CompletableFuture<Boolean>();
        try {
            elections.lock("report", twoSeconds).tryRun(mandate -> {
                elections.lock("other", twoSeconds).tryRun(other -> {}); // and back in this one
                elections.close();
                interrupted.complete(Thread.currentThread().isInterrupted());
            });
        } catch (NotLeaderException e) {
            // its mandate may be over by the time that it returns
        }
        assertThat(interrupted).isCompletedWithValue(false);
        elections.close(); // now it waits
        try (var others = Elections.connect(uri)) {
            assertThat(others.election("report").leader()).isEmpty();
        }
    }

    @Test
    void aLockThatIsHeldOccupiesNoThread() throws Exception {
        var running = new AtomicInteger();
        var pool = Executors.newCachedThreadPool();
        var config = ElectionsConfig.builder()
                .executor(work -> pool.execute(() -> {
                    running.incrementAndGet();
                    work.run();
                    running.decrementAndGet();
                }))
                .build();
        try (var elections = Elections.connect(uri, config)) {
            var held = new ArrayList<HeldLock>();
            for (var i = 0; i < 50; i++) {
                held.add(
                        elections.lock("report " + i, A_MINUTE).tryLock().lock().orElseThrow());
            }
            eventually(() -> running.get() == 0);
            held.forEach(HeldLock::close);
        } finally {
            pool.shutdown();
        }
    }

    /** Claims reach the store when the test says so. */
    private static final class LateClaims extends Rig.Wire {
        private final MemoryLeaseStore store;
        private final LinkedBlockingQueue<Runnable> claims = new LinkedBlockingQueue<>();
        private volatile boolean answersWithRelease;

        private LateClaims(MemoryLeaseStore store) {
            super(store);
            this.store = store;
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            var later = new CompletableFuture<Answer>();
            claims.add(() -> store.acquire(claim).thenAccept(later::complete));
            return later;
        }

        @Override
        public CompletionStage<Answer> release(Claim claim) {
            if (answersWithRelease && !claims.isEmpty()) {
                claims.remove().run();
            }
            return super.release(claim);
        }
    }

    /** Its seat can be taken away behind its back. */
    private static final class Robbed extends Rig.Wire {
        private final MemoryLeaseStore store;
        private final LinkedBlockingQueue<Claim> claims = new LinkedBlockingQueue<>();

        private Robbed(MemoryLeaseStore store) {
            super(store);
            this.store = store;
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            claims.add(claim);
            return super.acquire(claim);
        }

        private HeldLock takenBy(Elections others) throws Exception {
            store.release(claims.take()).toCompletableFuture().get();
            return others.lock("report", A_MINUTE).tryLock(LONG).lock().orElseThrow();
        }
    }

    /** Has no memory once, when the listener of a lock gives it something to do. */
    private static final class ScarceLoop extends ForwardingLoop {
        private volatile boolean scarce;

        private ScarceLoop(LoopThread loop) {
            super(loop);
            loop.start();
        }

        @Override
        public void execute(Runnable turn) {
            if (scarce && isListenerOfLock()) {
                scarce = false;
                throw new OutOfMemoryError("planted");
            }
            super.execute(turn);
        }

        private static boolean isListenerOfLock() {
            return StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(LockAttempt.class.getName())
                                    && frame.getMethodName().equals("onEvent")));
        }
    }

    /** A lease that no test waits for, and so long for the work that is to end. */
    private static CandidacyConfig.Builder ofAMinute(Duration standDownBudget) {
        return CandidacyConfig.builder().lease(Duration.ofMinutes(1)).standDownBudget(standDownBudget);
    }

    private static <T> Future<T> inBackground(Callable<T> work) {
        var task = new FutureTask<>(work);
        var thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    private static void eventually(BooleanSupplier condition) {
        var until = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - until).isNegative();
            LockSupport.parkNanos(1_000_000);
        }
    }
}
