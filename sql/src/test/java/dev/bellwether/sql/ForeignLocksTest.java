package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A row that is none of ours, and that somebody has locked on MariaDB or MySQL, costs us nothing. */
@Timeout(180)
class ForeignLocksTest {
    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

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

    private static void lock(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            assertThat(result.next()).isTrue();
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
