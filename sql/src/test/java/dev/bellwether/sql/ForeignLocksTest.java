package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.execute;
import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A row that is none of ours, and that somebody has locked on MariaDB or MySQL, costs us nothing. */
@Timeout(180)
class ForeignLocksTest {
    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LONGEST = Duration.ofSeconds(3);
    private static final Pattern WAITING = Pattern.compile("TRX HAS BEEN WAITING (\\d+) (\\w+)");

    private final String table =
            "foreign_" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);

    /** A process that holds most of the rows must not look for its own in all of them. */
    @ParameterizedTest
    @CsvSource({"MARIADB_PLAIN, 8", "MYSQL, 40"})
    void renewalsOfMostRowsOfATableLockNoOther(Kind kind, int seats) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        try (var store = (LeaseStore) ConnectUri.parse(server.uri() + "&bellwether.table=" + table)
                        .connect();
                var other = server.connect()) {
            var leases = IntStream.range(0, seats)
                    .mapToObj(i -> new Claim("own-" + i, "one", "n" + i, LEASE, LEASE, 0, Map.of()))
                    .map(claim -> new Lease(claim, token(store, claim), LEASE))
                    .toList();
            execute(other, "INSERT INTO " + table + " (election) VALUES ('foreign')");
            other.setAutoCommit(false);
            lock(other, "SELECT 1 FROM " + table + " WHERE election = 'foreign' FOR UPDATE");
            for (var answer : store.renew(leases)) {
                assertThat(answer.toCompletableFuture()
                                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                                .join()
                                .granted())
                        .isTrue();
            }
            other.rollback();
        }
    }

    private static long token(LeaseStore store, Claim claim) {
        var answer = store.acquire(claim).toCompletableFuture().join();
        assertThat(answer.granted()).isTrue();
        return answer.view().token();
    }

    /** Those who gave no sign are forgotten without a look at the rows of all others under a lock. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void whoIsForgottenIsFoundWithoutAWaitForOthers(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        var candidates = table + "_candidate";
        try (var elections =
                        Elections.connect(server.uri() + "&bellwether.table=" + table + "&bellwether.presence=2s");
                var leader = elections.stand("own", unhurried());
                var other = server.connect();
                var looks = server.connect()) {
            assertThat(leader.await(PATIENCE)).isPresent();
            execute(other, listed(candidates, "foreign", "9000000000000000000"));
            execute(other, listed(candidates, "gone", "0"));
            other.setAutoCommit(false);
            lock(other, "SELECT 1 FROM " + candidates + " WHERE election = 'foreign' FOR UPDATE");
            var mandate = leader.await(PATIENCE).orElseThrow();
            Eventually.eventually("it is forgotten", PATIENCE, () -> {
                assertThat(longestWait(looks, candidates))
                        .as("for how long a session of ours waits")
                        .isLessThan(LONGEST);
                return number(looks, "SELECT COUNT(*) FROM " + candidates + " WHERE election = 'gone'") == 0;
            });
            assertThat(mandate.isValid()).isTrue();
            other.rollback();
        }
    }

    /** Returns for how long a statement about this table waits at this moment; MySQL counts it in seconds. */
    private static Duration longestWait(Connection looks, String table) {
        try {
            return MysqlFamilyServer.waiting(looks).stream()
                    .filter(one -> one.contains(table))
                    .map(WAITING::matcher)
                    .filter(Matcher::find)
                    .map(found -> Duration.of(
                            Long.parseLong(found.group(1)),
                            found.group(2).equals("SEC") ? ChronoUnit.SECONDS : ChronoUnit.MICROS))
                    .max(Comparator.naturalOrder())
                    .orElse(Duration.ZERO);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** It renews often, and outlasts the stalls of a busy machine. */
    private static CandidacyConfig unhurried() {
        return CandidacyConfig.builder()
                .lease(Duration.ofSeconds(12))
                .renewInterval(Duration.ofSeconds(1))
                .build();
    }

    private static String listed(String candidates, String election, String until) {
        return "INSERT INTO " + candidates + " (election, candidate, priority, metadata, until_at) VALUES ('" + election
                + "', 'c', 0, '', " + until + ")";
    }

    private static void lock(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            assertThat(result.next()).isTrue();
        }
    }
}
