package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.execute;
import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PgBouncer;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** While somebody has locked the table, as ALTER TABLE does, no session goes on waiting for whom nobody waits. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
@Timeout(180)
class LockLimitTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LEASE = Duration.ofSeconds(1);
    /** No attempt waits for an answer longer than 5 s. */
    private static final int MOST_SECONDS = 7;

    private final String table =
            "locked_" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);

    @ParameterizedTest
    @CsvSource({"'', true", "'', false", "prepareThreshold=1, true", "prepareThreshold=0, true"})
    void onPostgresOverADataSource(String parameters, boolean autoCommit) throws Exception {
        var server = PostgresServer.shared();
        noSessionStaysBehind(server.uri(), server.uri() + "&" + parameters, autoCommit);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void onMysqlOverADataSource(boolean autoCommit) throws Exception {
        var server = MysqlFamilyServer.shared(Kind.MYSQL);
        noSessionStaysBehind(server.uri(), server.uri(), autoCommit);
        noSessionStaysBehind(server.uri(), MysqlFamilyServer.uriOfConnectorJ(server.port()), autoCommit);
    }

    @Test
    void onMysqlWithStatementsThatTheServerPrepares() throws Exception {
        var server = MysqlFamilyServer.shared(Kind.MYSQL);
        noSessionStaysBehind(
                server.uri(),
                MysqlFamilyServer.uriOfConnectorJ(server.port()) + "&useServerPrepStmts=true&cachePrepStmts=true",
                true);
    }

    @Test
    void onMariaDbOverADataSource() throws Exception {
        var server = MysqlFamilyServer.shared(Kind.MARIADB_PLAIN);
        noSessionStaysBehind(server.uri(), server.uri(), true);
    }

    @Test
    void onMysqlOverConnectionsOfOurs() throws Exception {
        var uri = MysqlFamilyServer.shared(Kind.MYSQL).uri();
        try (var elections = Elections.connect(uri + (uri.contains("?") ? "&" : "?") + "bellwether.table=" + table)) {
            noSessionStaysBehind(uri, elections);
        }
    }

    /** The weaker lock, as of CREATE INDEX, lets us see that the lease has run out, and claim the seat. */
    @ParameterizedTest
    @ValueSource(strings = {"SHARE", "ACCESS EXCLUSIVE"})
    void onPostgresOverConnectionsOfOursHardlyAnySessionWaits(String mode) throws Exception {
        var uri = PostgresServer.shared().uri();
        try (var elections = Elections.connect(uri + "&bellwether.table=" + table);
                var leader = elections.stand("locked", CandidacyConfig.ofLease(LEASE));
                var locks = DriverManager.getConnection(uri);
                var looks = DriverManager.getConnection(uri)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            locks.setAutoCommit(false);
            execute(locks, "LOCK TABLE " + table + " IN " + mode + " MODE");
            var waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"
                    + table + "%'";
            Eventually.eventually("one waits", PATIENCE, () -> number(looks, waiting) > 0);
            Eventually.throughout(
                    "two wait at most", LEASE.multipliedBy(MOST_SECONDS), () -> number(looks, waiting) <= 2);
            locks.rollback();
            assertThat(leader.await(PATIENCE)).as("free again").isPresent();
        }
    }

    @Test
    void behindAPoolerWhichKeepsNothingOfItInItsSessions() throws Exception {
        var server = PostgresServer.shared();
        try (var bouncer = PgBouncer.before(server, Mode.TRANSACTION, "default_pool_size = 50")) {
            noSessionStaysBehind(server.uri(), bouncer.uri(), true);
            try (var elections = Elections.connect(bouncer.uri() + "&bellwether.table=" + table)) {
                noSessionStaysBehind(server.uri(), elections);
            }
            var all = new ArrayList<Connection>();
            try {
                for (var i = 0; i < 5; i++) {
                    var one = DriverManager.getConnection(bouncer.uri());
                    all.add(one);
                    one.setAutoCommit(false);
                    assertThat(text(one, "SHOW lock_timeout")).isEqualTo("0");
                }
            } finally {
                for (var one : all) {
                    one.close();
                }
            }
        }
    }

    private void noSessionStaysBehind(String direct, String lent, boolean autoCommit) throws Exception {
        var pooled = new HikariConfig();
        pooled.setJdbcUrl(lent);
        pooled.setMaximumPoolSize(2);
        pooled.setAutoCommit(autoCommit);
        var config = SqlConfig.builder().table(table).build();
        try (var pool = new HikariDataSource(pooled);
                var elections = SqlElections.using(pool, config, ElectionsConfig.defaults())) {
            noSessionStaysBehind(direct, elections);
        }
    }

    private void noSessionStaysBehind(String direct, Elections elections) throws Exception {
        try (var leader = elections.stand("locked", CandidacyConfig.ofLease(LEASE));
                var locks = DriverManager.getConnection(direct);
                var looks = DriverManager.getConnection(direct)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var postgres = direct.startsWith("jdbc:postgresql:");
            locks.setAutoCommit(!postgres);
            execute(
                    locks,
                    "LOCK "
                            + (postgres
                                    ? "TABLE " + table + " IN ACCESS EXCLUSIVE MODE"
                                    : "TABLES " + table + " WRITE"));
            var longest = postgres
                    ? "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), -1)::bigint"
                            + " FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" + table + "%'"
                    : "SELECT coalesce(max(time), -1) FROM information_schema.processlist"
                            + " WHERE state LIKE 'Waiting for table%' AND info LIKE '%" + table + "%'";
            Eventually.eventually("one waits", PATIENCE, () -> number(looks, longest) >= 0);
            Eventually.throughout(
                    "no session has waited for long",
                    Duration.ofSeconds(2 * MOST_SECONDS),
                    () -> number(looks, longest) <= MOST_SECONDS);
            if (postgres) {
                locks.rollback();
            } else {
                execute(locks, "UNLOCK TABLES");
            }
            assertThat(leader.await(PATIENCE)).as("free again").isPresent();
        }
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            result.next();
            return result.getString(1);
        }
    }
}
