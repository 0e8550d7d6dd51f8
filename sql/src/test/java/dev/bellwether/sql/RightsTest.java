package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A right that is withdrawn, a password that is changed: the candidacy lives on, and leads again when all is as it was.
 */
class RightsTest {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String table =
            "r" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);
    private final String user = "u" + table;

    @Test
    void aRightOfPostgresThatGoesAndComesBackEndsNoCandidacy() throws Exception {
        var server = PostgresServer.shared();
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE ROLE " + user + " LOGIN");
        var rights = "UPDATE ON " + table;
        var all = "SELECT, INSERT, UPDATE, DELETE ON " + table + ", " + table + "_candidate";
        execute(server.uri(), "GRANT " + all + " TO " + user);
        var uri = server.uri().replace("user=postgres", "user=" + user) + "&bellwether.table=" + table;
        requireLivesOn(
                uri,
                () -> execute(server.uri(), "REVOKE " + rights + " FROM " + user),
                () -> execute(server.uri(), "GRANT " + rights + " TO " + user));
    }

    /** A pool may have its sessions so: none of their writes may go through a whole table. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void electionsAreHeldWithSafeUpdates(Kind kind) throws Exception {
        var session = "&sessionVariables=sql_safe_updates=1";
        var uri = MysqlFamilyServer.shared(kind).uri() + session + "&bellwether.table=" + table;
        var config = CandidacyConfig.builder().lease(LEASE).build();
        try (var elections = Elections.connect(uri);
                var others = Elections.connect(uri)) {
            var first = elections.stand("safe", config);
            assertThat(first.await(PATIENCE)).isPresent();
            var second = others.stand("safe", config);
            Eventually.eventually(
                    "both are listed",
                    PATIENCE,
                    () -> elections.election("safe").candidates().size() == 2);
            first.close();
            assertThat(second.await(PATIENCE)).isPresent();
            elections.election("safe").end();
            elections.election("safe").delete();
        }
    }

    @Test
    void aRoleOfPostgresThatMayNotLogInForAWhileEndsNoCandidacy() throws Exception {
        var server = PostgresServer.shared();
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE ROLE " + user + " LOGIN");
        execute(
                server.uri(),
                "GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + ", " + table + "_candidate TO " + user);
        var uri = server.uri().replace("user=postgres", "user=" + user) + "&bellwether.table=" + table;
        requireLivesOn(
                uri,
                () -> execute(
                        server.uri(),
                        "ALTER ROLE " + user + " NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                + " WHERE usename = '" + user + "'"),
                () -> execute(server.uri(), "ALTER ROLE " + user + " LOGIN"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void aRightOfMariaDbAndMySqlThatGoesAndComesBackEndsNoCandidacy(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE USER " + user + "@'%' IDENTIFIED BY 'geheim'");
        for (var one : new String[] {table, table + "_candidate"}) {
            execute(server.uri(), "GRANT SELECT, INSERT, UPDATE, DELETE ON bellwether." + one + " TO " + user + "@'%'");
        }
        requireLivesOn(
                as(server, "geheim"),
                () -> execute(server.uri(), "REVOKE UPDATE ON bellwether." + table + " FROM " + user + "@'%'"),
                () -> execute(server.uri(), "GRANT UPDATE ON bellwether." + table + " TO " + user + "@'%'"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void aPasswordOfMariaDbAndMySqlThatIsChangedAndChangedBackEndsNoCandidacy(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE USER " + user + "@'%' IDENTIFIED BY 'geheim'");
        for (var one : new String[] {table, table + "_candidate"}) {
            execute(server.uri(), "GRANT SELECT, INSERT, UPDATE, DELETE ON bellwether." + one + " TO " + user + "@'%'");
        }
        requireLivesOn(
                as(server, "geheim"),
                () -> {
                    execute(server.uri(), "ALTER USER " + user + "@'%' IDENTIFIED BY 'anders'");
                    killSessions(server.uri());
                },
                () -> execute(server.uri(), "ALTER USER " + user + "@'%' IDENTIFIED BY 'geheim'"));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void whoMayOnlyReadInMariaDbAndMySqlLooksAndTheGrantThatIsSuggestedLetsItStand(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE USER " + user + "@'%' IDENTIFIED BY 'geheim'");
        for (var one : new String[] {table, table + "_candidate"}) {
            execute(server.uri(), "GRANT SELECT ON bellwether." + one + " TO " + user + "@'%'");
        }
        try (var elections = Elections.connect(as(server, "geheim"))) {
            assertThat(elections.list()).isEmpty();
            assertThat(elections.election("billing").state().candidates()).isEmpty();
            var refused = assertThrows(AccessRefusedException.class, () -> elections.stand("billing"));
            var grants = Pattern.compile("GRANT [^;]+")
                    .matcher(String.valueOf(refused.getMessage()))
                    .results()
                    .map(MatchResult::group)
                    .toList();
            assertThat(grants).hasSize(2);
            for (var grant : grants) {
                execute(server.uri(), grant);
            }
            try (var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void aWrongPasswordIsToldAtOnce(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        execute(server.uri(), "CREATE USER " + user + "@'%' IDENTIFIED BY 'geheim'");
        assertThatThrownBy(() -> Elections.connect(as(server, "anders")))
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("authentication failed")
                .hasMessageNotContaining("anders");
    }

    @Test
    void whoMayNotEnterACandidateOnPostgresIsToldBeforeItStands() throws Exception {
        var server = PostgresServer.shared();
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE ROLE " + user + " LOGIN");
        execute(
                server.uri(),
                "GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO " + user
                        + "; GRANT SELECT, UPDATE, DELETE ON " + table + "_candidate TO " + user);
        requireToldOfARight(
                server.uri().replace("user=postgres", "user=" + user) + "&bellwether.table=" + table,
                "GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + ", " + table + "_candidate TO " + user);
    }

    @Test
    void whoMayNotEnterACandidateOnMariaDbIsToldBeforeItStands() throws Exception {
        var server = MysqlFamilyServer.shared(Kind.MARIADB_PLAIN);
        Elections.connect(server.uri() + "&bellwether.table=" + table).close();
        execute(server.uri(), "CREATE USER " + user + "@'%' IDENTIFIED BY 'geheim'");
        execute(server.uri(), "GRANT SELECT, INSERT, UPDATE, DELETE ON bellwether." + table + " TO " + user + "@'%'");
        execute(server.uri(), "GRANT SELECT, UPDATE, DELETE ON bellwether." + table + "_candidate TO " + user + "@'%'");
        requireToldOfARight(
                as(server, "geheim"),
                "GRANT SELECT, INSERT, UPDATE, DELETE ON bellwether." + table + "_candidate TO '" + user + "'@'%'");
    }

    private static void requireToldOfARight(String uri, String grant) {
        try (var elections = Elections.connect(uri)) {
            assertThatThrownBy(() -> elections.stand("billing"))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining(grant);
        }
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect()) {
            assertThat(store.findings(CandidacyConfig.ofLease(LEASE)))
                    .filteredOn(finding -> finding.about().equals("rights"))
                    .singleElement()
                    .satisfies(rights -> {
                        assertThat(rights.level()).isEqualTo(Finding.Level.ERROR);
                        assertThat(rights.remedy()).contains(grant);
                    });
        }
    }

    private String as(MysqlFamilyServer server, String password) {
        // without TLS, MySQL takes a password under its public key only
        return server.uri().replace("user=root", "user=" + user + "&password=" + password)
                + "&allowPublicKeyRetrieval=true&bellwether.table=" + table;
    }

    private void killSessions(String uri) throws SQLException {
        try (var connection = DriverManager.getConnection(uri);
                var statement = connection.createStatement();
                var sessions = statement.executeQuery(
                        "SELECT id FROM information_schema.processlist WHERE user = '" + user + "'")) {
            while (sessions.next()) {
                execute(uri, "KILL " + sessions.getLong(1));
            }
        }
    }

    /** What an administrator does. */
    private interface Deed {
        void run() throws SQLException;
    }

    private static void requireLivesOn(String uri, Deed withdraw, Deed giveBack) throws Exception {
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("billing", CandidacyConfig.ofLease(LEASE))) {
            for (var round = 0; round < 2; round++) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                withdraw.run();
                Eventually.eventually("the mandate ends", PATIENCE, () -> !mandate.isValid());
                Eventually.throughout("the candidacy lives", LEASE.dividedBy(2), () -> lives(leader));
                giveBack.run();
                assertThat(leader.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
                assertThat(leader.failure()).isEmpty();
            }
        }
    }

    private static boolean lives(Candidacy candidacy) {
        return candidacy.status().phase() != Phase.CLOSED && candidacy.failure().isEmpty();
    }
}
