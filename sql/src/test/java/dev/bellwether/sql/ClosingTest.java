package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is left of those who close, orders that meet a lock, and leases of months. */
class ClosingTest {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration LONG = Duration.ofDays(90);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private static Path folder;

    private final String election = "closing-" + UUID.randomUUID();

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:closing;DB_CLOSE_DELAY=-1",
                "jdbc:sqlite:" + folder.resolve("closing.db"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0.5S", "PT10M"})
    void whoClosesDuringAnOutageIsNotListedForTheLifeOfTheProcess(String presence) throws Exception {
        var server = PostgresServer.shared();
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var elections =
                        Elections.connect(PostgresServer.uri(link.port()) + "&bellwether.presence=" + presence);
                var observers = Elections.connect(server.uri());
                var stays = elections.stand(
                        election,
                        CandidacyConfig.ofLease(LEASE).toBuilder()
                                .candidate("stays")
                                .build())) {
            assertThat(stays.await(PATIENCE)).isPresent();
            var goes = elections.stand(
                    election,
                    CandidacyConfig.ofLease(LEASE).toBuilder().candidate("goes").build());
            var observed = observers.election(election);
            Eventually.eventually(
                    "both are listed", PATIENCE, () -> observed.candidates().size() == 2);
            link.refuse();
            link.reset();
            goes.close();
            link.heal();
            Eventually.eventually(
                    "one is listed",
                    PATIENCE,
                    () -> observed.candidates().stream()
                            .noneMatch(one -> one.id().equals("goes")));
            Eventually.throughout(
                    "and no ghost comes back",
                    LEASE.multipliedBy(2),
                    () -> observed.candidates().stream()
                            .noneMatch(one -> one.id().equals("goes")));
            Eventually.eventually(
                    "who stays is listed",
                    PATIENCE,
                    () -> observed.candidates().stream()
                            .anyMatch(one -> one.id().equals("stays")));
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aCloserThatIsInterruptedLetsWhatWasSubmittedBeFinished(String uri) {
        var finished = 0;
        for (var round = 0; round < 20; round++) {
            var store = (LeaseStore) ConnectUri.parse(uri).connect();
            var claims = new ArrayList<Claim>();
            for (var i = 0; i < 20; i++) {
                claims.add(claim(election + "-" + round + "-" + i, "c", Duration.ofMinutes(5)));
            }
            claims.stream()
                    .map(store::acquire)
                    .toList()
                    .forEach(answer -> assertThat(granted(answer)).isTrue());
            var released = claims.stream().map(store::release).toList();
            Thread.currentThread().interrupt();
            var began = System.nanoTime();
            store.close();
            var took = System.nanoTime() - began;
            assertThat(Thread.interrupted()).as("still interrupted").isTrue();
            if (took < TimeUnit.MILLISECONDS.toNanos(RequestQueue.CLOSE_MILLIS)) { // it waits for no longer than that
                released.forEach(answer -> assertThat(granted(answer)).isTrue());
                finished++;
            }
        }
        assertThat(finished).as("rounds that this machine had time to finish").isPositive();
    }

    @ParameterizedTest
    @MethodSource("databases")
    void anOrderWaitsForALockedRow(String uri) throws Exception {
        var isPostgres = uri.startsWith("jdbc:postgresql:");
        try (var store = (LeaseStore) ConnectUri.parse(uri + (isPostgres ? "&ApplicationName=" + election : ""))
                .connect()) {
            assertThat(granted(store.acquire(claim(election, "c", LEASE)))).isTrue();
            try (var locking = DriverManager.getConnection(uri);
                    var statement = locking.createStatement()) {
                if (uri.startsWith("jdbc:sqlite:")) {
                    statement.execute("BEGIN IMMEDIATE");
                } else {
                    locking.setAutoCommit(false);
                    statement.executeQuery(
                            "SELECT 1 FROM bellwether_election WHERE election = '" + election + "' FOR UPDATE");
                }
                var ended = store.order(election, Order.END).toCompletableFuture();
                var sessions = new HashSet<Integer>();
                Eventually.throughout("it waits", Duration.ofSeconds(2), () -> {
                    if (isPostgres) {
                        sessions.addAll(sessions(uri));
                    }
                    return !ended.isDone();
                });
                assertThat(sessions).hasSize(isPostgres ? 1 : 0);
                if (uri.startsWith("jdbc:sqlite:")) {
                    statement.execute("ROLLBACK");
                } else {
                    locking.rollback();
                }
                assertThat(ended.join()).isTrue();
            }
            assertThat(store.read(election).toCompletableFuture().join().ended())
                    .isTrue();
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aLeaseOfMonthsIsServedLikeAnyOther(String uri) {
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect()) {
            var claim = claim(election, "c", LONG);
            assertThat(granted(store.acquire(claim))).isTrue();
            assertThat(granted(store.renew(List.of(new dev.bellwether.spi.Lease(claim, 1, LONG)))
                            .get(0)))
                    .isTrue();
            assertThat(granted(store.release(claim))).isTrue();
        }
    }

    private List<Integer> sessions(String uri) {
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.createStatement();
                var result = statement.executeQuery(
                        "SELECT pid FROM pg_stat_activity WHERE application_name = '" + election + "'")) {
            var sessions = new ArrayList<Integer>();
            while (result.next()) {
                sessions.add(result.getInt(1));
            }
            return sessions;
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean granted(CompletionStage<Answer> answer) {
        return answer.toCompletableFuture().join().granted();
    }

    private static Claim claim(String election, String candidate, Duration lease) {
        return new Claim(election, candidate, UUID.randomUUID().toString(), lease, lease, 0, Map.of());
    }
}
