package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions of our own: how they end, and what becomes of nodes in those that were lost. */
@Timeout(300)
class SessionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig SHORT = CandidacyConfig.ofLease(Duration.ofSeconds(2));

    private static Sessions sessions(ZooKeeperServers servers) {
        return Sessions.own(
                lease -> Hands.unstarted(servers.addresses(), (int) lease.toMillis()),
                Duration.ofMillis(ZooKeeperServers.TICK_MILLIS),
                "the test's server");
    }

    /** The client says good-bye to it, and waits for as long as it tries to connect: the length of the session. */
    @Test
    void aServerThatGivesNoAnswerIsWaitedForNoLongerThanThePatience() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var framework = Hands.client(servers.addresses(), 20_000)) {
            var client = new Client(framework);
            Eventually.eventually("it is connected", PATIENCE, client::isConnected);
            servers.servers().get(0).pause();
            var begun = System.nanoTime();
            var granted = client.granted(servers.addresses(), Duration.ofSeconds(30), Duration.ofSeconds(1));
            var taken = Duration.ofNanos(System.nanoTime() - begun);
            servers.servers().get(0).resume();
            assertThat(granted).isEmpty();
            assertThat(taken).isLessThan(Duration.ofSeconds(10));
        }
    }

    /** Each try left another, with its threads. */
    @Test
    void aClientForWhichThereIsNoThreadIsClosed() {
        var made = new ArrayList<CuratorFramework>();
        var sessions = Sessions.own(
                lease -> {
                    made.add(CuratorFrameworkFactory.builder()
                            .connectString(SharedServer.get().addresses())
                            .retryPolicy(new RetryOneTime(1))
                            .zookeeperFactory((address, timeout, watcher, readOnly) -> {
                                throw new OutOfMemoryError("unable to create native thread");
                            })
                            .build());
                    return made.get(0);
                },
                Duration.ofMillis(ZooKeeperServers.TICK_MILLIS),
                "the test's server");
        assertThatThrownBy(() -> sessions.take(Duration.ofSeconds(2))).isInstanceOf(OutOfMemoryError.class);
        assertThat(made)
                .singleElement()
                .satisfies(client -> assertThat(client.getState()).isEqualTo(CuratorFrameworkState.STOPPED));
    }

    /** It was forgotten, and its server kept it until the process ended. */
    @Test
    void aSessionForWhoseEndThereIsNoThreadIsClosedLater() {
        var refused = new AtomicInteger();
        var made = new AtomicReference<CuratorFramework>();
        var sessions = sessions(made, closing -> {
            if (refused.getAndIncrement() == 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            Sessions.CLOSERS.execute(closing);
        });
        sessions.take(Duration.ofSeconds(2));
        sessions.giveBack(Duration.ofSeconds(2));
        Eventually.eventually("it is closed", PATIENCE, () -> state(made) == CuratorFrameworkState.STOPPED);
        assertThat(refused).hasValueGreaterThan(1);
        sessions.close();
    }

    /** With it the seats that were held in it stayed taken. */
    @Test
    void allSessionsAreClosedThoughThereIsNoThreadForTheirEnds() {
        var made = new AtomicReference<CuratorFramework>();
        var sessions = sessions(made, closing -> {
            throw new OutOfMemoryError("unable to create native thread");
        });
        sessions.take(Duration.ofSeconds(2));
        sessions.close();
        assertThat(state(made)).isEqualTo(CuratorFrameworkState.STOPPED);
    }

    /** What failed for the first left the others open. */
    @Test
    void aSessionThatCannotBeClosedHereLeavesNoOtherOpen() {
        var closed = new AtomicInteger();
        var sessions = Sessions.own(
                lease -> failsToClose(Hands.unstarted(SharedServer.get().addresses(), (int) lease.toMillis()), closed),
                Duration.ofMillis(ZooKeeperServers.TICK_MILLIS),
                "the test's server",
                closing -> {
                    throw new OutOfMemoryError("unable to create native thread");
                });
        sessions.take(Duration.ofSeconds(2));
        sessions.take(Duration.ofSeconds(3));
        assertThatThrownBy(sessions::close).hasStackTraceContaining("planted");
        assertThat(closed).hasValue(2);
    }

    private static CuratorFramework failsToClose(CuratorFramework real, AtomicInteger closed) {
        return (CuratorFramework) Proxy.newProxyInstance(
                CuratorFramework.class.getClassLoader(),
                new Class<?>[] {CuratorFramework.class},
                (self, method, arguments) -> {
                    var answer = method.invoke(real, arguments);
                    if (method.getName().equals("close") && closed.incrementAndGet() == 1) {
                        throw new OutOfMemoryError("planted");
                    }
                    return answer;
                });
    }

    private static CuratorFrameworkState state(AtomicReference<CuratorFramework> made) {
        return Objects.requireNonNull(made.get()).getState();
    }

    private static Sessions sessions(AtomicReference<CuratorFramework> made, Executor closers) {
        return Sessions.own(
                lease -> {
                    made.set(Hands.unstarted(SharedServer.get().addresses(), (int) lease.toMillis()));
                    return made.get();
                },
                Duration.ofMillis(ZooKeeperServers.TICK_MILLIS),
                "the test's server",
                closers);
    }

    /** It took two seconds for each. */
    @Test
    void closingSixSessionsOnAFrozenServerEndsBeforeOneOfEachOfThreeIsClosedInTurn() {
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var six = open(servers, 6);
            var inTurn = List.of(open(servers, 1), open(servers, 1), open(servers, 1));
            servers.servers().get(0).pause();
            var closing = CompletableFuture.runAsync(six::close, task -> new Thread(task, "closes six").start());
            inTurn.forEach(Sessions::close); // beside it, so that a machine that is busy holds up both
            var isDone = closing.isDone();
            servers.servers().get(0).resume();
            assertThat(isDone).as("the six are closed").isTrue();
        }
    }

    private static Sessions open(ZooKeeperServers servers, int count) {
        var sessions = sessions(servers);
        IntStream.range(0, count)
                .forEach(i -> assertThat(
                                sessions.take(Duration.ofSeconds(20 + i)).awaitConnected(PATIENCE))
                        .isTrue());
        return sessions;
    }

    @Test
    void whoClosesWhileInterruptedLeavesNoSession() {
        try (var servers = ZooKeeperServers.start(1, 0)) {
            var sessions = open(servers, 3);
            Thread.currentThread().interrupt();
            sessions.close();
            assertThat(Thread.interrupted()).as("still interrupted").isTrue();
            assertThat(servers.servers().get(0).figure("zk_global_sessions")).isZero();
        }
    }

    /** The client makes no other: it kept the session, and with it the seat, of which nobody could be relieved. */
    @Test
    void anInterruptOfAnEventThreadCostsAMandateAndNoMore() {
        var name = "deaf-" + UUID.randomUUID();
        try (var elections = Elections.connect(SharedServer.uri());
                var candidacy = named(name, () -> elections.stand(name, SHORT))) {
            var mandate = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            endEventThread(name);
            Eventually.eventually("it leads no more", PATIENCE, () -> !mandate.isValid());
            var next = Eventually.eventually("it leads again", PATIENCE, candidacy::mandate);
            assertThat(next.token()).isGreaterThan(mandate.token());
        }
    }

    /** It could hear of no end, and asked for no other session: nobody led there until the process ended. */
    @Test
    void aSessionThatRunsOutWhileNobodyHearsOfItCostsAMandateAndNoMore() {
        var name = "deaf-" + UUID.randomUUID();
        try (var servers = ZooKeeperServers.start(1, 1);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses(0)));
                var candidacy = named(name, () -> elections.stand(name, SHORT))) {
            var mandate = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            var server = servers.servers().get(0);
            var expired = server.figure("zk_stale_sessions_expired");
            endEventThread(name);
            servers.link(0).cut();
            Eventually.eventually(
                    "its session has run out", PATIENCE, () -> server.figure("zk_stale_sessions_expired") > expired);
            servers.link(0).heal();
            Eventually.eventually("it leads no more", PATIENCE, () -> !mandate.isValid());
            Eventually.eventually("it leads again", PATIENCE, candidacy::mandate);
        }
    }

    /** As when the process stood still: the answer is there. It was told that its event thread had ended. */
    @Test
    void aClientIsNotTakenForDeafBecauseNobodyHasReadItsAnswerYet() throws Exception {
        var told = new AtomicInteger();
        var hearing = new Hearing(told::incrementAndGet);
        try (var client = Hands.client(SharedServer.get().addresses(), 1_000)) {
            assertThat(client.blockUntilConnected(60, TimeUnit.SECONDS)).isTrue();
            var asked = client.getZookeeperClient().getZooKeeper();
            hearing.asks(asked);
            Eventually.throughout("longer than its patience", Duration.ofSeconds(4), () -> true);
            hearing.asks(asked);
            assertThat(told).hasValue(0);
            hearing.hears(asked);
            Eventually.throughout("longer than its patience", Duration.ofSeconds(4), () -> true);
            Eventually.eventually("it is found to be deaf", PATIENCE, () -> {
                hearing.asks(asked);
                return told.get() == 1;
            });
        }
    }

    /** Who only watches asks nothing, and so nobody noticed. */
    @Test
    @SuppressWarnings("try") // nobody asks the watch for anything
    void anInterruptOfTheEventThreadOfOneThatOnlyWatchesKeepsNothingFromIt() {
        var name = "deaf-" + UUID.randomUUID();
        var servers = SharedServer.get();
        var sessions = Sessions.own(
                lease -> Hands.unstarted(servers.addresses(), 1_000),
                Duration.ofMillis(ZooKeeperServers.TICK_MILLIS),
                "the test's server");
        var isLed = new AtomicBoolean();
        try (var others = Elections.connect(SharedServer.uri());
                var leader = others.stand(name, SHORT);
                var watching = named(
                        name,
                        () -> Elections.over(
                                "the test's server",
                                () -> new ZooKeeperArbiter(sessions, LentSessionTest.config()),
                                ElectionsConfig.defaults()));
                var watch = watching.election(name).watch(seen -> isLed.set(seen.isPresent()))) {
            Eventually.eventually("it sees who leads", PATIENCE, isLed::get);
            endEventThread(name);
            leader.resign();
            Eventually.eventually("it sees that nobody leads", PATIENCE, () -> !isLed.get());
        }
    }

    /** Returns what this makes, whose client gives its threads this name. */
    private static <T> T named(String name, Supplier<T> making) {
        var caller = Thread.currentThread().getName();
        Thread.currentThread().setName(name);
        try {
            return making.get();
        } finally {
            Thread.currentThread().setName(caller);
        }
    }

    /** Interrupts what hands on the answers to the client of this name. */
    private static void endEventThread(String name) {
        var threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(name + "-EventThread"))
                .toList();
        assertThat(threads).hasSize(1);
        threads.get(0).interrupt();
        Eventually.eventually("it has ended", PATIENCE, () -> !threads.get(0).isAlive());
    }

    @Test
    void aSessionForALeaseThatIsRefusedOrThatNobodyHoldsAnyMoreIsClosed() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            for (var i = 0; i < 5; i++) {
                var lease = CandidacyConfig.ofLease(Duration.ofSeconds(100 + i));
                assertThatThrownBy(() -> elections.stand("refused", lease)).isInstanceOf(ElectionException.class);
            }
            var held = CandidacyConfig.builder().candidate("once");
            try (var candidacy =
                    elections.stand("held", held.lease(Duration.ofSeconds(5)).build())) {
                Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
                var again = held.lease(Duration.ofSeconds(6)).build();
                assertThatThrownBy(() -> elections.stand("held", again)).hasMessageContaining("already stands");
            }
            var server = servers.servers().get(0);
            Eventually.eventually(
                    "one session is left, that of observers", PATIENCE, () -> server.figure("zk_global_sessions") == 1);
        }
    }

    /** The session was asked for without the part of a millisecond, and was too short for the lease. */
    @Test
    void aLeaseNeedNotBeAWholeNumberOfMilliseconds() {
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(10).dividedBy(3));
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()));
                var client = Hands.client(servers.addresses(), 3_333);
                var lent = ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults())) {
            for (var one : List.of(elections, lent)) {
                var candidacy = one.stand("thirds", lease);
                Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
                candidacy.close();
            }
        }
    }

    /** It took three seconds for each. */
    @Test
    void standingInAnOutageWaitsForNoAnswer() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            servers.servers().get(0).kill();
            var begun = System.nanoTime();
            for (var i = 0; i < 10; i++) {
                elections.stand("outage", CandidacyConfig.ofLease(Duration.ofMillis(6_000 + i)));
            }
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(15));
        }
    }

    /** They queued behind their own dead nodes, until the servers had expired those. */
    @Test
    void afterAnOutageLongerThanTheSessionNobodyWaitsForItsOwnDeadNode() {
        var expired = new AtomicLong(-1);
        try (var servers = ZooKeeperServers.start(1, 0);
                var one = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()));
                var other = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var lease = CandidacyConfig.builder()
                    .lease(Duration.ofSeconds(6))
                    .listener(event -> {
                        if (event instanceof LeadershipEvent.Acquired) { // at once: a busy machine may look at it late
                            expired.set(servers.servers().get(0).figure("zk_stale_sessions_expired"));
                        }
                    })
                    .build();
            var leader = one.stand("outage", lease);
            var before = Eventually.eventually("it leads", PATIENCE, leader::mandate);
            var follower = other.stand("outage", lease);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> follower.status().following().isPresent());
            var server = servers.servers().get(0);
            Eventually.eventually("it has looked", PATIENCE, () -> expired.get() >= 0);
            expired.set(-1);
            server.kill();
            Eventually.eventually("it leads no more", PATIENCE, () -> !leader.isLeader());
            Eventually.throughout("longer than the session", Duration.ofSeconds(9), () -> true);
            server.start();
            Mandate after = Eventually.eventually(
                    "one leads", PATIENCE, () -> leader.mandate().or(follower::mandate));
            Eventually.eventually("it has looked again", PATIENCE, () -> expired.get() >= 0);
            assertThat(expired.get())
                    .as("sessions that the server has expired by then")
                    .isZero();
            assertThat(after.token()).as(Never.MARK + "a token falls").isGreaterThan(before.token());
        }
    }
}
