package dev.bellwether.sql;

import static dev.bellwether.fixtures.Doctor.only;
import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.faults.SteppedClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.replication.LogSequenceNumber;

/** Each finding, on a database that is set so. */
@Timeout(180)
class SqlDoctorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path folder;

    @Test
    void lengthsOfVacanciesAreSumsOfWhatTheyAreMadeOf() {
        var polled = find("jdbc:sqlite:" + folder.resolve("a.db"));

        assertThat(only(polled, "crash").terms())
                .containsExactly(
                        new Finding.Term("lease", Duration.ofMillis(2_400)),
                        new Finding.Term("retry", Duration.ofMillis(240)));
        assertThat(only(polled, "crash").says()).contains("2640 ms at most", "lease 2400 ms + retry 240 ms");
        assertThat(only(polled, "hand-over").terms())
                .containsExactly(
                        new Finding.Term("stand-down budget", Duration.ofMillis(480)),
                        new Finding.Term("poll", Duration.ofMillis(100)));
        assertThat(only(polled, "news").says()).contains("poll, every 100 ms");
        var told = find(PostgresServer.shared().uri());
        assertThat(only(told, "hand-over").terms())
                .containsExactly(new Finding.Term("stand-down budget", Duration.ofMillis(480)));
        assertThat(only(told, "clock").says()).contains("clock of the database is");
    }

    @Test
    void postgresThatDoesNotSyncVoidsTheTokens() {
        assertThat(only(find(PostgresServer.shared().uri()), "durability").level())
                .isEqualTo(Finding.Level.ERROR);
        try (var server = PostgresServer.start("on")) {
            assertThat(only(find(server.uri()), "durability").level()).isEqualTo(Finding.Level.OK);
        }
    }

    @Test
    void postgresReplicationIsToldByWhetherCommitsWaitForIt() throws SQLException {
        var server = PostgresServer.shared();
        assertThat(only(find(server.uri()), "replication").says()).contains("none is seen");

        var properties = new Properties();
        properties.setProperty("replication", "true");
        properties.setProperty("assumeMinServerVersion", "13");
        properties.setProperty("preferQueryMode", "simple");
        try (var standby = DriverManager.getConnection(server.uri(), properties);
                var stream = standby.unwrap(PGConnection.class)
                        .getReplicationAPI()
                        .replicationStream()
                        .physical()
                        .withStartPosition(LogSequenceNumber.valueOf(position(server)))
                        .start()) {
            assertThat(stream.isClosed()).isFalse();
            var found = only(find(server.uri()), "replication");
            assertThat(found.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(found.says()).contains("1 standbys, all asynchronous");
            assertThat(found.remedy()).contains("synchronous_standby_names");
        }
        // Connected first, since what changes anything waits for the standby that is not there.
        var backend = ConnectUri.parse(server.uri()).connect();
        try (var connection = server.connect()) {
            set(connection, "synchronous_standby_names", "nobody");
            try {
                var found = only(backend.findings(config()), "replication");
                assertThat(found.level()).isEqualTo(Finding.Level.WARNING);
                assertThat(found.says()).contains("synchronous, to nobody", "nobody can be elected");
            } finally {
                set(connection, "synchronous_standby_names", "");
            }
        } finally {
            backend.close();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void mariadbOrMysqlThatDoesNotSyncVoidsTheTokens(Kind kind) throws SQLException {
        var server = MysqlFamilyServer.shared(kind);
        try (var connection = server.connect()) {
            var found = only(find(server.uri()), "durability");
            assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(found.says()).contains("innodb_flush_log_at_trx_commit is 2");
            execute(connection, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
            try {
                if (kind == Kind.MYSQL) { // it keeps a binary log unless told otherwise
                    requireSyncedLog(connection, server.uri());
                } else {
                    assertThat(only(find(server.uri()), "durability").level()).isEqualTo(Finding.Level.OK);
                }
            } finally {
                execute(connection, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
            }
        }
    }

    /** With a binary log InnoDB does not flush at commit: the log decides at a restart what was committed. */
    private static void requireSyncedLog(Connection connection, String uri) throws SQLException {
        var found = only(find(uri), "durability");
        assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(found.says()).contains("sync_binlog is 0");
        execute(connection, "SET GLOBAL sync_binlog = 1");
        try {
            assertThat(only(find(uri), "durability").level()).isEqualTo(Finding.Level.OK);
        } finally {
            execute(connection, "SET GLOBAL sync_binlog = 0");
        }
    }

    @Test
    void mariadbReplicationIsToldByWhetherCommitsWaitForIt() throws SQLException {
        var server = MysqlFamilyServer.shared(Kind.MARIADB_PLAIN);
        assertThat(only(find(server.uri()), "replication").says()).startsWith("none");
        try (var connection = server.connect()) {
            execute(connection, "SET GLOBAL rpl_semi_sync_master_enabled = 1");
            try {
                var seenEarly = only(find(server.uri()), "replication");
                assertThat(seenEarly.level()).isEqualTo(Finding.Level.WARNING);
                assertThat(seenEarly.says()).contains("AFTER_COMMIT", "two may lead");
                execute(connection, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC");
                var forAWhile = only(find(server.uri()), "replication");
                assertThat(forAWhile.level()).isEqualTo(Finding.Level.WARNING);
                assertThat(forAWhile.says()).contains("after 10000 ms without a replica");
                execute(connection, "SET GLOBAL rpl_semi_sync_master_timeout = 4294967295");
                assertThat(only(find(server.uri()), "replication").level()).isEqualTo(Finding.Level.OK);
                execute(connection, "SET GLOBAL rpl_semi_sync_master_wait_no_slave = 0");
                var withReplicas = only(find(server.uri()), "replication");
                assertThat(withReplicas.level()).isEqualTo(Finding.Level.WARNING);
                assertThat(withReplicas.says()).contains("too few replicas", "two may lead");
            } finally {
                execute(connection, "SET GLOBAL rpl_semi_sync_master_wait_no_slave = 1");
                execute(connection, "SET GLOBAL rpl_semi_sync_master_enabled = 0");
                execute(connection, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_COMMIT");
                execute(connection, "SET GLOBAL rpl_semi_sync_master_timeout = 10000");
            }
        }
        try (var logging = MysqlFamilyServer.start(
                        Kind.MARIADB_PLAIN, "--log-bin=log", "--innodb-flush-log-at-trx-commit=1");
                var connection = logging.connect()) {
            assertThat(only(find(logging.uri()), "replication").level()).isEqualTo(Finding.Level.WARNING);
            requireSyncedLog(connection, logging.uri()); // MariaDB's default is 0
        }
    }

    @Test
    void mysqlReplicationIsToldByWhetherCommitsWaitForIt() throws SQLException {
        try (var server = MysqlFamilyServer.start(Kind.MYSQL);
                var connection = server.connect()) {
            var logged = only(find(server.uri()), "replication"); // it keeps a binary log unless told otherwise
            assertThat(logged.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(logged.says()).contains("binary log", "two may lead");
            execute(connection, "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
            execute(connection, "SET GLOBAL rpl_semi_sync_source_enabled = 1");
            var forAWhile = only(find(server.uri()), "replication");
            assertThat(forAWhile.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(forAWhile.says()).contains("after 10000 ms without a replica");
            execute(connection, "SET GLOBAL rpl_semi_sync_source_timeout = 4294967295");
            assertThat(only(find(server.uri()), "replication").level()).isEqualTo(Finding.Level.OK);
            execute(connection, "SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT");
            var seenEarly = only(find(server.uri()), "replication");
            assertThat(seenEarly.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(seenEarly.says()).contains("AFTER_COMMIT", "two may lead");

            execute(connection, "INSTALL PLUGIN group_replication SONAME 'group_replication.so'");
            execute(connection, "SET GLOBAL group_replication_group_name = '" + UUID.randomUUID() + "'");
            var onePrimary = only(find(server.uri()), "replication");
            assertThat(onePrimary.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(onePrimary.says()).contains("Group Replication");
            execute(connection, "SET GLOBAL group_replication_enforce_update_everywhere_checks = OFF");
            execute(connection, "SET GLOBAL group_replication_single_primary_mode = OFF");
            var manyPrimaries = only(find(server.uri()), "replication");
            assertThat(manyPrimaries.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(manyPrimaries.says()).contains("multi-primary", "two may lead");
        }
    }

    @Test
    void galeraIsAnError() {
        var found = replication(Map.of("wsrep_on", "ON"));
        assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(found.says()).contains("Galera", "two may lead");
    }

    @ParameterizedTest
    @CsvSource({"master,wait_no_slave", "source,wait_for_no_replica"})
    void semiSynchronousReplicationThatIsOffAtPresentIsAWarning(String primary, String wait) {
        var variables = new HashMap<>(Map.of(
                "rpl_semi_sync_" + primary + "_enabled", "ON",
                "rpl_semi_sync_" + primary + "_wait_point", "AFTER_SYNC",
                "rpl_semi_sync_" + primary + "_timeout", "4294967295",
                "rpl_semi_sync_" + primary + "_" + wait, "ON",
                "Rpl_semi_sync_" + primary + "_status", "ON"));
        assertThat(replication(variables).level()).isEqualTo(Finding.Level.OK);
        variables.put("Rpl_semi_sync_" + primary + "_status", "OFF");
        assertThat(replication(variables).level()).isEqualTo(Finding.Level.WARNING);
        assertThat(replication(variables).says()).contains("off at present", "two may lead");
        variables.put("rpl_semi_sync_" + primary + "_" + wait, "OFF");
        assertThat(replication(variables).says()).contains("too few replicas", "two may lead");
    }

    private static Finding replication(Map<String, String> variables) {
        return SqlDoctor.replication(
                name -> Optional.ofNullable(variables.get(name)), name -> Optional.ofNullable(variables.get(name)));
    }

    @Test
    void theClocksOfAllNodesThatTheAddressNamesAreAsked() {
        try (var other = PostgresServer.start()) {
            var both = PostgresServer.shared().uri().replace("/postgres?", ",127.0.0.1:" + other.port() + "/postgres?")
                    + "&targetServerType=primary";
            assertThat(only(find(both), "clocks").level()).isEqualTo(Finding.Level.OK);
            var clock = folder.resolve("clock");
            SteppedClock.set(clock, Duration.ofSeconds(-30));
            other.restart(SteppedClock.environmentOfServer(clock, Scripts.where("libfaketime")));
            var apart = only(find(both), "clocks");
            assertThat(apart.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(apart.says()).contains("ms apart", "two may lead");
            other.kill();
            var silent = only(find(both), "clocks");
            assertThat(silent.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(silent.says()).contains("127.0.0.1:" + other.port());
            other.startAgain();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mysql://sandy:secret@h1:1111,sandy:secret@h2:2222/db",
                "jdbc:mysql://sandy:secret@[h1:1111,h2:2222]/db",
                "jdbc:mysql://sandy:sec,ret@h1:1111,h2:2222/db",
                "jdbc:mysql://[sandy:secret@h1:1111,h2:2222]/db"
            })
    void namesOfNodesHoldNoPassword(String uri) {
        assertThat(Source.of(ConnectUri.parse(uri)).nodes())
                .extracting(Source.Node::name)
                .noneMatch(name -> name.contains("sec") || name.contains("ret"));
    }

    @Test
    void nodesAreNamedByHostAndPort() {
        assertThat(Source.of(ConnectUri.parse("jdbc:mysql://sandy:secret@h1:1111,sandy:secret@[::1]:2222/db"))
                        .nodes())
                .extracting(Source.Node::name)
                .containsExactly("h1:1111", "[::1]:2222");
    }

    @Test
    void h2MustWriteBeforeItAnswersAndToAFile() {
        var file = "jdbc:h2:" + folder.resolve("h2");
        assertThat(only(find(file), "durability").level()).isEqualTo(Finding.Level.WARNING);
        assertThat(only(find(file), "durability").says()).contains("when its process is killed");
        var late = only(find(file + "late;WRITE_DELAY=500"), "durability");
        assertThat(late.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(late.says()).contains("WRITE_DELAY is 500 ms");
        assertThat(only(find("jdbc:h2:mem:checkup"), "durability").says()).contains("memory of one process");
    }

    @Test
    void sqliteMustSyncItsFile() {
        var file = "jdbc:sqlite:" + folder.resolve("sync.db");
        assertThat(only(find(file), "durability").level()).isEqualTo(Finding.Level.OK);
        assertThat(only(find(file), "replication").says()).contains("processes of this machine");
        var lax = only(find(file + "?synchronous=NORMAL"), "durability");
        assertThat(lax.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(lax.remedy()).contains("synchronous=FULL");
    }

    @Test
    void aDatabaseInMemoryIsNoneThatKeepsTokens() throws Exception {
        try (var server = new H2Server(folder)) {
            var remote = "jdbc:h2:tcp://127.0.0.1:" + server.port() + "/mem:checkup;DB_CLOSE_DELAY=-1";
            var found = only(find(remote), "durability");
            assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(found.says()).contains("memory of one process");
        }
        var shared = "jdbc:sqlite:file:checkup?mode=memory&cache=shared";
        try (var keeps = DriverManager.getConnection(shared)) {
            assertThat(keeps.isClosed()).isFalse();
            var found = only(find(shared), "durability");
            assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(found.says()).contains("memory of one process");
        }
    }

    static Stream<String> databasesThatShowWhatIsNotCommitted() {
        return Stream.of(
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:uncommitted;DB_CLOSE_DELAY=-1");
    }

    @ParameterizedTest
    @MethodSource("databasesThatShowWhatIsNotCommitted")
    void whoReadsWhatIsNotCommittedIsTold(String uri) {
        var lends = new HikariConfig();
        lends.setJdbcUrl(uri);
        lends.setMaximumPoolSize(2);
        lends.setTransactionIsolation("TRANSACTION_READ_UNCOMMITTED");
        try (var pool = new HikariDataSource(lends)) {
            var store = SqlLeaseStore.open(Source.of(pool), SqlConfig.defaults());
            try {
                var found = only(store.findings(config()), "isolation");
                assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
                assertThat(found.says()).contains("READ UNCOMMITTED", "two may lead");
            } finally {
                store.close();
            }
        }
        assertThat(find(uri)).noneMatch(found -> found.about().equals("isolation"));
    }

    private static List<Finding> find(String uri) {
        return Doctor.find(uri, config());
    }

    private static CandidacyConfig config() {
        return CandidacyConfig.ofLease(Duration.ofMillis(2_400));
    }

    private static String position(PostgresServer server) throws SQLException {
        try (var connection = server.connect();
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT pg_current_wal_lsn()")) {
            result.next();
            return result.getString(1);
        }
    }

    private static void set(Connection connection, String name, String value) throws SQLException {
        execute(connection, "ALTER SYSTEM SET " + name + " = '" + value + "'");
        execute(connection, "SELECT pg_reload_conf()");
        Eventually.eventually(name + " is \"" + value + "\"", PATIENCE, () -> {
            try (var statement = connection.createStatement();
                    var result = statement.executeQuery("SHOW " + name)) {
                return result.next() && result.getString(1).equals(value);
            } catch (SQLException e) {
                return false;
            }
        });
    }
}
