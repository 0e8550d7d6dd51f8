package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is so on H2 only. */
class H2Test {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path folder;

    /** The clock of its transactions stands still: what was promised since one began looks longer than it is. */
    @Test
    void aLeaseThatWasGivenWhileATransactionWaitedIsNotCutShort() throws Exception {
        var uri = "jdbc:h2:mem:still;DB_CLOSE_DELAY=-1";
        var lease = Duration.ofMinutes(5);
        var seats = new SeatTable(Dialect.H2, SqlConfig.defaults());
        Elections.connect(uri).close(); // which makes the tables
        try (var ours = DriverManager.getConnection(uri);
                var theirs = DriverManager.getConnection(uri)) {
            var granted = new AtomicLong();
            var slow = before(theirs, "FOR UPDATE", () -> {
                now(theirs);
                Eventually.throughout("time passes", Duration.ofMillis(20), () -> true);
                assertThat(verdict(seats, ours, "ours", lease)).isEqualTo(SeatTable.Verdict.GRANTED);
                granted.set(expiry(ours));
            });

            assertThat(verdict(seats, slow, "theirs", lease)).isEqualTo(SeatTable.Verdict.REFUSED);

            assertThat(expiry(ours)).isEqualTo(granted.get());
        }
    }

    private static SeatTable.Verdict verdict(SeatTable seats, Connection connection, String candidate, Duration lease)
            throws SQLException {
        var claim = new Claim("billing", candidate, candidate + "-1", lease, lease, 0, Map.of());
        return seats.acquire(connection, List.of(claim), Set.of()).of("billing").verdict();
    }

    private static long expiry(Connection connection) throws SQLException {
        return number(connection, "SELECT expires_at FROM bellwether_election");
    }

    private static long now(Connection connection) throws SQLException {
        return number(connection, "SELECT " + Dialect.H2.now());
    }

    private interface Step {
        void take() throws Exception;
    }

    /** Returns the connection, with this done once before the first statement with these words. */
    private static Connection before(Connection real, String words, Step step) {
        var done = new AtomicBoolean();
        return (Connection) Proxy.newProxyInstance(
                H2Test.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
                    if (method.getName().equals("prepareStatement")
                            && String.valueOf(args[0]).contains(words)
                            && !done.getAndSet(true)) {
                        step.take();
                    }
                    try {
                        return method.invoke(real, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** What comes round was tried again at once, and each time a person was told. */
    @Test
    void whatComesRoundIsNotTriedAgainAtOnceWhenTheDriverHasAFault() throws Exception {
        var uri = "jdbc:h2:mem:faulty;DB_CLOSE_DELAY=-1";
        var begun = new ConcurrentLinkedQueue<Long>();
        var isFaulty = new AtomicBoolean();
        var source = (DataSource) Proxy.newProxyInstance(
                H2Test.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, args) -> {
                    if (method.getName().equals("toString")) {
                        return "faulty";
                    }
                    return beforeEach(DriverManager.getConnection(uri), () -> {
                        if (isFaulty.get()) {
                            begun.add(System.nanoTime());
                            throw new IllegalStateException("planted");
                        }
                    });
                });
        var told = new LinkedBlockingQueue<View>();
        try (var store = SqlLeaseStore.open(Source.of(source), SqlConfig.defaults())) {
            var watch = store.watch("billing", told::add);
            var claim = new Claim("billing", "a", "a-1", Duration.ofSeconds(1), PATIENCE, 0, Map.of());
            assertThat(store.acquire(claim).toCompletableFuture()).succeedsWithin(PATIENCE);
            isFaulty.set(true);
            var tries = 20;
            Eventually.eventually("it was tried", PATIENCE, () -> begun.size() >= tries);
            var times = List.copyOf(begun);
            assertThat(Duration.ofNanos(times.get(tries - 1) - times.get(0)))
                    .as("in which it was tried so often")
                    .isGreaterThan(Duration.ofSeconds(1));
            isFaulty.set(false);
            told.clear();
            assertThat(store.release(claim).toCompletableFuture()).succeedsWithin(PATIENCE);
            assertThat(told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isNotNull();
            watch.close();
        }
    }

    private static Connection beforeEach(Connection real, Runnable step) {
        return (Connection) Proxy.newProxyInstance(
                H2Test.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
                    if (method.getName().equals("prepareStatement")) {
                        step.run();
                    }
                    try {
                        return method.invoke(real, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Its driver takes a limit of the network for each use, and keeps to none. */
    @Test
    void aConnectionThatDiedSilentlyIsGivenUp() throws Exception {
        var lease = Duration.ofSeconds(1);
        try (var server = new H2Server(folder);
                var link = FaultProxy.to("127.0.0.1", server.port());
                var elections = Elections.connect(H2Server.uri(link.port()));
                var leader = elections.stand("billing", CandidacyConfig.ofLease(lease))) {
            var first = leader.await(PATIENCE).orElseThrow();

            link.abandon(); // what is connected; who connects from now on gets through

            Eventually.eventually(
                    "it leads again",
                    PATIENCE,
                    () -> leader.mandate().filter(mandate -> mandate.token() > first.token()));
        }
    }

    @Test
    void aTokenThatWasHandedOutSurvivesTheDeathOfTheProcess() throws Exception {
        var uri = "jdbc:h2:" + folder.resolve("elections");
        var lease = Duration.ofSeconds(1);
        var last = 0L;
        for (var i = 0; i < 2; i++) {
            var child = ChildMain.stand(uri, "billing", lease);
            var token = Long.parseLong(child.await("leads "));
            child.kill();
            child.close();
            assertThat(token).isGreaterThan(last);
            last = token;
        }
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("billing", CandidacyConfig.ofLease(lease))) {
            assertThat(leader.await(Duration.ofSeconds(20)).orElseThrow().token())
                    .isGreaterThan(last);
        }
    }
}
