package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.RosterConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.ForwardingLoop;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Elections on an infrastructure that is not there yet. */
@Timeout(60)
class LazyArbiterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final MemoryLeaseStore store = new MemoryLeaseStore(Clock.system());
    private final CompletableFuture<Boolean> there = new CompletableFuture<>();
    private final CountDownLatch tried = new CountDownLatch(1);

    private Backend connect() {
        tried.countDown();
        if (!there.isDone()) {
            throw new UnavailableException("connection refused");
        }
        return store;
    }

    private static Elections lazily(Supplier<Backend> connector) {
        return Elections.over(
                "the store",
                connector,
                ElectionsConfig.builder().connectLazily(true).build());
    }

    @Test
    void oneThatStandsBeforeThereIsAConnectionLeadsWhenThereIsOne() throws Exception {
        try (var elections = lazily(this::connect)) {
            var leaders = new CopyOnWriteArrayList<String>();
            var watch = elections
                    .election("billing")
                    .watch(leader -> leader.ifPresent(now -> leaders.add(now.candidate())));
            var candidacy = elections.stand(
                    "billing", CandidacyConfig.builder().candidate("a").build());
            assertThat(tried.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(candidacy.await(Duration.ofMillis(1))).isEmpty();
            assertThat(candidacy.status().phase()).isEqualTo(Phase.STANDING_BY);
            assertThatThrownBy(() -> elections.election("billing").state())
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("not connected to the store yet: connection refused");
            assertThatThrownBy(elections::list).isInstanceOf(UnavailableException.class);
            assertThatThrownBy(() -> elections.roster(
                            "shards", RosterConfig.builder().roles(4).build()))
                    .isInstanceOf(UnavailableException.class);

            there.complete(true);
            assertThat(candidacy.await(PATIENCE)).isPresent();
            assertThat(elections.list()).containsExactly("billing");
            assertThat(elections.stand("later").await(PATIENCE)).isPresent();
            while (leaders.isEmpty()) {
                Thread.onSpinWait(); // the watcher that came before the connection hears of it, too
            }
            assertThat(leaders).containsExactly("a");
            watch.close();
            candidacy.close();
            assertThat(elections.election("billing").leader()).isEmpty();
        }
    }

    @Test
    void whoStandsWhileTheConnectionComesUpIsCheckedByTheBackend() throws Exception {
        var lazy = new LazyArbiter("the store", () -> {
            there.join();
            return new Rig.Wire(store) {
                @Override
                public void check(String election, CandidacyConfig config) {
                    throw new ElectionException("the lease is too long");
                }
            };
        });
        lazy.start();
        try {
            var config = lazy.completed(CandidacyConfig.defaults());
            lazy.check("billing", config); // nobody can say yet
            there.complete(true);
            lazy.list().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

            var failed = new CompletableFuture<Object>();
            var claimant = told(Claimant.class, "failed", arguments -> failed.complete(arguments[0]));
            var loop = told(Loop.class, "execute", arguments -> ((Runnable) arguments[0]).run());
            lazy.seat(new Standing("billing", "a", "a's", config), claimant, loop)
                    .claim();
            assertThat(failed)
                    .succeedsWithin(PATIENCE)
                    .hasToString("dev.bellwether.ElectionException: the lease is too long");
        } finally {
            lazy.close();
        }
    }

    /** Is one that does this when it is told that, and else nothing. */
    private static <T> T told(Class<T> type, String what, Consumer<Object[]> then) {
        return told(type, Map.of(what, then));
    }

    private static <T> T told(Class<T> type, Map<String, Consumer<Object[]>> doing) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    var then = doing.get(method.getName());
                    if (then != null) {
                        then.accept(arguments);
                    }
                    return null;
                }));
    }

    @Test
    void aWatchThatBeginsWhenThereIsAConnectionDoesNotWaitForTheCommonPool() throws Exception {
        var end = new CountDownLatch(1);
        for (var i = 0; i < ForkJoinPool.getCommonPoolParallelism(); i++) {
            ForkJoinPool.commonPool().execute(() -> {
                try {
                    end.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        there.complete(true);
        try (var elections = lazily(this::connect);
                var candidacy = elections.stand("billing")) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            var heard = new CompletableFuture<Boolean>();
            var watch = elections.election("billing").watch(leader -> heard.complete(leader.isPresent()));
            assertThat(heard).succeedsWithin(PATIENCE);
            watch.close();
        } finally {
            end.countDown();
        }
    }

    @Test
    void aConnectorThatThrowsWhatNobodyDeclaresFailsThoseThatStand() {
        try (var elections = lazily(() -> {
            there.join();
            throwAny(new IOException("planted"));
            throw new AssertionError("that throws");
        })) {
            var candidacy = elections.stand("billing");
            there.complete(true);
            assertThatThrownBy(candidacy::awaitClose).hasMessageContaining("planted");
        }
    }

    /** Nor of a thread: it may pass, whatever a client and its provider make of it. */
    @Test
    void aTryThatLacksMemoryIsNotTheLast() throws Exception {
        var lacking = new CompletionException(new OutOfMemoryError("planted"));
        var errors = new ConcurrentLinkedQueue<>(List.of(
                new OutOfMemoryError("planted"), lacking, new ElectionException("cannot connect to it", lacking)));
        try (var elections = lazily(() -> {
                    var error = errors.poll();
                    if (error != null) {
                        throwAny(error);
                    }
                    return new Rig.Wire(store);
                });
                var candidacy = elections.stand("billing")) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            assertThat(errors).isEmpty();
        }
    }

    /** As other languages do. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable thrown) throws T {
        throw (T) thrown;
    }

    @Test
    void whatNoWaitingCanFixFailsThoseThatStand() {
        var heard = new CompletableFuture<LeadershipEvent>();
        try (var elections = lazily(() -> {
            there.join();
            throw new ElectionException("table \"x\" is no table of ours");
        })) {
            var candidacy = elections.stand(
                    "billing",
                    CandidacyConfig.builder().listener(heard::complete).build());
            there.complete(true);
            assertThatThrownBy(candidacy::awaitClose).hasMessageContaining("is no table of ours");
            assertThat(candidacy.failure()).isPresent();
            assertThat(heard.join()).isInstanceOf(LeadershipEvent.Failed.class);
            assertThatThrownBy(() -> elections.stand("other")).hasMessageContaining("is no table of ours");
            assertThatThrownBy(elections::list).hasMessageContaining("is no table of ours");
        }
    }

    /** Who watches asks nothing, and nobody may stand. */
    @Test
    void aWatchThatNoWaitingCanBeginIsToldInTheLog() {
        try (var log = new LogSaid();
                var elections = lazily(() -> {
                    there.join();
                    throw new AccessRefusedException("wrong password");
                })) {
            var before = elections.election("billing").watch(leader -> {});
            there.complete(true);
            awaitError(log, "a watch of \"billing\" has failed, and is told nothing");
            var after = elections.election("other").watch(leader -> {});
            awaitError(log, "a watch of \"other\" has failed, and is told nothing");
            before.close();
            after.close();
        }
    }

    private static void awaitError(LogSaid log, String line) {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!log.said("ERROR").contains(line) && System.nanoTime() - until < 0) {
            Thread.onSpinWait();
        }
        assertThat(log.said("ERROR")).contains(line);
    }

    @Test
    void aRefusalKeepsItsTypeForThoseThatComeLater() {
        try (var elections = lazily(() -> {
            throw new AccessRefusedException("wrong password");
        })) {
            assertThatThrownBy(elections::list).isInstanceOf(AccessRefusedException.class);
            assertThatThrownBy(() -> elections.stand("billing"))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("wrong password");
        }
    }

    @Test
    void whatAClientThrowsWhenThereIsAConnectionFailsTheOneThatItIsThrownFor() throws Exception {
        try (var elections = lazily(() -> {
            tried.countDown();
            there.join();
            return new Rig.Wire(store) {
                @Override
                public void check(String election, CandidacyConfig config) {
                    if (election.equals("billing")) {
                        throw new IllegalStateException("planted");
                    }
                }

                @Override
                public Watch watch(String election, Consumer<View> watcher) {
                    if (election.equals("watched")) {
                        throw new IllegalStateException("planted");
                    }
                    return super.watch(election, watcher);
                }
            };
        })) {
            assertThat(tried.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            var watch = elections.election("watched").watch(leader -> {});
            var heard = new CompletableFuture<LeadershipEvent>();
            var refused = elections.stand(
                    "billing",
                    CandidacyConfig.builder().listener(heard::complete).build());
            var other = elections.stand("other");
            there.complete(true);
            assertThat(other.await(PATIENCE)).isPresent();
            assertThat(heard).succeedsWithin(PATIENCE).isInstanceOf(LeadershipEvent.Failed.class);
            assertThatThrownBy(refused::awaitClose)
                    .hasMessageContaining("in \"billing\" cannot begin on rig: ")
                    .hasMessageContaining("planted");
            elections.lock("report").tryRun(mandate -> {}); // nobody else is refused
            watch.close();
        }
    }

    @Test
    void candidaciesThatWaitForAConnectionCanBeClosed() throws Exception {
        var elections = lazily(this::connect);
        var candidacy = elections.stand("billing");
        assertThat(tried.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        candidacy.close();
        assertThat(candidacy.status().phase()).isEqualTo(Phase.CLOSED);
        elections.close();
        there.complete(true);
        assertThat(store.read("billing").toCompletableFuture().join().token()).isZero();
    }

    @Test
    void aBackendThatConnectsAfterTheElectionsWereClosedIsClosed() throws Exception {
        var closed = new CountDownLatch(1);
        var elections = lazily(() -> {
            tried.countDown();
            there.join();
            return new Rig.Wire(store) {
                @Override
                public void close() {
                    closed.countDown();
                }
            };
        });
        assertThat(tried.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        elections.close();
        there.complete(true);
        assertThat(closed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void anInterruptOfSomebodyElsesDoesNotEndTheTries() throws Exception {
        try (var elections = lazily(this::connect)) {
            var candidacy = elections.stand("billing");
            assertThat(tried.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("bellwether-connect"))
                    .forEach(Thread::interrupt);
            there.complete(true);
            assertThat(candidacy.await(PATIENCE)).isPresent();
        }
    }

    /** As by one who interrupts all threads of a process: a client tells so in words of its own. */
    @Test
    void whatAnInterruptHasCausedFailsNobody() throws Exception {
        var tries = new AtomicInteger();
        var checks = new AtomicInteger();
        try (var elections = lazily(() -> {
            there.join();
            if (tries.incrementAndGet() == 1) {
                throw new ElectionException("cannot connect to the store", new InterruptedException());
            } else if (tries.get() == 2) {
                throw new IllegalStateException(new InterruptedException());
            }
            return new Rig.Wire(store) {
                @Override
                public void check(String election, CandidacyConfig config) {
                    if (checks.incrementAndGet() == 1) {
                        throw new IllegalStateException(new InterruptedException());
                    }
                }
            };
        })) {
            var candidacy = elections.stand("billing");
            there.complete(true);
            assertThat(candidacy.await(PATIENCE)).isPresent();
            assertThat(tries).hasValue(3);
            assertThat(checks).hasValue(1);
        }
    }

    @Test
    void aCheckThatLacksMemoryFailsNobody() throws Exception {
        var lacking = new ConcurrentLinkedQueue<Throwable>(
                List.of(new OutOfMemoryError("planted"), new CompletionException(new OutOfMemoryError("planted"))));
        try (var elections = lazily(() -> {
            there.join();
            return new Rig.Wire(store) {
                @Override
                public void check(String election, CandidacyConfig config) {
                    var error = lacking.poll();
                    if (error != null) {
                        throwAny(error);
                    }
                }
            };
        })) {
            var one = elections.stand("billing");
            var other = elections.stand("shipping");
            there.complete(true);
            assertThat(one.await(PATIENCE)).isPresent();
            assertThat(other.await(PATIENCE)).isPresent();
            assertThat(lacking).isEmpty();
        }
    }

    @Test
    void aCandidacyThatLacksMemoryWhenThereIsAConnectionBeginsLater() throws Exception {
        var lacks = new AtomicInteger(1);
        try (var elections = lazily(() -> {
            there.join();
            return new Rig.Wire(store) {
                @Override
                public CandidacyConfig completed(CandidacyConfig config) {
                    if (lacks.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("planted");
                    }
                    return super.completed(config);
                }
            };
        })) {
            var candidacy = elections.stand("billing");
            there.complete(true);
            assertThat(candidacy.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aWatchThatLacksMemoryWhenThereIsAConnectionBeginsLater() throws Exception {
        var lacks = new AtomicInteger(1);
        var lazy = new LazyArbiter("the store", () -> {
            there.join();
            return store;
        });
        try (var loop = new LoopThread(Clock.system(), PATIENCE, (length, how) -> {})) {
            loop.start();
            var heard = new CompletableFuture<View>();
            lazy.start();
            var watch = lazy.watch("billing", heard::complete, new ForwardingLoop(loop) {
                @Override
                public void execute(Runnable turn) {
                    if (lacks.getAndDecrement() > 0) {
                        throw new OutOfMemoryError("planted");
                    }
                    super.execute(turn);
                }
            });
            there.complete(true);
            assertThat(heard).succeedsWithin(PATIENCE);
            watch.close();
        } finally {
            lazy.close();
        }
    }

    @Test
    void theTriesGoOnThoughOneWhoWaitsCannotBeToldForLackOfMemory() throws Exception {
        var lazy = new LazyArbiter("the store", this::connect);
        var granted = new CountDownLatch(1);
        var claimant = told(
                Claimant.class,
                Map.of(
                        "unanswered",
                        arguments -> {
                            there.complete(true);
                            throw new OutOfMemoryError("planted");
                        },
                        "granted",
                        arguments -> granted.countDown()));
        try (var loop = new LoopThread(Clock.system(), PATIENCE, (length, how) -> {})) {
            loop.start();
            waits(lazy, "a", claimant, loop);
            lazy.start();
            assertThat(granted.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            lazy.close();
        }
    }

    @Test
    void oneWhoCannotBeginForLackOfMemoryCostsNobodyElseTheConnection() throws Exception {
        there.complete(true);
        var lazy = new LazyArbiter("the store", this::connect);
        var granted = new CountDownLatch(2);
        var well = told(Claimant.class, "granted", arguments -> granted.countDown());
        var unwell = told(Claimant.class, "failed", arguments -> {
            throw new OutOfMemoryError("planted");
        });
        try (var loop = new LoopThread(Clock.system(), PATIENCE, (length, how) -> {})) {
            loop.start();
            waits(lazy, "a", well, loop);
            waits(lazy, "b", unwell, new ForwardingLoop(loop) {
                @Override
                public void execute(Runnable turn) {
                    if (Thread.currentThread().getName().equals("bellwether-connect")) {
                        throw new OutOfMemoryError("planted");
                    }
                    super.execute(turn);
                }
            });
            waits(lazy, "c", well, loop);
            lazy.start();
            assertThat(granted.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            lazy.check("d", CandidacyConfig.defaults());
        } finally {
            lazy.close();
        }
    }

    /** It was an error a second for each who waits, while there was no memory for the text either. */
    @Test
    void thatSomebodyLacksMemoryIsLoggedOnceForEach() throws Exception {
        there.complete(true);
        var lazy = new LazyArbiter("the store", this::connect);
        var tries = new CountDownLatch(6); // three of each
        try (var log = new LogSaid();
                var loop = new LoopThread(Clock.system(), PATIENCE, (length, how) -> {})) {
            loop.start();
            for (var election : List.of("a", "b")) {
                waits(lazy, election, told(Claimant.class, Map.of()), new ForwardingLoop(loop) {
                    @Override
                    public void execute(Runnable turn) {
                        if (Thread.currentThread().getName().equals("bellwether-connect")) {
                            tries.countDown();
                            throw new OutOfMemoryError("planted");
                        }
                        super.execute(turn);
                    }
                });
            }
            lazy.start();
            assertThat(tries.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(log.said("ERROR"))
                    .filteredOn(line -> line.contains("cannot be told how the connection is"))
                    .hasSize(2);
        } finally {
            lazy.close();
        }
    }

    /** Has a candidate of its own election wait for the connection. */
    private static void waits(LazyArbiter lazy, String election, Claimant claimant, Loop loop) throws Exception {
        var seat = lazy.seat(new Standing(election, "a", "a's", CandidacyConfig.defaults()), claimant, loop);
        var waits = new CountDownLatch(1);
        loop.execute(() -> {
            seat.claim();
            waits.countDown();
        });
        assertThat(waits.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aClientThatSwallowsTheInterruptIsNotAskedAgainAfterTheElectionsWereClosed() throws Exception {
        var connecting = new CompletableFuture<Thread>();
        var elections = lazily(() -> {
            connecting.complete(Thread.currentThread());
            there.join();
            var swallowed = Thread.interrupted();
            throw new UnavailableException("interrupted: " + swallowed);
        });
        var thread = connecting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        elections.close();
        there.complete(true);
        thread.join(PATIENCE.toMillis());
        assertThat(thread.isAlive()).isFalse();
    }

    @Test
    void withoutTheSettingConnectingThrows() {
        assertThatThrownBy(() -> Elections.over("the store", this::connect, ElectionsConfig.defaults()))
                .isInstanceOf(UnavailableException.class);
        assertThatThrownBy(() -> Elections.connect(
                        "nosuch://host",
                        ElectionsConfig.builder().connectLazily(true).build()))
                .as("what is known without the network is told at once")
                .hasMessageContaining("no backend for the scheme");
    }
}
