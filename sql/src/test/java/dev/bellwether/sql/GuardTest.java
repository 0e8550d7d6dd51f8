package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The guard on each database, against the store itself: mandates here believe for ever that they are valid. */
class GuardTest {
    /** How long to look that nobody is granted the seat. */
    private static final Duration WHILE = Duration.ofMillis(600);

    private static final Duration LONG = Duration.ofMinutes(2);

    /** A third of it is less than the shortest time for which InnoDB waits for a lock. */
    private static final Duration SHORT = Duration.ofMillis(2_700);

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private static Path folder;

    private final String election = "guarded-" + UUID.randomUUID();
    private final SqlGuard guard = SqlGuard.defaults();

    // set by each test, first of all
    @SuppressWarnings("NullAway.Init")
    private LeaseStore store;

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:guard;DB_CLOSE_DELAY=-1",
                "jdbc:sqlite:" + folder.resolve("guard.db"));
    }

    /** Those on which the leader's renewals go on under guard. */
    static Stream<String> servers() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri());
    }

    private void open(String uri) {
        store = (LeaseStore) ConnectUri.parse(uri).connect();
    }

    @AfterEach
    void close() {
        store.close();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void noSuccessorIsGrantedTheSeatBeforeAGuardedTransactionEnds(String uri) throws Exception {
        open(uri);
        var first = acquireAndRunOut("first");
        try (var connection = transaction(uri)) {
            guard.check(connection, mandate("first", first));
            requireNotGranted("second");
            connection.commit();
        }
        Eventually.eventually(
                "the successor is granted the seat",
                PATIENCE,
                () -> tried("second").filter(Answer::granted).isPresent());
    }

    @ParameterizedTest
    @MethodSource("databases")
    void whoHasASuccessorDoesNotPass(String uri) throws Exception {
        open(uri);
        var first = acquireAndRunOut("first");
        Eventually.eventually(
                "the successor is granted the seat",
                PATIENCE,
                () -> tried("second").filter(Answer::granted).isPresent());
        try (var connection = transaction(uri)) {
            assertThatThrownBy(() -> guard.check(connection, mandate("first", first)))
                    .isInstanceOf(NotLeaderException.class)
                    .hasMessageContaining(election)
                    .hasMessageContaining("roll back");
            connection.rollback();
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aConnectionThatCommitsByItselfIsRefused(String uri) throws Exception {
        open(uri);
        var first = acquire("first");
        try (var connection = DriverManager.getConnection(uri)) {
            assertThatThrownBy(() -> guard.check(connection, mandate("first", first)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("setAutoCommit(false)");
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void theLeaderRenewsUnderItsOwnGuard(String uri) throws Exception {
        open(uri);
        var claim = claim("first");
        var first = store.acquire(claim).toCompletableFuture().join().view().token();
        try (var connection = transaction(uri)) {
            guard.check(connection, mandate("first", first));
            for (var i = 0; i < 3; i++) {
                assertThat(renewed(claim, first).toCompletableFuture().join().granted())
                        .isTrue();
            }
            connection.commit();
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aGuardHoldsUpNoOtherElectionForLong(String uri) throws Exception {
        open(uri);
        var claim = claim("first");
        var first = store.acquire(claim).toCompletableFuture().join().view().token();
        try (var connection = transaction(uri)) {
            guard.check(connection, mandate("first", first));
            var own = renewed(claim, first);
            if (!uri.startsWith("jdbc:sqlite")) { // which has one lock for all
                var other = new Claim(election + "-other", "first", "n", LONG, LONG, 0, Map.of());
                assertThat(store.acquire(other).toCompletableFuture().join().granted())
                        .isTrue();
            }
            if (servers().noneMatch(uri::equals)) {
                assertThatThrownBy(() -> own.toCompletableFuture().join())
                        .isInstanceOf(CompletionException.class)
                        .hasCauseInstanceOf(UnavailableException.class);
            }
            connection.commit();
        }
        assertThat(renewed(claim, first).toCompletableFuture().join().granted()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void theConditionDoesWhatTheCheckDoes(String uri) throws Exception {
        open(uri);
        var first = acquireAndRunOut("first");
        try (var connection = transaction(uri);
                var ddl = connection.createStatement()) {
            ddl.execute("CREATE TABLE IF NOT EXISTS ledger (id integer PRIMARY KEY, amount integer)");
            ddl.execute("DELETE FROM ledger");
            ddl.execute("INSERT INTO ledger VALUES (1, 0)");
            connection.commit();
            assertThat(settle(connection, mandate("first", first))).isEqualTo(1);
            requireNotGranted("second");
            connection.commit();
            Eventually.eventually(
                    "the successor is granted the seat",
                    PATIENCE,
                    () -> tried("second").filter(Answer::granted).isPresent());
            assertThat(settle(connection, mandate("first", first))).isZero();
            connection.commit();
        }
    }

    /** Where it is, and whether the election before it has a row. */
    static Stream<Arguments> refusals() {
        var mariadb = MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri();
        return Stream.of(
                Arguments.of(mariadb, true),
                Arguments.of(mariadb, false),
                Arguments.of(MysqlFamilyServer.shared(Kind.MYSQL).uri(), true));
    }

    /**
     * InnoDB locks the gap in which a refused guard has looked, and the next token of the election before it goes into
     * that; so does the first row of an election whose name is between.
     */
    @ParameterizedTest
    @MethodSource("refusals")
    void aRefusedGuardHoldsUpOneElectionAtMostAndNoOtherForLong(String uri, boolean exists) throws Exception {
        open(uri);
        var refused = election + "-b";
        var held = election + "-a";
        acquire(claim(refused, "second"));
        if (exists) {
            vacated(held);
        }
        try (var guarded = transaction(uri);
                var other = transaction(uri)) {
            requireRefused(guarded, refused);
            store.acquire(claim(held, "first")); // while it is under way, the others come in
            var stuck = store.acquire(claim(held, "second")).toCompletableFuture();
            var beside = store.acquire(claim(election + "-c", "second")).toCompletableFuture();
            assertThatThrownBy(stuck::join)
                    .hasCauseInstanceOf(UnavailableException.class)
                    .hasMessageContaining("another transaction has locked the row of \"" + held + '"');
            assertThat(beside.join().granted()).isTrue();
            if (exists) {
                assertThat(isUnlocked(other, held))
                        .as("no session of ours waits on")
                        .isTrue();
            }
            guarded.rollback();
            guarded.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            requireRefused(guarded, refused);
            assertThat(store.acquire(claim(held, "second"))
                            .toCompletableFuture()
                            .join()
                            .granted())
                    .isTrue();
            guarded.rollback();
        }
    }

    /** The driver gives up before the server does, and the session there keeps the rows of the group for a while. */
    @ParameterizedTest
    @MethodSource("refusals")
    void aRefusedGuardHoldsUpNoOtherElectionForLongIfALeaseIsShort(String uri, boolean exists) throws Exception {
        open(uri);
        var refused = election + "-b";
        var held = election + "-a";
        acquire(claim(refused, "second"));
        if (exists) {
            vacated(held);
        }
        try (var guarded = transaction(uri)) {
            requireRefused(guarded, refused);
            var told = new ArrayList<String>();
            Eventually.eventually("the other election's claim is granted", PATIENCE, () -> {
                IntStream.range(0, 20).forEach(i -> store.read(refused)); // so that the claims are served together
                var stuck = store.acquire(claim(held, SHORT)).toCompletableFuture();
                var beside = store.acquire(claim(election + "-c", "second"));
                stuck.handle((answer, e) -> told.add(e == null ? "refused" : String.valueOf(e.getMessage())))
                        .join();
                return beside.toCompletableFuture().join().granted();
            });
            assertThat(told).first(STRING).contains("another transaction has locked the row of \"" + held + '"');
            guarded.rollback();
            Eventually.eventually(
                    "the claim that was held up is granted",
                    PATIENCE,
                    () -> store.acquire(claim(held, "second"))
                            .toCompletableFuture()
                            .join()
                            .granted());
        }
    }

    /** Each claim in the gap waits for a second, on MySQL for two, and must leave time for renewals. */
    @ParameterizedTest
    @CsvSource({"MARIADB_PLAIN, 4", "MYSQL, 5"})
    void manyClaimsInTheGapOfARefusedGuardLeaveTheirProcessTheTimeToRenew(Kind kind, int seconds) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        open(uri);
        var refused = election + "-b";
        acquire(claim(refused, "second"));
        var lease = Duration.ofSeconds(seconds);
        try (var guarded = transaction(uri);
                var elections = Elections.connect(uri);
                var leader = elections.stand(election + "-leads", CandidacyConfig.ofLease(lease))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            requireRefused(guarded, refused);
            var slow = CandidacyConfig.ofLease(Duration.ofSeconds(60));
            var stuck = IntStream.range(0, 8)
                    .mapToObj(i -> elections.stand(election + "-a" + i, slow))
                    .toList();
            Eventually.throughout("it leads", lease.multipliedBy(3), mandate::isValid);
            guarded.rollback();
            for (var one : stuck) {
                assertThat(one.await(PATIENCE)).isPresent();
            }
        }
    }

    /** The seat has a row, and nobody in it. */
    private void vacated(String seat) {
        var before = claim(seat, "first");
        acquire(before);
        store.release(before).toCompletableFuture().join();
    }

    private void requireRefused(Connection connection, String election) throws SQLException {
        try (var statement = connection.prepareStatement("SELECT " + guard.condition(connection))) {
            guard.bind(statement, 1, new Trusting(election, "first", 0));
            try (var result = statement.executeQuery()) {
                assertThat(result.next() && result.getBoolean(1)).isFalse();
            }
        }
    }

    private static boolean isUnlocked(Connection connection, String election) throws SQLException {
        try (var statement = connection.prepareStatement(
                "SELECT election FROM bellwether_election WHERE election = ? FOR UPDATE SKIP LOCKED")) {
            statement.setString(1, election);
            try (var result = statement.executeQuery()) {
                return result.next();
            }
        } finally {
            connection.rollback();
        }
    }

    private int settle(Connection connection, Mandate mandate) throws SQLException {
        var sql = "UPDATE ledger SET amount = amount + 1 WHERE id = ? AND " + guard.condition(connection);
        try (var statement = connection.prepareStatement(sql)) {
            statement.setInt(1, 1);
            assertThat(guard.bind(statement, 2, mandate)).isEqualTo(4);
            return statement.executeUpdate();
        }
    }

    private static Connection transaction(String uri) throws SQLException {
        var connection = DriverManager.getConnection(uri);
        connection.setAutoCommit(false);
        return connection;
    }

    private Claim claim(String candidate) {
        return claim(election, candidate);
    }

    private static Claim claim(String election, Duration lease) {
        return new Claim(election, "short", UUID.randomUUID().toString(), lease, LONG, 0, Map.of());
    }

    private static Claim claim(String election, String candidate) {
        return new Claim(election, candidate, UUID.randomUUID().toString(), LONG, LONG, 0, Map.of());
    }

    private long acquire(String candidate) {
        return acquire(claim(candidate));
    }

    private long acquire(Claim claim) {
        var answer = store.acquire(claim).toCompletableFuture().join();
        assertThat(answer.granted()).isTrue();
        return answer.view().token();
    }

    /** Lets the lease run out by a renewal, since a short claim is sent only for a short while. */
    private long acquireAndRunOut(String candidate) {
        var claim = claim(candidate);
        var token = acquire(claim);
        var cut = store.renew(List.of(new Lease(claim, token, Duration.ofMillis(1))))
                .get(0)
                .toCompletableFuture()
                .join();
        assertThat(cut.granted()).isTrue();
        Eventually.eventually(
                "the lease runs out",
                PATIENCE,
                () -> store.read(election).toCompletableFuture().join().holder().isEmpty());
        return token;
    }

    private void requireNotGranted(String candidate) {
        var until = System.nanoTime() + WHILE.toNanos();
        do {
            assertThat(tried(candidate).filter(Answer::granted)).isEmpty();
        } while (System.nanoTime() - until < 0);
    }

    /** Tries to acquire; an unknown outcome is no answer. */
    private java.util.Optional<Answer> tried(String candidate) {
        try {
            return java.util.Optional.of(
                    store.acquire(claim(candidate)).toCompletableFuture().join());
        } catch (CompletionException e) {
            assertThat(e).hasCauseInstanceOf(UnavailableException.class);
            return java.util.Optional.empty();
        }
    }

    private CompletionStage<Answer> renewed(Claim claim, long token) {
        return store.renew(List.of(new Lease(claim, token, claim.lease()))).get(0);
    }

    private Mandate mandate(String candidate, long token) {
        return new Trusting(election, candidate, token);
    }
}
