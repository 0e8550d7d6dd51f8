package dev.bellwether.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.Phase;
import dev.bellwether.RosterConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.internal.loop.ForwardingLoop;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On real threads. */
@Timeout(60)
class LoopElectionsTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private final String uri = "memory:" + UUID.randomUUID();

    /** Where a session is closed, its seat is free: nobody may lead here then, though we cannot be told to end. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whileTheLoopIsHeldUpTheConnectionIsNotClosedBeforeMandatesHaveRunOut(boolean interrupted) throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var goesOn = new CountDownLatch(1);
        var blocks = new AtomicBoolean();
        var blocked = new CountDownLatch(1);
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                if (blocks.get()) {
                    blocked.countDown();
                    awaitUninterruptibly(goesOn);
                }
            }
        };
        var elections =
                Elections.over(wire, ElectionsConfig.builder().metrics(metrics).build());
        var candidacy = elections.stand(
                "billing",
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(3))
                        .renewInterval(Duration.ofMillis(200))
                        .standDownBudget(Duration.ofMillis(200))
                        .build());
        assertThat(candidacy.await(Duration.ofSeconds(30))).isPresent();
        var led = new CopyOnWriteArrayList<Boolean>();
        wire.onClose = () -> led.add(candidacy.isLeader());
        blocks.set(true);
        assertThat(blocked.await(30, TimeUnit.SECONDS)).isTrue();
        var before = threads("bellwether-close");
        if (interrupted) { // as by one who interrupts all threads of a process that is to end
            whenThisThreadWaits(() -> threads("bellwether-close").stream()
                    .filter(thread -> !before.contains(thread))
                    .forEach(Thread::interrupt));
        }
        elections.close();
        goesOn.countDown();
        assertThat(led).containsExactly(false);
    }

    @Test
    void oneLoopThreadDrivesAnyNumberOfCandidacies() {
        try (var elections = Elections.connect(uri)) {
            var before = threads("bellwether-loop");
            for (var i = 0; i < 500; i++) {
                elections.stand("election " + i);
            }
            assertThat(before).containsAll(threads("bellwether-loop")); // another test's may be ending
        }
    }

    @Test
    void closingReleasesEverySeatAndEndsTheThreads() throws Exception {
        var elections = Elections.connect(uri);
        var candidacies = List.of(elections.stand("a"), elections.stand("b"));
        for (var candidacy : candidacies) {
            assertThat(candidacy.await(LONG)).isPresent();
        }
        elections.close();
        elections.close();
        assertThat(candidacies)
                .allSatisfy(candidacy -> assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED));
        try (var others = Elections.connect(uri)) {
            assertThat(others.election("a").leader()).isEmpty();
            assertThat(others.list()).containsExactly("a", "b");
        }
        assertThatThrownBy(() -> elections.stand("c"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void whoClosesSecondWaitsForTheHandOverToo() throws Exception {
        var elections = Elections.connect(uri);
        var revoked = new CountDownLatch(1);
        var secondWaits = new CountDownLatch(1);
        var workHasEnded = new AtomicBoolean();
        var candidacy = elections.stand(
                "a",
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(40))
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Revoked) {
                                revoked.countDown();
                                secondWaits.await();
                                workHasEnded.set(true);
                            }
                        })
                        .build());
        assertThat(candidacy.await(LONG)).isPresent();
        var first = new Thread(elections::close);
        first.start();
        assertThat(revoked.await(20, TimeUnit.SECONDS)).isTrue();
        whenThisThreadWaits(secondWaits::countDown);
        elections.close(); // as a shutdown hook does: the process ends when this returns
        assertThat(workHasEnded).isTrue();
        assertThat(candidacy.departure()).contains(Departure.CONFIRMED);
        first.join();
    }

    @Test
    void whoClosesAfterAListenerHasWaitsForTheHandOverToo() throws Exception {
        var elections = Elections.connect(uri);
        var closing = new CountDownLatch(1);
        var secondWaits = new CountDownLatch(1);
        var workHasEnded = new AtomicBoolean();
        var candidacy = elections.stand(
                "a",
                CandidacyConfig.builder()
                        .lease(Duration.ofSeconds(40))
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Acquired) {
                                elections.close();
                                elections.close(); // nor does it wait for itself then
                                closing.countDown();
                                secondWaits.await();
                                workHasEnded.set(true);
                            }
                        })
                        .build());
        assertThat(closing.await(20, TimeUnit.SECONDS)).isTrue();
        whenThisThreadWaits(secondWaits::countDown);
        elections.close();
        assertThat(workHasEnded).isTrue();
        assertThat(candidacy.departure()).contains(Departure.CONFIRMED);
    }

    @Test
    void aBackendThatClosesItsElectionsDoesNotWaitForItself() {
        var elections = new CompletableFuture<Elections>();
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        wire.onClose = () -> elections.join().close();
        elections.complete(Elections.over(wire, ElectionsConfig.defaults()));
        elections.join().close();
    }

    @Test
    void aConnectionIsClosedIfTheElectionsCannotBegin() {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var closed = new AtomicBoolean();
        wire.onClose = () -> closed.set(true);
        var loop = new ForwardingLoop(new Rig().loop) {
            @Override
            public void execute(Runnable turn) {
                throw new OutOfMemoryError("planted: unable to create native thread");
            }
        };
        var config = ElectionsConfig.builder().loop(loop).build();
        assertThatThrownBy(() -> Elections.over("the store", () -> wire, config))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(closed).as("nobody else knows of it").isTrue();
    }

    @Test
    void aWatchThatCannotBeEndedKeepsNoConnectionOpen() throws Exception {
        var told = new CountDownLatch(2);
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system())) {
            @Override
            public Watch watch(String election, Consumer<View> watcher) {
                var watch = super.watch(election, watcher);
                return () -> {
                    watch.close();
                    throw new IllegalStateException("planted: the client cannot unsubscribe");
                };
            }
        };
        var closed = new AtomicBoolean();
        wire.onClose = () -> closed.set(true);
        var elections = Elections.over(wire, ElectionsConfig.defaults());
        for (var name : List.of("a", "b")) {
            var unused = elections.election(name).watch(leader -> told.countDown());
        }
        assertThat(told.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        elections.close();
        assertThat(wire.watchers).isEmpty();
        assertThat(closed).isTrue();
    }

    @Test
    void electionsThatCannotBeginToConnectLeaveNoThreadBehind() throws Exception {
        var arbiter = new LazyArbiter("the store", () -> {
            throw new UnavailableException("planted");
        });
        arbiter.start(); // its thread cannot be started again, as one for which the system has no room cannot be
        var loop = ToldLoop.started();
        var config = ElectionsConfig.builder().connectLazily(true).loop(loop).build();
        assertThatThrownBy(() -> LoopElections.lazily(arbiter, config)).isInstanceOf(IllegalThreadStateException.class);
        assertThat(loop.closed.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aLackOfMemoryWhileItClosesLeavesNothingOpen() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var closed = new CountDownLatch(2);
        wire.onClose = closed::countDown;
        var lacks = new AtomicInteger(5);
        var thread = new LoopThread(Clock.system(), Duration.ofSeconds(1), (length, how) -> {});
        thread.start();
        var loop = new ForwardingLoop(thread) {
            @Override
            public void execute(Runnable turn) {
                if (Thread.currentThread().getName().equals("bellwether-close") && lacks.getAndDecrement() > 0) {
                    throw new OutOfMemoryError("planted");
                }
                super.execute(turn);
            }

            @Override
            public void close() {
                super.close();
                closed.countDown();
            }
        };
        Elections.over(wire, ElectionsConfig.builder().loop(loop).build()).close();
        assertThat(closed.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    /** Whether somebody leads is asked of clocks, which takes memory. */
    @Test
    void aLackOfMemoryWhileItLooksWhoLeadsLeavesNothingOpen() throws Exception {
        var lacks = new AtomicInteger();
        var clock = new Clock() {
            @Override
            public long nanos() {
                if (Thread.currentThread().getName().equals("bellwether-close") && lacks.getAndDecrement() > 0) {
                    throw new OutOfMemoryError("planted");
                }
                return Clock.system().nanos();
            }

            @Override
            public long wallMillis() {
                return Clock.system().wallMillis();
            }
        };
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var disconnected = new CountDownLatch(1);
        wire.onClose = disconnected::countDown;
        var thread = new LoopThread(clock, Duration.ofSeconds(1), (length, how) -> {});
        thread.start();
        var loop = new ToldLoop(thread, new CountDownLatch(1));
        var blocked = new CountDownLatch(1);
        var goesOn = new CountDownLatch(1);
        var blocks = new AtomicBoolean();
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                if (blocks.get()) { // so that the mandate runs out by itself
                    blocked.countDown();
                    awaitUninterruptibly(goesOn);
                }
            }
        };
        var elections = Elections.over(
                wire, ElectionsConfig.builder().loop(loop).metrics(metrics).build());
        var candidacy = elections.stand("a", CandidacyConfig.ofLease(Duration.ofSeconds(3)));
        assertThat(candidacy.await(LONG)).isPresent();
        blocks.set(true);
        assertThat(blocked.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        lacks.set(5);
        elections.close();
        goesOn.countDown();
        assertThat(lacks).as("it was looked").hasNonPositiveValue();
        assertThat(disconnected.getCount()).isZero();
        assertThat(loop.closed.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aBackendWhoseClientIsBrokenLeavesNoThreadBehind() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        wire.onClose = () -> {
            throw new NoClassDefFoundError("planted: a class loader that ends");
        };
        var loop = ToldLoop.started();
        Elections.over(wire, ElectionsConfig.builder().loop(loop).build()).close();
        assertThat(loop.closed.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void whatAnExecutorOfOneCandidacyHasDroppedKeepsNothingOpen() throws Exception {
        var loop = ToldLoop.started();
        var elections =
                Elections.connect(uri, ElectionsConfig.builder().loop(loop).build());
        var dropped = new CountDownLatch(1);
        elections.stand(
                "a",
                CandidacyConfig.builder()
                        .lease(Duration.ofMillis(600))
                        .executor(piece -> dropped.countDown())
                        .listener(event -> {})
                        .build());
        assertThat(dropped.await(20, TimeUnit.SECONDS)).isTrue();
        elections.close();
        assertThat(loop.closed.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aStepOfARosterThatAnExecutorHasDroppedKeepsNothingOpen() throws Exception {
        var loop = ToldLoop.started();
        var elections =
                Elections.connect(uri, ElectionsConfig.builder().loop(loop).build());
        var dropped = new CountDownLatch(1);
        var roster = elections.roster(
                "r",
                RosterConfig.builder()
                        .roles(2)
                        .lease(Duration.ofMillis(600))
                        .executor(piece -> dropped.countDown())
                        .build());
        roster.whileLeading((role, mandate) -> {});
        assertThat(dropped.await(20, TimeUnit.SECONDS)).isTrue();
        elections.close();
        assertThat(loop.closed.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aLogThatThrowsWhileItClosesLeavesNothingOpen() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var disconnected = new CountDownLatch(1);
        wire.onClose = disconnected::countDown;
        var loop = ToldLoop.started();
        var never = new CountDownLatch(1);
        var elections =
                Elections.over(wire, ElectionsConfig.builder().loop(loop).build());
        var candidacy = elections.stand(
                "a",
                CandidacyConfig.builder()
                        .lease(Duration.ofMillis(600))
                        .listener(event -> awaitUninterruptibly(never))
                        .build());
        assertThat(candidacy.await(LONG)).isPresent();
        var log = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream()) {
            @Override
            public void println(@Nullable String line) {
                throw new IllegalStateException("planted: the log is full");
            }
        });
        try {
            elections.close();
        } finally {
            System.setErr(log);
            never.countDown();
        }
        assertThat(disconnected.getCount()).isZero();
        assertThat(loop.closed.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void theSameCandidateTwiceOnOneConnectionIsRefused() {
        try (var elections = Elections.connect(uri)) {
            var config = CandidacyConfig.builder().candidate("me").build();
            elections.stand("a", config);
            elections.stand("b", config);
            assertThatThrownBy(() -> elections.stand("a", config))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("\"me\"")
                    .hasMessageContaining("\"a\"");
        }
    }

    /** What the backend does for a seat that is not wanted, it would undo for the other's. */
    @Test
    void ofTwoCallsAtOnceForOneCandidateOneMakesASeat() throws Exception {
        var config = CandidacyConfig.builder().candidate("me").build();
        var real = LazyArbiter.arbiter(new MemoryLeaseStore(Clock.system()));
        var elections = new CompletableFuture<Elections>();
        var seats = new AtomicInteger();
        var arbiter = (Arbiter) Proxy.newProxyInstance(
                Arbiter.class.getClassLoader(), new Class<?>[] {Arbiter.class}, (self, method, arguments) -> {
                    if (method.getName().equals("seat") && seats.incrementAndGet() == 1) {
                        assertThatThrownBy(() -> elections.join().stand("a", config))
                                .isInstanceOf(ElectionException.class)
                                .hasMessageContaining("already stands");
                    }
                    return method.invoke(real, arguments);
                });
        elections.complete(LoopElections.over(arbiter, ElectionsConfig.defaults()));
        try (var connected = elections.join()) {
            assertThat(connected.stand("a", config).await(LONG)).isPresent();
            assertThat(seats).hasValue(1);
        }
    }

    @Test
    void closeMayBeCalledFromTheListener() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var self = new CompletableFuture<Candidacy>();
            var candidacy = elections.stand(
                    "a",
                    CandidacyConfig.builder()
                            .listener(event -> {
                                if (event instanceof LeadershipEvent.Acquired) {
                                    self.get().close();
                                }
                            })
                            .build());
            self.complete(candidacy);
            candidacy.awaitClose();
        }
    }

    @Test
    void theTaskIsInterruptedWhenTheMandateIsFenced() throws Exception {
        var store = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        try (var elections = Elections.over(store, ElectionsConfig.defaults())) {
            var working = new CountDownLatch(1);
            var interrupted = new CountDownLatch(1);
            var candidacy = elections.stand("a", CandidacyConfig.ofLease(Duration.ofMillis(600)));
            candidacy.whileLeading(mandate -> {
                working.countDown();
                try {
                    new CountDownLatch(1).await();
                } finally {
                    interrupted.countDown();
                }
            });
            assertThat(working.await(20, TimeUnit.SECONDS)).isTrue();
            store.cut = true;
            assertThat(interrupted.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(candidacy.isLeader()).isFalse();
        }
    }

    @Test
    void closingIsBoundedEvenIfTheListenerNeverReturns() throws Exception {
        var never = new CountDownLatch(1);
        var elections = Elections.connect(uri);
        var candidacy = elections.stand(
                "a",
                CandidacyConfig.builder()
                        .lease(Duration.ofMillis(500))
                        .listener(event -> {
                            while (never.getCount() > 0) {
                                Thread.onSpinWait(); // deaf to interrupts
                            }
                        })
                        .build());
        assertThat(candidacy.await(LONG)).isPresent();
        elections.close();
        candidacy.awaitClose();
        assertThat(candidacy.isLeader()).isFalse();
        never.countDown();
    }

    /** The executor had been shut down, and who had heard of a mandate never heard of its end. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatIsToldIsHeardThoughTheListenerOutlastsTheClosing(boolean byAnExecutorOfItsOwn) throws Exception {
        var executor = Executors.newCachedThreadPool();
        var outlasts = new CountDownLatch(1);
        var heard = new LinkedBlockingQueue<String>();
        var elections = Elections.connect(uri);
        var config = CandidacyConfig.builder().lease(Duration.ofMillis(500)).listener(event -> {
            awaitUninterruptibly(outlasts);
            heard.add(event.getClass().getSimpleName());
        });
        if (byAnExecutorOfItsOwn) {
            config.executor(executor);
        }
        var candidacy = elections.stand("a", config.build());
        assertThat(candidacy.await(LONG)).isPresent();
        elections.close();
        outlasts.countDown();
        assertThat(heard.poll(LONG.toSeconds(), TimeUnit.SECONDS)).isEqualTo("Acquired");
        assertThat(heard.poll(LONG.toSeconds(), TimeUnit.SECONDS)).isIn("Revoked", "Fenced");
        executor.shutdown();
    }

    @Test
    void whileLeadingTakesOneTask() {
        try (var elections = Elections.connect(uri)) {
            var candidacy = elections.stand("a");
            candidacy.whileLeading(mandate -> {});
            assertThatThrownBy(() -> candidacy.whileLeading(mandate -> {}))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("already has a task");
        }
    }

    @Test
    void anExecutorThatRejectsCostsTheListenerAndNotTheSeat() throws Exception {
        var elections = Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder()
                        .executor(work -> {
                            throw new RejectedExecutionException("planted");
                        })
                        .build());
        try (elections) {
            var candidacy = elections.stand(
                    "a", CandidacyConfig.builder().listener(event -> {}).build());
            assertThat(candidacy.await(LONG)).isPresent();
        }
    }

    @Test
    void aStallOfTheLoopIsTold() throws Exception {
        var stalls = new LinkedBlockingQueue<Duration>();
        var hold = new AtomicBoolean(true);
        var elections = Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder()
                        .pauseBound(Duration.ofMillis(100))
                        .metrics(new Metrics() {
                            @Override
                            public void termBegan(String election, String candidate, long token) {
                                var until = System.nanoTime() + 800_000_000L; // holds up the loop, as a GC would
                                while (hold.get() && System.nanoTime() - until < 0) {
                                    Thread.onSpinWait();
                                }
                            }

                            @Override
                            public void stalled(Duration length) {
                                stalls.add(length);
                            }
                        })
                        .build());
        try (elections) {
            elections.stand("a");
            assertThat(stalls.poll(20, TimeUnit.SECONDS)).isBetween(Duration.ofMillis(100), Duration.ofSeconds(20));
        }
    }

    @Test
    void aStallIsLoggedWithItsLengthAgainstTheLease() {
        try (var elections = LoopElections.over(new MemoryLeaseStore(Clock.system()), ElectionsConfig.defaults())) {
            assertThat(elections.describeStall(Duration.ofMillis(700), "a turn ran late"))
                    .isEqualTo("this process did not run for 700 ms (a turn ran late); nobody stands here");
            elections.stand("a", CandidacyConfig.ofLease(Duration.ofSeconds(9)));
            elections.stand("b", CandidacyConfig.ofLease(Duration.ofSeconds(3)));
            assertThat(elections.describeStall(Duration.ofMillis(700), "a turn ran late"))
                    .endsWith("the shortest lease here is 3 s");
        }
    }

    @Test
    void listenersMayRunOnVirtualThreads() throws Exception {
        var feature = Runtime.version().feature();
        var executor = feature < 21
                ? Executors.newCachedThreadPool()
                : (ExecutorService) Executors.class
                        .getMethod("newVirtualThreadPerTaskExecutor")
                        .invoke(null);
        var thread = new CompletableFuture<Thread>();
        var config = ElectionsConfig.builder().executor(executor).build();
        try (var elections = Elections.over(new MemoryLeaseStore(Clock.system()), config)) {
            elections.stand(
                    "a",
                    CandidacyConfig.builder()
                            .listener(event -> thread.complete(Thread.currentThread()))
                            .build());
            var isVirtual = feature >= 21
                    && (boolean) Thread.class.getMethod("isVirtual").invoke(thread.get(20, TimeUnit.SECONDS));
            assertThat(isVirtual).isEqualTo(feature >= 21);
        } finally {
            executor.shutdown();
        }
    }

    @Test
    void metricsThatThrowHarmNothing() throws Exception {
        var elections = Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder()
                        .metrics(new Metrics() {
                            @Override
                            public void termBegan(String election, String candidate, long token) {
                                throw new IllegalArgumentException("planted");
                            }
                        })
                        .build());
        try (elections) {
            assertThat(elections.stand("a").await(LONG)).isPresent();
        }
    }

    @Test
    void metricsThatThrowWhatNobodyDeclaresHarmNothing() throws Exception {
        var events = new LinkedBlockingQueue<LeadershipEvent>();
        var elections = Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder()
                        .metrics(new Metrics() {
                            @Override
                            public void termEnded(String election, String candidate, Cause cause, Duration held) {
                                throwAny(new IOException("planted"));
                            }
                        })
                        .build());
        try (elections) {
            var candidacy = elections.stand(
                    "a", CandidacyConfig.builder().listener(events::add).build());
            assertThat(candidacy.await(LONG)).isPresent();
            candidacy.standDown();
            assertThat(events.poll(20, TimeUnit.SECONDS)).isInstanceOf(LeadershipEvent.Acquired.class);
            assertThat(events.poll(20, TimeUnit.SECONDS)).isInstanceOf(LeadershipEvent.Revoked.class);
        }
    }

    /** As other languages do. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Test
    @SuppressWarnings("NullAway")
    void whoWatchesWithNothingIsToldSo() {
        try (var elections = Elections.connect(uri)) {
            var election = elections.election("a");
            assertThatThrownBy(() -> election.watch(null)).hasMessageContaining("watcher");
        }
    }

    @Test
    void anObserverSeesEachChangeAndTheVacancies() throws Exception {
        var seen = new LinkedBlockingQueue<String>();
        try (var elections = Elections.connect(uri)) {
            var watch = elections
                    .election("a")
                    .watch(leader -> seen.add(
                            leader.isPresent()
                                    ? leader.get().candidate() + " "
                                            + leader.get().token()
                                    : "nobody"));
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("nobody");
            for (var i = 1; i <= 3; i++) {
                var candidacy = elections.stand(
                        "a", CandidacyConfig.builder().candidate("c" + i).build());
                assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("c" + i + " " + i);
                candidacy.close();
                assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("nobody");
            }
            watch.close();
            assertThat(elections.stand("a").await(LONG)).isPresent();
            assertThat(seen).isEmpty();
        }
    }

    @Test
    void anObserverSeesALeaseRunOut() throws Exception {
        var seen = new LinkedBlockingQueue<Boolean>();
        var server = new MemoryLeaseStore(Clock.system());
        var wire = new Rig.Wire(server);
        try (var observers = Elections.over(server, ElectionsConfig.defaults());
                var elections = Elections.over(wire, ElectionsConfig.defaults())) {
            var candidacy = elections.stand("a", CandidacyConfig.ofLease(Duration.ofMillis(600)));
            assertThat(candidacy.await(LONG)).isPresent();
            observers.election("a").watch(leader -> seen.add(leader.isPresent()));
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isTrue();
            wire.cut = true;
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isFalse();
        }
    }

    @Test
    void aSilentStoreIsUnavailableToObservers() {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        wire.cut = true;
        var config =
                ElectionsConfig.builder().requestTimeout(Duration.ofMillis(50)).build();
        try (var elections = Elections.over(wire, config)) {
            assertThatThrownBy(() -> elections.election("a").leader())
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("\"a\"")
                    .hasMessageContaining("50 ms");
        }
    }

    /** It may, instead of answering: whether an order was carried out is not known then. */
    @Test
    void aStoreThatThrowsIsUnavailableToObserversAndOperators() {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system())) {
            @Override
            public CompletionStage<View> read(String election) {
                throw new IllegalStateException("planted: the client is closed");
            }

            @Override
            public CompletionStage<Boolean> order(String election, Order order) {
                throw new IllegalStateException("planted: the client is closed");
            }

            @Override
            public CompletionStage<List<String>> list() {
                throw new IllegalStateException("planted: the client is closed");
            }
        };
        try (var elections = Elections.over(wire, ElectionsConfig.defaults())) {
            var election = elections.election("a");
            for (var call : List.<ThrowingCallable>of(election::state, election::standDown, elections::list)) {
                assertThatThrownBy(call)
                        .isInstanceOf(UnavailableException.class)
                        .hasRootCauseMessage("planted: the client is closed");
            }
        }
    }

    @Test
    void candidatesAreListedAndOrdersAreObeyed() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var first = elections.stand(
                    "a", CandidacyConfig.builder().candidate("1").build());
            assertThat(first.await(LONG)).isPresent();
            var second = elections.stand(
                    "a", CandidacyConfig.builder().candidate("2").build());
            var election = elections.election("a");
            while (election.candidates().size() < 2) {
                Thread.onSpinWait();
            }
            assertThat(election.candidates())
                    .extracting(candidate -> candidate.id() + candidate.leads())
                    .containsExactly("1true", "2false");
            assertThat(election.standDown()).isTrue();
            assertThat(second.await(LONG)).isPresent();
            assertThat(first.isLeader()).isFalse();
            election.end();
            first.awaitClose();
            second.awaitClose();
            assertThat(election.standDown()).isFalse();
            election.delete();
            assertThat(elections.list()).isEmpty();
            assertThat(elections.stand("a").await(LONG).orElseThrow().token()).isEqualTo(3);
        }
    }

    @Test
    void pulseWaitsForLeadership() throws Exception {
        try (var elections = Elections.connect(uri)) {
            var first = elections.stand("a");
            assertThat(first.pulse(LONG)).isTrue();
            var second = elections.stand("a");
            assertThat(second.pulse(Duration.ofMillis(20))).isFalse();
            first.close();
            assertThat(second.pulse(LONG)).isTrue();
        }
    }

    @Test
    void whatStandsWhileTheElectionsCloseIsRefused() {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var elections = Elections.over(wire, ElectionsConfig.defaults());
        wire.onCheck = elections::close; // between the first look and the standing
        assertThatThrownBy(() -> elections.stand("a"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void whoHasClosedMayStandAgainUnderTheSameId() {
        var config = CandidacyConfig.builder().candidate("me").build();
        try (var elections = Elections.connect(uri)) {
            for (var i = 0; i < 3_000; i++) {
                elections.stand("a", config).close();
            }
        }
    }

    @Test
    void closingIsBoundedHoweverManyListenersNeverReturn() throws Exception {
        var never = new CountDownLatch(1);
        var elections = Elections.connect(uri);
        for (var i = 0; i < 30; i++) {
            var candidacy = elections.stand(
                    "election " + i,
                    CandidacyConfig.builder()
                            .lease(Duration.ofMillis(900))
                            .listener(event -> awaitUninterruptibly(never))
                            .build());
            assertThat(candidacy.await(LONG)).isPresent();
        }
        var before = System.nanoTime();
        elections.close();
        var took = Duration.ofNanos(System.nanoTime() - before);
        never.countDown();
        assertThat(took).isLessThan(Duration.ofSeconds(10)); // 780 ms each, one after another, would be 23 s
    }

    @Test
    void theElectionsMayBeClosedFromAListener() throws Exception {
        var elections = Elections.connect(uri);
        var heard = new LinkedBlockingQueue<String>();
        var candidacy = elections.stand(
                "a",
                CandidacyConfig.builder()
                        .listener(event -> {
                            if (event instanceof LeadershipEvent.Acquired) {
                                elections.close();
                            }
                            heard.add(Rig.told(event));
                        })
                        .build());
        candidacy.awaitClose();
        assertThat(heard.poll(20, TimeUnit.SECONDS)).isEqualTo("Acquired");
        assertThat(heard.poll(20, TimeUnit.SECONDS)).isEqualTo("Revoked RESIGNED");
        try (var others = Elections.connect(uri)) {
            assertThat(others.election("a").leader()).isEmpty();
        }
    }

    @Test
    void closingEndsEveryWatch() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var seen = new LinkedBlockingQueue<Boolean>();
        var never = new CountDownLatch(1);
        var elections = Elections.over(wire, ElectionsConfig.defaults());
        elections.election("a").watch(leader -> seen.add(leader.isPresent()));
        assertThat(seen.poll(20, TimeUnit.SECONDS)).isFalse();
        elections.stand(
                "b",
                CandidacyConfig.builder()
                        .lease(Duration.ofMillis(600))
                        .listener(event -> awaitUninterruptibly(never))
                        .build());
        while (wire.watchers.size() < 2) {
            Thread.onSpinWait();
        }
        elections.close();
        never.countDown();
        assertThat(wire.watchers).isEmpty();
    }

    @Test
    void anObserverIsNotMisledByAnOldView() throws Exception {
        var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
        var seen = new LinkedBlockingQueue<String>();
        try (var elections = Elections.over(wire, ElectionsConfig.defaults())) {
            var config = CandidacyConfig.builder().candidate("c").build();
            var candidacy = elections.stand("a", config);
            assertThat(candidacy.await(LONG)).isPresent();
            var old = wire.read("a").toCompletableFuture().join();
            elections
                    .election("a")
                    .watch(leader -> seen.add(
                            leader.map(who -> who.candidate() + who.token()).orElse("nobody")));
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("c1");
            candidacy.close();
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("nobody");
            wire.tell(old);
            assertThat(elections.stand("a", config).await(LONG)).isPresent();
            assertThat(seen.poll(20, TimeUnit.SECONDS)).isEqualTo("c2");
        }
    }

    /** A loop that tells when it is closed. */
    private static final class ToldLoop extends ForwardingLoop {
        private final CountDownLatch closed;

        private ToldLoop(Loop loop, CountDownLatch closed) {
            super(loop);
            this.closed = closed;
        }

        private static ToldLoop started() {
            var thread = new LoopThread(Clock.system(), Duration.ofSeconds(1), (length, how) -> {});
            thread.start();
            return new ToldLoop(thread, new CountDownLatch(1));
        }

        @Override
        public void close() {
            super.close();
            closed.countDown();
        }
    }

    /** Runs this once the thread that calls this waits, or soon after it has ended. */
    private static void whenThisThreadWaits(Runnable what) {
        var here = Thread.currentThread();
        var watching = new Thread(() -> {
            while (here.getState() != Thread.State.WAITING && here.isAlive()) {
                Thread.onSpinWait();
            }
            what.run();
        });
        watching.setDaemon(true);
        watching.start();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        while (latch.getCount() > 0) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                // deaf, on purpose
            }
        }
    }

    private static List<Thread> threads(String prefix) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(prefix))
                .toList();
    }
}
