package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidate;
import dev.bellwether.Watch;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the store answers on each database, without a lease seat over it.
 *
 * <p>A request is sent for as long as its asker waits, a third of the lease. So leases here are long, and one that is
 * to run out is cut short by a renewal: nothing depends on how fast this machine is.
 */
class StoreTest {
    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Duration INSTANT = Duration.ofMillis(1);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private static Path folder;

    private final String election = "store-" + UUID.randomUUID();

    // set by each test, first of all
    @SuppressWarnings("NullAway.Init")
    private LeaseStore store;

    @SuppressWarnings("NullAway.Init")
    private String uri;

    /** Before a connection is lent. */
    private volatile Runnable beforeUse = () -> {};

    private final AtomicInteger undoneCommits = new AtomicInteger();

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:store;DB_CLOSE_DELAY=-1",
                "jdbc:sqlite:" + folder.resolve("store.db"));
    }

    private void open(String database) {
        uri = database;
        store = (LeaseStore) ConnectUri.parse(database).connect();
    }

    @AfterEach
    void close() {
        store.close();
    }

    // ---------------------------------------------------------------- claims

    @ParameterizedTest
    @MethodSource("databases")
    void aSeatThatWasNeverHeldIsVacantWithTokenZeroAndIsGrantedWithTokenOne(String database) {
        open(database);
        assertThat(read()).isEqualTo(View.unheld(election));
        var claim = claim("first");
        var answer = acquire(claim);
        assertThat(answer.granted()).isTrue();
        var view = answer.view();
        assertThat(view.token()).isEqualTo(1);
        assertThat(view.heldUnder(claim.nonce())).isTrue();
        var holder = view.holder().orElseThrow();
        assertThat(holder.candidate()).isEqualTo("first");
        assertThat(holder.metadata()).isEqualTo(claim.metadata());
        assertThat(view.remaining()).isBetween(LEASE.minus(PATIENCE), LEASE.plusMillis(3));
        assertThat(view.standDown() || view.ended()).isFalse();
        assertThat(read().holder()).contains(holder);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aStandbyIsListedWithTheTimeOfItsLastSign(String database) {
        open(database);
        var before = Instant.now().minusSeconds(60);
        assertThat(acquire(claim("ann")).granted()).isTrue();
        assertThat(acquire(claim("bob")).granted()).isFalse();

        var candidates = read().candidates();

        assertThat(candidates)
                .filteredOn(Candidate::leads)
                .extracting(Candidate::id)
                .containsExactly("ann");
        assertThat(candidates)
                .filteredOn(one -> one.id().equals("bob"))
                .singleElement()
                .satisfies(bob -> assertThat(bob.heard().orElseThrow())
                        .isBetween(before, Instant.now().plusSeconds(60)));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aHeldSeatIsRefusedToAllTheHolderUnderAnotherNonceIncluded(String database) {
        open(database);
        var first = claim("first");
        acquire(first);
        for (var other : List.of("second", "first")) {
            var answer = acquire(claim(other));
            assertThat(answer.granted()).isFalse();
            assertThat(answer.view().token()).isEqualTo(1);
            assertThat(answer.view().heldUnder(first.nonce())).isTrue();
            assertThat(answer.view().remaining()).isPositive();
        }
        assertThat(read().heldUnder(first.nonce())).isTrue();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aSeatWhoseLeaseRanOutIsVacantAndGrantedUnderAHigherToken(String database) {
        open(database);
        runOut(claim("first"));
        var vacant = read();
        assertThat(vacant.token()).isEqualTo(1);
        assertThat(vacant.remaining()).isZero();
        var second = claim("second");
        var answer = acquire(second);
        assertThat(answer.granted()).isTrue();
        assertThat(answer.view().token()).isEqualTo(2);
        assertThat(answer.view().heldUnder(second.nonce())).isTrue();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aClaimWhoseAnswerWasLostIsKnownByItsNonce(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim); // the answer to which is lost
        assertThat(read().heldUnder(claim.nonce())).isTrue();
        var again = acquire(claim); // which arrives a second time
        assertThat(again.granted()).isFalse();
        assertThat(again.view().heldUnder(claim.nonce())).isTrue();
        assertThat(again.view().token()).isEqualTo(1);
        assertThat(renew(new Lease(claim, again.view().token(), LEASE)).granted())
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void oneThatWasAnsweredIsListed(String database) {
        open(database);
        acquire(claim("first"));
        assertThat(listed()).containsExactly("first");
        acquire(claim("second"));
        assertThat(read().candidates()).hasSize(2);
        assertThat(listed()).containsExactly("first", "second");
        join(store.release(claim("second")));
        assertThat(listed()).containsExactly("first");
    }

    /** The claim before it has listed the candidate again, and then found the database out of reach. */
    @Test
    void oneWhoseReleaseWasNotSentBehindItsClaimIsNotListedForTheLifeOfTheProcess() {
        var presence = Duration.ofSeconds(2);
        var database = "jdbc:h2:mem:" + election + ";DB_CLOSE_DELAY=-1";
        var goOn = new CompletableFuture<Boolean>();
        var uses = new AtomicInteger(-1_000);
        var lends = (DataSource) Proxy.newProxyInstance(
                StoreTest.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    var use = uses.incrementAndGet();
                    if (use == 1) {
                        goOn.join();
                    } else if (use == 3) {
                        throw new SQLException("not just now");
                    }
                    return method.getName().equals("getConnection") ? DriverManager.getConnection(database) : null;
                });
        store = SqlLeaseStore.open(
                Source.of(lends), SqlConfig.builder().presence(presence).build());
        var claim = new Claim(election, "one", "n", LEASE, presence, 0, Map.of());
        uses.set(0);
        var reading = store.read(election); // holds up what comes next, which is served at once
        Eventually.eventually("it reads", PATIENCE, () -> uses.get() == 1);
        var claimed = store.acquire(claim);
        var released = store.release(claim);
        goOn.complete(true);
        join(reading);
        assertThat(claimed.toCompletableFuture()).failsWithin(PATIENCE);
        assertThat(released.toCompletableFuture()).failsWithin(PATIENCE);
        var listed = Eventually.eventually("it answers again", PATIENCE, () -> {
            try {
                return Optional.of(listed());
            } catch (CompletionException e) {
                return Optional.empty(); // who was refused a connection does not ask for one at once
            }
        });
        assertThat(listed).containsExactly("one");
        Eventually.eventually("it is not listed", PATIENCE, () -> listed().isEmpty());
    }

    /** Its claim has listed it again; its release waited behind others, until nobody waited for it. */
    @Test
    void oneWhoseReleaseWasTooLateBehindItsClaimIsNotListedForTheLifeOfTheProcess() throws Exception {
        var lease = Duration.ofSeconds(1);
        var presence = Duration.ofSeconds(2);
        var signs = "SELECT count(*) FROM bellwether_election_candidate WHERE election = ?";
        uri = "jdbc:h2:mem:" + election + ";DB_CLOSE_DELAY=-1";
        var gates = List.of(new CompletableFuture<Boolean>(), new CompletableFuture<Boolean>());
        var uses = new AtomicInteger(-1_000);
        var lends = (DataSource) Proxy.newProxyInstance(
                StoreTest.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    var use = uses.incrementAndGet();
                    if (use == 1) {
                        gates.get(0).join();
                    } else if (use == 4) { // behind those that listed and claimed
                        gates.get(1).join();
                    }
                    return method.getName().equals("getConnection") ? DriverManager.getConnection(uri) : null;
                });
        store = SqlLeaseStore.open(
                Source.of(lends), SqlConfig.builder().presence(presence).build());
        uses.set(0);
        var reading = store.read(election); // holds up what comes next, which is served at once
        Eventually.eventually("it reads", PATIENCE, () -> uses.get() == 1);
        var claim = new Claim(election, "one", "n", Duration.ofMinutes(5), presence, 0, Map.of());
        var claimed = store.acquire(claim);
        IntStream.range(0, RequestQueue.LARGEST_BATCH - 1).forEach(i -> store.read(election));
        var left = System.nanoTime();
        var released = store.release(new Claim(election, "one", "n", lease, presence, 0, Map.of()));
        gates.get(0).complete(true);
        join(reading);
        assertThat(join(claimed).granted()).isTrue();
        assertThat(number(signs)).isEqualTo(1);
        Eventually.eventually("it reads on", PATIENCE, () -> uses.get() == 4);
        Eventually.eventually(
                "nobody waits for the release", PATIENCE, () -> System.nanoTime() - left > lease.toNanos());
        gates.get(1).complete(true);
        assertThat(released.toCompletableFuture()).failsWithin(PATIENCE);
        Eventually.eventually("it is not listed", PATIENCE, () -> {
            try {
                return number(signs) == 0;
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        });
    }

    /** The release was too late at the same time as the claim behind it was served. */
    @Test
    void oneThatClaimedAgainBehindAReleaseThatWasTooLateStaysListed() throws Exception {
        var lease = Duration.ofSeconds(1);
        var gate = new CompletableFuture<Boolean>();
        openLent("jdbc:h2:mem:" + election + ";DB_CLOSE_DELAY=-1");
        var reading = heldUp(gate);
        var left = System.nanoTime();
        var released = store.release(new Claim(election, "one", "n", lease, LEASE, 0, Map.of()));
        var again = store.acquire(claim("one"));
        awaitSince(left, lease);
        gate.complete(true);
        join(reading);
        assertThat(released.toCompletableFuture()).failsWithin(PATIENCE);
        assertThat(join(again).granted()).isTrue();
        Eventually.throughout("it is listed", Duration.ofSeconds(2), () -> listedRows() == 1);
    }

    @Test
    void aRenewalDoesNotWaitUntilAllWhoHaveLeftAreStruckOff() throws Exception {
        var lease = Duration.ofSeconds(1);
        var gates = List.of(new CompletableFuture<Boolean>(), new CompletableFuture<Boolean>());
        openLent("jdbc:h2:mem:" + election + ";DB_CLOSE_DELAY=-1");
        var kept = new Claim("kept-" + election, "one", "n", LEASE, LEASE, 0, Map.of());
        assertThat(acquire(kept).granted()).isTrue();
        var many = RequestQueue.LARGEST_BATCH; // so that the second reading comes after them
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.createStatement()) {
            statement.execute("INSERT INTO bellwether_election_candidate"
                    + " (election, candidate, priority, metadata, until_at)"
                    + " SELECT '" + election + "', 'c' || x, 0, '', 9000000000000000000"
                    + " FROM system_range(1, " + many + ")");
        }
        var reading = heldUp(gates.get(0));
        var left = System.nanoTime();
        var released = IntStream.rangeClosed(1, many)
                .mapToObj(i -> store.release(new Claim(election, "c" + i, "n", lease, LEASE, 0, Map.of())))
                .toList();
        beforeUse = gates.get(1)::join;
        var readingOn = store.read(election);
        awaitSince(left, lease);
        gates.get(0).complete(true);
        join(reading);
        released.forEach(one -> assertThat(one.toCompletableFuture()).failsWithin(PATIENCE));
        awaitSince(System.nanoTime(), Duration.ofMillis(1_500)); // until all are to be struck off
        var leftThen = store.renew(List.of(new Lease(kept, 1, LEASE))).get(0).thenApply(renewed -> listedRows());
        gates.get(1).complete(true);
        join(readingOn);
        assertThat(join(leftThen)).as("those who wait still").isPositive();
        Eventually.eventually("all are struck off", PATIENCE, () -> listedRows() == 0);
    }

    /** As in a deadlock. What is asked next is served whatever becomes of it. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void whatTheServerHasUndoneForTheSakeOfOthersIsTriedOnceMore(int times) {
        var gate = new CompletableFuture<Boolean>();
        openLent("jdbc:h2:mem:" + election + ";DB_CLOSE_DELAY=-1");
        var reading = heldUp(gate);
        var claimed = store.acquire(claim("one"));
        var readingOn = store.read(election);
        undoneCommits.set(times);
        gate.complete(true);
        join(reading);
        if (times == 1) {
            assertThat(join(claimed).granted()).isTrue();
        } else {
            assertThat(claimed.toCompletableFuture())
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withMessageContaining("undid twice what was asked");
        }
        assertThat(join(readingOn).holder().isPresent()).isEqualTo(times == 1);
    }

    /** A standby asks once a lease or less often, and must not lose the first try at a seat that was vacated. */
    @Test
    void aSessionThatTheServerEndedWhileItWasIdleCostsNoRequest() throws Exception {
        var server = PostgresServer.shared();
        open(server.uri() + "&ApplicationName=" + election + "&options=-c%20idle_session_timeout=1s");
        assertThat(read().holder()).isEmpty();
        try (var looks = server.connect();
                var statement = looks.createStatement()) {
            Eventually.eventually("no session is left", PATIENCE, () -> {
                try (var result = statement.executeQuery(
                        "SELECT 1 FROM pg_stat_activity WHERE application_name = '" + election + "'")) {
                    return !result.next();
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
        }
        assertThat(acquire(claim("one")).granted()).isTrue();
    }

    /** MySQL says so before it closes the connection, which its own driver does not read. MariaDB just closes it. */
    @ParameterizedTest
    @CsvSource({"MYSQL, false", "MYSQL, true", "MARIADB_PLAIN, false"})
    void aSessionThatMysqlOrMariaDbEndedWhileItWasIdleCostsNoClaim(Kind kind, boolean isConnectorJ) throws Exception {
        openAndBecomeIdle(kind, isConnectorJ);
        assertThat(acquire(claim("one")).granted()).isTrue();
    }

    /** Who looks now and then would be told of an outage each time. */
    @ParameterizedTest
    @CsvSource({"MYSQL, false", "MYSQL, true", "MARIADB_PLAIN, false"})
    void aSessionThatMysqlOrMariaDbEndedWhileItWasIdleCostsNoLook(Kind kind, boolean isConnectorJ) throws Exception {
        openAndBecomeIdle(kind, isConnectorJ);
        assertThat(read().holder()).isEmpty();
    }

    @Test
    void aSessionThatAnAdministratorEndedCostsNoLook() throws Exception {
        var server = PostgresServer.shared();
        open(server.uri() + "&ApplicationName=" + election);
        assertThat(read().holder()).isEmpty();
        assertThat(server.answer("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        + " WHERE application_name = '" + election + "'"))
                .isEqualTo("1");
        assertThat(read().holder()).isEmpty();
    }

    /** Returns when the server has ended the session of the store. */
    private void openAndBecomeIdle(Kind kind, boolean isConnectorJ) throws SQLException {
        var server = MysqlFamilyServer.shared(kind);
        try (var looks = server.connect();
                var statement = looks.createStatement()) {
            var before = sessions(statement);
            open((isConnectorJ ? MysqlFamilyServer.uriOfConnectorJ(server.port()) : server.uri())
                    + "&sessionVariables=wait_timeout=1");
            assertThat(read().holder()).isEmpty();
            var ours = sessions(statement);
            ours.removeAll(before);
            assertThat(ours).isNotEmpty();
            Eventually.eventually(
                    "no session is left", PATIENCE, () -> Collections.disjoint(sessions(statement), ours));
        }
    }

    private static Set<String> sessions(Statement statement) {
        var sessions = new HashSet<String>();
        try (var result = statement.executeQuery("SELECT id FROM information_schema.processlist")) {
            while (result.next()) {
                sessions.add(result.getString(1));
            }
            return sessions;
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** As without memory: who gave them would wait for as long as it waits at all. */
    @Test
    void ordersThatWaitForRowsAreAnsweredThoughAnErrorEndsTheNextTry() throws Exception {
        openLent(PostgresServer.shared().uri());
        var seats = List.of(election + 1, election + 2);
        for (var seat : seats) {
            assertThat(acquire(claim(seat, "one", LEASE)).granted()).isTrue();
        }
        try (var other = PostgresServer.shared().connect();
                var statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery(
                            "SELECT 1 FROM bellwether_election WHERE election LIKE '" + election + "%' FOR UPDATE")
                    .close();
            var gate = new CompletableFuture<Boolean>();
            var reading = heldUp(gate);
            var ordered = seats.stream()
                    .map(seat -> store.order(seat, Order.STAND_DOWN))
                    .toList();
            var uses = new AtomicInteger();
            beforeUse = () -> {
                if (uses.incrementAndGet() > seats.size()) { // each has met the lock
                    beforeUse = () -> {};
                    throw new NoClassDefFoundError("pretended");
                }
            };
            gate.complete(true);
            join(reading);
            for (var one : ordered) {
                assertThat(one.toCompletableFuture())
                        .failsWithin(PATIENCE)
                        .withThrowableThat()
                        .withMessageContaining("pretended");
            }
            other.rollback();
        }
        assertThat(join(store.order(seats.get(1), Order.STAND_DOWN))).isTrue();
    }

    /** With this setting the driver puts both signs into one statement. */
    @Test
    void whoClaimsTwiceAtOnceIsAnsweredTwice() {
        var gate = new CompletableFuture<Boolean>();
        openLent(PostgresServer.shared().uri() + "&reWriteBatchedInserts=true");
        var reading = heldUp(gate);
        var both = List.of(store.acquire(claim("one")), store.acquire(claim("one")));
        gate.complete(true);
        join(reading);
        assertThat(both).extracting(answer -> join(answer).granted()).containsExactlyInAnyOrder(true, false);
    }

    /** It claims on both sides of the seat that another claims, whose place in the index is between them. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void claimsThatADeadlockHasUndoneAreTriedOnceMore(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        openLent(server.uri());
        for (var i = 1; i <= 3; i++) {
            var former = claim(election + i, "former", LEASE);
            assertThat(acquire(former).granted()).isTrue();
            assertThat(join(store.release(former)).granted()).isTrue();
        }
        try (var other = server.connect();
                var statement = other.createStatement();
                var looks = server.connect()) {
            other.setAutoCommit(false);
            for (var i = 0; i < 100; i++) { // so that the server undoes the transaction of the store, which did less
                statement.execute("INSERT INTO bellwether_election_candidate"
                        + " (election, candidate, priority, metadata, until_at) VALUES ('zz-" + election + "', 'c" + i
                        + "', 0, '', 9000000000000000000)");
            }
            statement
                    .executeQuery("SELECT 1 FROM bellwether_election FORCE INDEX (bellwether_token) WHERE election = '"
                            + election + "2' FOR UPDATE")
                    .close();
            var gate = new CompletableFuture<Boolean>();
            var reading = heldUp(gate);
            var first = store.acquire(claim(election + 1, "one", LEASE)).toCompletableFuture();
            var third = store.acquire(claim(election + 3, "one", LEASE));
            var readingOn = store.read(election);
            gate.complete(true);
            join(reading);
            Eventually.eventually("it waits", PATIENCE, () -> first.isDone() || waits(looks));
            statement.execute("UPDATE bellwether_election SET token = token + 1 WHERE election = '" + election + "2'");
            other.rollback();
            assertThat(granted(third)).isTrue();
            assertThat(join(readingOn).holder()).isEmpty();
            assertThat(first.handle((answer, error) -> error == null ? "" : error.getMessage())
                            .join())
                    .as("unless this machine was busy for a second")
                    .matches("|another transaction has locked .*");
        }
    }

    /** What was asked together with a claim that waits is done later, and in its order. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void aReleaseDoesNotOvertakeAClaimThatWasPutOff(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        openLent(server.uri());
        assertThat(acquire(claim(election + 2, "former", LEASE)).granted()).isTrue();
        try (var other = server.connect();
                var statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT 1 FROM bellwether_election FORCE INDEX (bellwether_token) WHERE election = '"
                            + election + "2' AND token = 0 LOCK IN SHARE MODE")
                    .close(); // of the gap, in which the place of the first is
            var gate = new CompletableFuture<Boolean>();
            var reading = heldUp(gate);
            var stuck = store.acquire(claim(election + 1, "one", LEASE));
            var claim = claim(election + 3, "one", LEASE);
            var claimed = store.acquire(claim);
            var released = store.release(claim);
            gate.complete(true);
            join(reading);
            assertThat(stuck.toCompletableFuture())
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withMessageContaining("another transaction has locked");
            assertThat(join(claimed).granted()).isTrue();
            assertThat(join(released).granted()).isTrue();
            assertThat(join(store.read(election + 3)).holder()).isEmpty();
            other.rollback();
        }
        assertThat(granted(store.acquire(claim(election + 1, "one", LEASE)))).isTrue();
    }

    /**
     * MariaDB refuses to lock a row that another has changed since the transaction first read anything, as who stands
     * for the election before: that takes long here.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRowThatChangesAllTheTimeFailsNoOther(boolean claims) throws Exception {
        try (var server = MysqlFamilyServer.start(Kind.MARIADB_PLAIN, "--innodb-snapshot-isolation=ON")) {
            openLent(server.uri());
            var both = List.of(claim(election + 1, "one", LEASE), claim(election + 2, "one", LEASE));
            for (var claim : both) {
                assertThat(acquire(claim).granted()).isTrue();
                if (claims) {
                    assertThat(join(store.release(claim)).granted()).isTrue();
                }
            }
            listMany(election + 1);
            var over = new AtomicBoolean();
            var changed = new AtomicInteger();
            var changes = CompletableFuture.runAsync(() -> {
                try (var other = server.connect();
                        var change = other.prepareStatement(
                                "UPDATE bellwether_election SET priority = priority + 1 WHERE election = ?")) {
                    change.setString(1, election + 2);
                    while (!over.get()) {
                        changed.addAndGet(change.executeUpdate());
                    }
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            Eventually.eventually("it changes", PATIENCE, () -> changed.get() > 0 || changes.isDone());
            var gate = new CompletableFuture<Boolean>();
            var reading = heldUp(gate);
            var answers = claims
                    ? both.stream().map(store::acquire).toList()
                    : store.renew(both.stream()
                            .map(claim -> new Lease(claim, 1, LEASE))
                            .toList());
            gate.complete(true);
            join(reading);
            assertThat(join(answers.get(0)).granted()).isTrue();
            over.set(true);
            join(changes);
            store.close();
        }
    }

    /** Lists more candidates than are looked through in an instant. */
    private void listMany(String seat) throws SQLException {
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.createStatement()) {
            statement.execute("INSERT INTO bellwether_election_candidate (election, candidate, priority, metadata,"
                    + " until_at) VALUES ('" + seat + "', 'c', 0, '', 9000000000000000000)");
            for (var twice = 0; twice < 16; twice++) {
                statement.execute("INSERT INTO bellwether_election_candidate (election, candidate, priority, metadata,"
                        + " until_at) SELECT election, CONCAT(candidate, '" + (char) ('d' + twice)
                        + "'), 0, '', until_at FROM bellwether_election_candidate WHERE candidate LIKE 'c%'");
            }
        }
    }

    private boolean waits(Connection looks) {
        try {
            return MysqlFamilyServer.waiting(looks).stream().anyMatch(one -> one.contains(" SET token"));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void ofManyClaimsByTwoProcessesEachSeatIsGrantedOnce(String database) {
        open(database);
        try (var other = (LeaseStore) ConnectUri.parse(database).connect()) {
            var seats = 200;
            var answers = new ArrayList<List<CompletionStage<Answer>>>();
            for (var i = 0; i < seats; i++) {
                answers.add(List.of(
                        store.acquire(claim(election + i, "first", LEASE)),
                        other.acquire(claim(election + i, "second", LEASE))));
            }
            var granted = answers.stream()
                    .mapToLong(both -> both.stream().filter(StoreTest::granted).count())
                    .toArray();
            assertThat(granted).hasSize(seats).doesNotContain(2);
            for (var i = 0; i < seats; i++) {
                if (granted[i] == 0) { // neither had a definite answer: each met a lock of the other's
                    acquire(claim(election + i, "first", LEASE));
                }
                assertThat(join(store.read(election + i)).token()).isEqualTo(1);
            }
        }
    }

    // ---------------------------------------------------------------- renewals

    @ParameterizedTest
    @MethodSource("databases")
    void aRenewalLetsTheTermRunAgainAndMayShortenIt(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim);
        var shorter = LEASE.dividedBy(2);
        assertThat(renew(new Lease(claim, 1, shorter)).view().remaining())
                .isBetween(shorter.minus(PATIENCE), shorter.plusMillis(3));
        assertThat(read().remaining()).isBetween(shorter.minus(PATIENCE), shorter.plusMillis(3));
        assertThat(renew(new Lease(claim, 1, LEASE)).view().remaining())
                .isBetween(LEASE.minus(PATIENCE), LEASE.plusMillis(3));
        assertThat(read().remaining()).isBetween(LEASE.minus(PATIENCE), LEASE.plusMillis(3));
        assertThat(read().token()).isEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aLeaseLastsAsLongAsAskedFromTheRequestAtLeast(String database) throws Exception {
        open(database);
        var claim = claim("first");
        acquire(claim);
        for (var i = 0; i < 100; i++) { // a clock of coarse steps is not always caught
            var requested = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
            assertThat(renew(new Lease(claim, 1, LEASE)).granted()).isTrue();
            assertThat(number("SELECT expires_at FROM bellwether_election WHERE election = ?"))
                    .isGreaterThanOrEqualTo(requested + LEASE.toMillis() * 1_000);
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aRenewalUnderAnotherTokenIsRefused(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim);
        for (var token : List.of(0L, 2L)) {
            var answer = renew(new Lease(claim, token, INSTANT)); // which would be seen
            assertThat(answer.granted()).isFalse();
            assertThat(answer.view().heldUnder(claim.nonce())).isTrue();
        }
        assertThat(read().remaining()).isGreaterThan(LEASE.minus(PATIENCE));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aRenewalUnderAnotherNonceIsRefused(String database) {
        open(database);
        acquire(claim("first"));
        assertThat(renew(new Lease(claim("first"), 1, INSTANT)).granted()).isFalse();
        assertThat(read().remaining()).isGreaterThan(LEASE.minus(PATIENCE));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aRenewalAfterTheLeaseRanOutIsRefusedThoughNobodyTookTheSeat(String database) {
        open(database);
        var claim = claim("first");
        runOut(claim);
        var answer = renew(new Lease(claim, 1, LEASE));
        assertThat(answer.granted()).isFalse();
        assertThat(answer.view().holder()).isEmpty();
        assertThat(read().holder()).isEmpty();
        assertThat(acquire(claim("second")).granted()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void ofManyRenewalsInOneBatchEachGetsItsOwnAnswer(String database) {
        open(database);
        var seats = 700; // more than go into one statement
        var claims = IntStream.range(0, seats)
                .mapToObj(i -> claim(election + "-" + i, "first", LEASE))
                .toList();
        claims.stream()
                .map(store::acquire)
                .toList()
                .forEach(answer -> assertThat(join(answer).granted()).isTrue());
        var gone = claims.get(5);
        runOutHeld(gone);
        var taken = claims.get(6);
        runOutHeld(taken);
        assertThat(acquire(claim(taken.election(), "second", LEASE)).granted()).isTrue();
        var leases = claims.stream()
                .map(claim -> new Lease(
                        claim, number(claim) % 7 == 0 ? 2 : 1, number(claim) % 2 == 0 ? LEASE.dividedBy(2) : LEASE))
                .toList();
        var answers = store.renew(leases);
        assertThat(answers).hasSize(seats);
        for (var i = 0; i < seats; i++) {
            var answer = join(answers.get(i));
            var claim = claims.get(i);
            var kept = i % 7 != 0 && i != 5 && i != 6;
            assertThat(answer.granted()).as(claim.election()).isEqualTo(kept);
            assertThat(answer.view().election()).isEqualTo(claim.election());
            var seen = join(store.read(claim.election()));
            assertThat(seen.heldUnder(claim.nonce())).as(claim.election()).isEqualTo(i != 5 && i != 6);
            if (kept) {
                var term = leases.get(i).term();
                assertThat(seen.remaining()).as(claim.election()).isBetween(term.minus(PATIENCE), term.plusMillis(3));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aSeatThatOccursTwiceInABatchIsDealtWithInThatOrder(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim);
        var shorter = LEASE.dividedBy(2);
        var answers = store.renew(List.of(new Lease(claim, 1, shorter), new Lease(claim, 7, LEASE)));
        assertThat(join(answers.get(0)).granted()).isTrue();
        assertThat(join(answers.get(1)).granted()).isFalse();
        answers = store.renew(List.of(new Lease(claim, 1, shorter), new Lease(claim, 1, LEASE)));
        answers.forEach(answer -> assertThat(join(answer).granted()).isTrue());
        assertThat(read().remaining()).isGreaterThan(shorter);
    }

    // ---------------------------------------------------------------- release, orders, watching

    @ParameterizedTest
    @MethodSource("databases")
    void onlyTheHoldersOwnClaimReleases(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim);
        assertThat(join(store.release(claim("first"))).granted()).isFalse();
        assertThat(read().heldUnder(claim.nonce())).isTrue();
        assertThat(join(store.release(claim)).granted()).isTrue();
        assertThat(read().holder()).isEmpty();
        assertThat(read().token()).isEqualTo(1);
        assertThat(join(store.release(claim)).granted()).isFalse();
        assertThat(renew(new Lease(claim, 1, LEASE)).granted()).isFalse();
        assertThat(acquire(claim("second")).view().token()).isEqualTo(2);
        assertThat(join(store.release(claim)).granted()).isFalse(); // which comes late
        assertThat(read().leader().orElseThrow().candidate()).isEqualTo("second");
    }

    /** A claim that hangs in its commit has locked the row, and shows its nonce to nobody. */
    @ParameterizedTest
    @MethodSource("databases")
    void aReleaseIsNotAnsweredWhileAnotherTransactionMayGrantTheSeat(String database) throws Exception {
        open(database);
        var claim = claim("first");
        acquire(claim);
        join(store.release(claim));
        if (!database.startsWith("jdbc:sqlite:")) { // which locks no rows
            try (var connection = DriverManager.getConnection(uri);
                    var statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement
                        .executeQuery(
                                "SELECT 1 FROM bellwether_election WHERE election = '" + election + "' FOR UPDATE")
                        .close();
                assertThat(store.release(claim("second")).toCompletableFuture())
                        .failsWithin(PATIENCE)
                        .withThrowableThat()
                        .withMessageContaining("is locked by another transaction");
                connection.rollback();
            }
        }
        assertThat(join(store.release(claim("second"))).granted()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void deletingKeepsTheRowTheHolderAndTheToken(String database) throws Exception {
        open(database);
        var claim = claim("first");
        acquire(claim);
        assertThat(join(store.list())).contains(election);
        assertThat(join(store.order(election, Order.DELETE))).isTrue();
        assertThat(join(store.list())).doesNotContain(election);
        assertThat(number("SELECT count(*) FROM bellwether_election WHERE election = ?"))
                .isEqualTo(1);
        var view = read();
        assertThat(view.era()).isEqualTo(1);
        assertThat(view.token()).isEqualTo(1);
        assertThat(view.heldUnder(claim.nonce())).isTrue();
        assertThat(renew(new Lease(claim, 1, LEASE)).granted()).isTrue();
        assertThat(join(store.release(claim)).granted()).isTrue();
        assertThat(acquire(claim("second")).view().token()).isEqualTo(2);
        assertThat(join(store.list())).contains(election);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aClaimOfAnEraBeforeLeavesADeletedElectionDeleted(String database) {
        open(database);
        var first = claim("first");
        acquire(first);
        assertThat(join(store.order(election, Order.DELETE))).isTrue();
        assertThat(acquire(claim("late", 0)).granted()).isFalse();
        assertThat(join(store.list())).as("while its last leader leads").doesNotContain(election);
        assertThat(join(store.release(first)).granted()).isTrue();
        var late = acquire(claim("late", 0));
        assertThat(late.granted()).isFalse();
        assertThat(late.view().era()).isOne();
        assertThat(join(store.list())).doesNotContain(election);
        assertThat(acquire(claim("second", 1)).view().token()).isEqualTo(2);
        assertThat(join(store.list())).contains(election);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void anEndedElectionIsGrantedToNobodyUntilItIsDeleted(String database) {
        open(database);
        var claim = claim("first");
        acquire(claim);
        assertThat(join(store.order(election, Order.END))).isTrue();
        assertThat(read().ended()).isTrue();
        assertThat(read().heldUnder(claim.nonce())).isTrue();
        assertThat(join(store.release(claim)).granted()).isTrue();
        var answer = acquire(claim("second"));
        assertThat(answer.granted()).isFalse();
        assertThat(answer.view().ended()).isTrue();
        assertThat(join(store.order(election, Order.DELETE))).isTrue();
        var reborn = acquire(claim("second"));
        assertThat(reborn.granted()).isTrue();
        assertThat(reborn.view().token()).isEqualTo(2);
        assertThat(reborn.view().era()).isEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void anOrderToStandDownIsForThePresentHolderOnly(String database) {
        open(database);
        assertThat(join(store.order(election, Order.STAND_DOWN))).isFalse();
        var first = claim("first");
        acquire(first);
        assertThat(join(store.order(election, Order.STAND_DOWN))).isTrue();
        assertThat(read().standDown()).isTrue();
        assertThat(renew(new Lease(first, 1, LEASE)).view().standDown()).isTrue();
        runOutHeld(first);
        assertThat(read().standDown()).isFalse();
        assertThat(join(store.order(election, Order.STAND_DOWN))).isFalse();
        var second = claim("second");
        assertThat(acquire(second).view().standDown()).isFalse();
        assertThat(join(store.order(election, Order.STAND_DOWN))).isTrue();
        assertThat(join(store.release(second)).granted()).isTrue();
        assertThat(acquire(claim("third")).view().standDown()).isFalse();
        assertThat(read().standDown()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aNoteIsReplacedForItsTokenOnlyAndIsThereUntilTheNextGrant(String database) {
        open(database);
        var claim = claim("ann");
        var token = acquire(claim).view().token();
        assertThat(join(store.note(election, token + 1, "", "a note")))
                .as("for another token")
                .isFalse();
        assertThat(join(store.note(election, token, "other", "a note")))
                .as("in place of another")
                .isFalse();
        assertThat(join(store.note(election, token, "", "a 'note' & ü"))).isTrue();
        assertThat(join(store.note(election, token, "", "late"))).isFalse();
        var shown = claim.showing(Map.of("version", "2"));
        var renewed = renew(new Lease(shown, token, LEASE));
        assertThat(renewed.granted()).isTrue();
        assertThat(renewed.view().note()).isEqualTo("a 'note' & ü");
        assertThat(renewed.view().leader().orElseThrow().metadata()).containsEntry("version", "2");
        var read = read();
        assertThat(read.leader().orElseThrow().metadata()).containsEntry("version", "2");
        assertThat(join(store.release(shown)).view().note()).isEqualTo("a 'note' & ü");
        assertThat(read().note()).as("over the vacant seat").isEqualTo("a 'note' & ü");
        assertThat(join(store.note(election, token, "a 'note' & ü", "")))
                .as("over the vacant seat")
                .isFalse();
        assertThat(acquire(claim("bob")).view().note()).isEmpty();
        assertThat(read().note()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void whoWatchesIsToldOfAGrantAShortenedLeaseAnOrderAReleaseAndAnEnd(String database) throws Exception {
        open(database);
        try (var other = (LeaseStore) ConnectUri.parse(database).connect()) {
            var told = new LinkedBlockingQueue<View>();
            try (var watch = other.watch(election, told::add)) {
                assertThat(watch).isNotSameAs(Watch.NONE);
                var claim = claim("first");
                acquire(claim);
                awaitTold(told, view -> view.heldUnder(claim.nonce()));
                renew(new Lease(claim, 1, LEASE.dividedBy(2)));
                awaitTold(
                        told,
                        view -> view.heldUnder(claim.nonce())
                                && view.remaining().compareTo(LEASE.dividedBy(4).multipliedBy(3)) < 0);
                join(store.order(election, Order.STAND_DOWN));
                awaitTold(told, View::standDown);
                join(store.release(claim));
                awaitTold(told, view -> view.token() == 1 && view.holder().isEmpty());
                join(store.order(election, Order.END));
                awaitTold(told, View::ended);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void anElectionOfAnyNameIsItself(String database) {
        open(database);
        var names = Stream.of("a", "A", "a ", "ä", "it's", "a%", "a_", "a\\", "a\nb", "\uD83D\uDC11")
                .map(name -> name + election)
                .toList();
        for (var name : names) {
            assertThat(acquire(claim(name, "first", LEASE)).view().token())
                    .as(name)
                    .isEqualTo(1);
        }
        assertThat(join(store.list())).containsAll(names);
    }

    // ---------------------------------------------------------------- small things

    /** Over connections that are lent, each {@link #beforeUse}. */
    private void openLent(String database) {
        uri = database;
        var lends = (DataSource) Proxy.newProxyInstance(
                StoreTest.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    if (!method.getName().equals("getConnection")) {
                        return null;
                    }
                    beforeUse.run();
                    return undone(DriverManager.getConnection(database));
                });
        store = SqlLeaseStore.open(
                Source.of(lends), SqlConfig.builder().presence(LEASE).build());
    }

    /** Returns a reading that holds up what comes next, so that it is served at once. */
    private CompletionStage<View> heldUp(CompletableFuture<Boolean> gate) {
        var reads = new CompletableFuture<Boolean>();
        beforeUse = () -> {
            reads.complete(true);
            gate.join();
        };
        var reading = store.read(election);
        join(reads);
        return reading;
    }

    /** Undoes some transactions instead of committing them. */
    private Connection undone(Connection connection) {
        return (Connection) Proxy.newProxyInstance(
                StoreTest.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit") && undoneCommits.getAndDecrement() > 0) {
                        connection.rollback();
                        throw new SQLException("deadlock", "40001");
                    }
                    try {
                        return method.invoke(connection, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static void awaitSince(long nanos, Duration time) {
        Eventually.eventually("it is late", PATIENCE, () -> System.nanoTime() - nanos > time.toNanos());
    }

    private long listedRows() {
        try {
            return number("SELECT count(*) FROM bellwether_election_candidate WHERE election = ?");
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private Claim claim(String candidate) {
        return claim(candidate, Claim.ANY_ERA);
    }

    private Claim claim(String candidate, long era) {
        return claim(election, candidate, LEASE, era);
    }

    private static Claim claim(String election, String candidate, Duration lease) {
        return claim(election, candidate, lease, Claim.ANY_ERA);
    }

    private static Claim claim(String election, String candidate, Duration lease, long era) {
        return new Claim(
                election,
                candidate,
                UUID.randomUUID().toString(),
                lease,
                Duration.ofMinutes(20),
                0,
                Map.of("host", "a&b=c\nd é"),
                era,
                0);
    }

    private static int number(Claim claim) {
        return Integer.parseInt(claim.election().substring(claim.election().lastIndexOf('-') + 1));
    }

    private Answer acquire(Claim claim) {
        return join(store.acquire(claim));
    }

    private Answer renew(Lease lease) {
        return join(store.renew(List.of(lease)).get(0));
    }

    private View read() {
        return join(store.read(election));
    }

    private List<String> listed() {
        return read().candidates().stream()
                .map(dev.bellwether.Candidate::id)
                .sorted()
                .toList();
    }

    /** Takes the seat and lets it run out. */
    private void runOut(Claim claim) {
        assertThat(acquire(claim).granted()).isTrue();
        runOutHeld(claim);
    }

    private void runOutHeld(Claim claim) {
        var token = join(store.read(claim.election())).token();
        assertThat(renew(new Lease(claim, token, INSTANT)).granted()).isTrue();
        Eventually.eventually(
                "the lease runs out",
                PATIENCE,
                () -> join(store.read(claim.election())).holder().isEmpty());
    }

    private static void awaitTold(LinkedBlockingQueue<View> told, java.util.function.Predicate<View> what)
            throws InterruptedException {
        var seen = new ArrayList<View>();
        for (var view = told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                view == null || !what.test(view);
                view = told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            assertThat(view).as("told after " + seen).isNotNull();
            seen.add(view);
        }
    }

    private static boolean granted(CompletionStage<Answer> answer) {
        return Optional.ofNullable(answer.toCompletableFuture()
                        .exceptionally(unknown -> null)
                        .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                        .join())
                .filter(Answer::granted)
                .isPresent();
    }

    private static <T> T join(CompletionStage<T> stage) {
        return ((CompletableFuture<T>) stage)
                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .join();
    }

    private long number(String sql) throws SQLException {
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.prepareStatement(sql)) {
            statement.setString(1, election);
            try (var result = statement.executeQuery()) {
                result.next();
                return result.getLong(1);
            }
        }
    }
}
