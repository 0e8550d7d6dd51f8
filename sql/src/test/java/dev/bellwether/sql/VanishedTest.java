package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A process that vanishes without a word between two statements of a transaction of ours. */
class VanishedTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final String election = "vanished-" + UUID.randomUUID();

    @Test
    void itHoldsUpASeatOfPostgresForSecondsOnly() throws Exception {
        requireHeldUpForSecondsOnly(
                PostgresServer.shared().uri(), new PostgresSeats(SqlConfig.defaults(), "bellwether_0", "nobody"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void itHoldsUpASeatOfMariaDbAndMySqlForSecondsOnly(Kind kind) throws Exception {
        requireHeldUpForSecondsOnly(
                MysqlFamilyServer.shared(kind).uri(), new SeatTable(Dialect.MARIADB, SqlConfig.defaults()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void itHoldsUpASeatOfMariaDbAndMySqlForSecondsOnlyOnAnyConnection(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        requireHeldUpForSecondsOnly(
                uri, new SeatTable(Dialect.MARIADB, SqlConfig.defaults()), () -> DriverManager.getConnection(uri));
    }

    private interface Opener {
        Connection open() throws SQLException;
    }

    private void requireHeldUpForSecondsOnly(String uri, SeatTable seats) throws Exception {
        requireHeldUpForSecondsOnly(
                uri, seats, () -> Source.of(ConnectUri.parse(uri)).open(PATIENCE));
    }

    private void requireHeldUpForSecondsOnly(String uri, SeatTable seats, Opener opener) throws Exception {
        var parsed = ConnectUri.parse(uri);
        try (var store = (LeaseStore) parsed.connect()) {
            var first = claim("first");
            assertThat(store.acquire(first).toCompletableFuture().join().granted())
                    .isTrue();
            assertThat(store.release(first).toCompletableFuture().join().granted())
                    .isTrue();
            try (var vanished = opener.open()) {
                seats.begin(vanished);
                try (var statement = vanished.createStatement();
                        var row = statement.executeQuery(
                                "SELECT 1 FROM bellwether_election WHERE election = '" + election + "' FOR UPDATE")) {
                    assertThat(row.next()).isTrue();
                }
                assertThat(granted(store)).isFalse();
                Eventually.eventually("the seat is granted", PATIENCE, () -> granted(store));
            }
        }
    }

    private boolean granted(LeaseStore store) {
        try {
            return store.acquire(claim("second")).toCompletableFuture().join().granted();
        } catch (CompletionException e) {
            return false; // unknown
        }
    }

    private Claim claim(String candidate) {
        return new Claim(
                election,
                candidate,
                UUID.randomUUID().toString(),
                Duration.ofMinutes(1),
                Duration.ofMinutes(1),
                0,
                Map.of());
    }
}
