package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Each error says what to do, and shows no secret. */
class PostgresErrorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final PostgresServer server = PostgresServer.shared();
    private final String table =
            "t" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);
    private final String role = "r" + table;

    @Test
    void aMissingTableThatMayNotBeCreatedIsNamedWithTheWayToCreateIt() {
        assertThatThrownBy(() -> Elections.connect(uri("bellwether.createTable=false")))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("no table " + table)
                .hasMessageContaining("bellwether schema");
    }

    @Test
    void whatTheSchemaPrintsIsAllThatIsNeeded() throws Exception {
        execute(SqlSchema.ddl(ConnectUri.parse(uri(""))));
        try (var elections = Elections.connect(uri("bellwether.createTable=false"));
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aTableInASchemaOfItsOwnWorks() throws Exception {
        execute("CREATE SCHEMA s" + table);
        try (var elections = Elections.connect(
                        server.uri() + "&bellwether.table=s" + table + ".election&bellwether.presence=PT1M");
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aMissingColumnIsNamedWithTheWayToMendIt() throws Exception {
        Elections.connect(uri("")).close();
        execute("ALTER TABLE " + table + " DROP COLUMN era");
        assertThatThrownBy(() -> Elections.connect(uri("")))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("lacks a column")
                .hasMessageContaining("era")
                .hasMessageContaining("bellwether schema");
    }

    @Test
    void aTableFromBeforeHandOversIsFixedByTheStatementInTheMessage() throws Exception {
        Elections.connect(uri("")).close();
        execute("ALTER TABLE " + table + " DROP COLUMN note");
        var refused = assertThrows(ElectionException.class, () -> Elections.connect(uri("")));
        var statement = "ALTER TABLE " + table + " ADD COLUMN note text";
        assertThat(refused).hasMessageContaining(statement);
        execute(statement);
        try (var elections = Elections.connect(uri(""));
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aMissingRightIsNamedWithTheGrantThatGivesIt() throws Exception {
        Elections.connect(uri("")).close();
        execute("CREATE ROLE " + role + " LOGIN; GRANT SELECT ON " + table + ", " + table + "_candidate TO " + role);
        try (var elections = Elections.connect(as(role))) {
            var refused = assertThrows(ElectionException.class, () -> elections.stand("billing"));
            assertThat(refused).isNotInstanceOf(UnavailableException.class);
            assertThat(elections.list()).as("who may read may look").isEmpty();
            assertThat(elections.election("billing").leader()).isEmpty();
            execute(suggested(refused));
            try (var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
        }
    }

    @Test
    void whoMayNotEvenReadIsToldSoAtOnceWithTheGrantThatGivesIt() throws Exception {
        Elections.connect(uri("")).close();
        execute("CREATE ROLE " + role + " LOGIN");
        var refused = assertThrows(ElectionException.class, () -> Elections.connect(as(role)));
        assertThat(refused).isInstanceOf(AccessRefusedException.class).hasMessageContaining("SELECT is enough");
        execute(suggested(refused));
        try (var elections = Elections.connect(as(role));
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    /** Returns the SQL in a message, as a person would copy it. */
    private static String suggested(ElectionException refused) {
        var matcher = Pattern.compile("GRANT [^;]+;").matcher(String.valueOf(refused.getMessage()));
        assertThat(matcher.find()).as(refused.getMessage()).isTrue();
        return matcher.group();
    }

    @Test
    void aRightThatIsTakenAwayPermanentlyEndsTheCandidacyWithTheSameWords() throws Exception {
        Elections.connect(uri("")).close();
        execute("CREATE ROLE " + role + " LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + ", " + table
                + "_candidate TO " + role);
        var events = new EventLog();
        try (var elections = Elections.connect(as(role));
                var leader = elections.stand(
                        "billing",
                        CandidacyConfig.ofLease(Duration.ofSeconds(1)).toBuilder()
                                .accessPatience(Duration.ofSeconds(2))
                                .listener(events)
                                .build())) {
            assertThat(leader.await(PATIENCE)).isPresent();
            execute("REVOKE UPDATE ON " + table + " FROM " + role);
            assertThatThrownBy(leader::awaitClose).isInstanceOf(ElectionException.class);
        }
        assertThat(events.count(LeadershipEvent.Failed.class)).isEqualTo(1);
    }

    @Test
    void aReadOnlyDatabaseIsNamedWithTheWayToThePrimary() throws Exception {
        makeReadOnlyRole();
        try (var elections = Elections.connect(as(role))) {
            assertThatThrownBy(() -> elections.stand("billing"))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("read-only")
                    .hasMessageContaining("targetServerType=primary");
            assertThat(elections.list()).as("one may look").isEmpty();
        }
    }

    /** As while a fail-over is under way: the address leads to a standby, and then to the new primary. */
    @Test
    void aDatabaseThatIsReadOnlyWhenACandidateIsConnectedLazilyEndsNoCandidacy() throws Exception {
        makeReadOnlyRole();
        var unanswered = new AtomicInteger();
        var config = ElectionsConfig.builder()
                .connectLazily(true)
                .metrics(new Metrics() {
                    @Override
                    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                        unanswered.incrementAndGet();
                    }
                })
                .build();
        try (var elections = Elections.connect(as(role), config);
                var leader = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(2)))) {
            Eventually.eventually(
                    "it has claimed in vain, or has failed",
                    PATIENCE,
                    () -> unanswered.get() > 0 || leader.failure().isPresent());
            assertThat(leader.failure()).isEmpty();
            execute("ALTER ROLE " + role + " RESET default_transaction_read_only;"
                    + " SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + role + "'");
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    private void makeReadOnlyRole() throws SQLException {
        Elections.connect(uri("")).close();
        execute("CREATE ROLE " + role + " LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + ", " + table
                + "_candidate TO " + role + "; ALTER ROLE " + role + " SET default_transaction_read_only = on");
    }

    @Test
    void aDatabaseThatIsNotThereIsNoReasonToTryAgain() {
        var uri = server.uri().replace("/postgres?", "/nowhere?") + "&password=geheim123";
        assertThatThrownBy(() -> Elections.connect(uri))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("nowhere")
                .hasMessageNotContaining("geheim123");
    }

    @Test
    void aServerThatIsNotThereIsAReasonToTryAgain() throws Exception {
        var port = Ports.free();
        assertThatThrownBy(() -> Elections.connect(PostgresServer.uri(port) + "&password=geheim123"))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining(Integer.toString(port))
                .hasMessageNotContaining("geheim123");
    }

    @Test
    void anUnknownDriverIsNamedWithWhatToAdd() throws SQLException {
        var driver = DriverManager.getDriver("jdbc:mysql://127.0.0.1/app");
        DriverManager.deregisterDriver(driver);
        try {
            assertThatThrownBy(() -> Elections.connect("jdbc:mysql://127.0.0.1/app?password=geheim123"))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("com.mysql:mysql-connector-j")
                    .hasMessageNotContaining("geheim123");
        } finally {
            DriverManager.registerDriver(driver);
        }
        assertThatThrownBy(() -> Elections.connect("jdbc:oracle:thin:@//127.0.0.1/app"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("jdbc:postgresql:");
    }

    @Test
    void aWrongSettingIsNamedWithWhatIsRight() {
        assertThatThrownBy(() -> Elections.connect(uri("bellwether.tabel=x")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("bellwether.tabel")
                .hasMessageContaining("bellwether.table");
        assertThatThrownBy(() -> Elections.connect(server.uri() + "&bellwether.table=a-b"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("\"a-b\"");
        assertThatThrownBy(() -> Elections.connect(uri("bellwether.poll=5")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("500ms");
        assertThatThrownBy(() -> Elections.connect(uri("bellwether.poll=PT0.001S")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("10ms");
        assertThatThrownBy(() -> Elections.connect(uri("bellwether.listen=yes")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("true or false");
    }

    private String uri(String more) {
        return server.uri() + "&bellwether.table=" + table + (more.isEmpty() ? "" : "&" + more);
    }

    private String as(String user) {
        return uri("").replace("user=postgres", "user=" + user);
    }

    private void execute(String sql) throws SQLException {
        Sql.execute(server.uri(), sql);
    }
}
