package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What elections cost a PostgreSQL, by its own count of statements. */
class PostgresCostTest {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final Duration A_WHILE = Duration.ofSeconds(4);

    private final PostgresServer server = PostgresServer.shared();

    @BeforeEach
    void count() throws SQLException {
        execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    }

    @Test
    void aThousandElectionsAreHeldOverTwoConnectionsByAFewStatementsASecond() throws Exception {
        try (var pool = pool(2);
                var elections = SqlElections.using(pool)) {
            var names = "many-" + UUID.randomUUID() + "-";
            var leaders = stand(elections, 1_000, i -> names + i);
            for (var leader : leaders) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
            awaitQuiet();
            var before = statements();
            Eventually.throughout("they lead", A_WHILE, () -> leaders.stream().allMatch(Candidacy::isLeader));
            assertThat(statements() - before).isLessThanOrEqualTo(3 * A_WHILE.toSeconds());
        }
    }

    @Test
    void aThousandElectionsBeginWithAStatementEachForTheirCandidatesAndAFewMore() throws Exception {
        try (var elections = Elections.connect(server.uri())) {
            var names = "begin-" + UUID.randomUUID() + "-";
            awaitQuiet();
            var before = statements();
            var leaders = stand(elections, 1_000, i -> names + i);
            for (var leader : leaders) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
            assertThat(statements() - before).isLessThan(1_000 + 200);
        }
    }

    @Test
    void idleStandbysSendNothing() throws Exception {
        var election = "idle-" + UUID.randomUUID();
        try (var one = Elections.connect(server.uri());
                var other = Elections.connect(server.uri());
                var leader = one.stand(election, CandidacyConfig.ofLease(LEASE))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var standbys = List.of(stand(one, 20, i -> election), stand(other, 20, i -> election)).stream()
                    .flatMap(List::stream)
                    .toList();
            standbys.forEach(standby -> Eventually.eventually(
                    "it follows",
                    PATIENCE,
                    () -> standby.status().following().equals(Optional.of(leader.candidate()))));
            awaitQuiet();
            var before = statements();
            Eventually.throughout("they wait", A_WHILE, () -> standbys.stream().noneMatch(Candidacy::isLeader));
            assertThat(statements() - before).isLessThanOrEqualTo(1); // the leader's renewal
        }
    }

    /** Waits until what belongs to the beginning is over. */
    private void awaitQuiet() {
        var last = new long[] {statements(), System.nanoTime()};
        Eventually.eventually("a second without a statement", PATIENCE, () -> {
            var now = statements();
            if (now != last[0]) {
                last[0] = now;
                last[1] = System.nanoTime();
            }
            return System.nanoTime() - last[1] > Duration.ofSeconds(1).toNanos();
        });
    }

    private static List<Candidacy> stand(Elections elections, int count, java.util.function.IntFunction<String> name) {
        return IntStream.range(0, count)
                .mapToObj(i -> elections.stand(name.apply(i), CandidacyConfig.ofLease(LEASE)))
                .toList();
    }

    private HikariDataSource pool(int size) {
        var config = new HikariConfig();
        config.setJdbcUrl(server.uri());
        config.setMaximumPoolSize(size);
        return new HikariDataSource(config);
    }

    /** Those that are sent by others than this test. */
    private long statements() {
        try (var connection = server.connect();
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"
                        + " WHERE query LIKE '%bellwether%' OR query LIKE 'BEGIN%' OR query LIKE 'COMMIT%'")) {
            result.next();
            return result.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private void execute(String sql) throws SQLException {
        Sql.execute(server.uri(), sql);
    }
}
