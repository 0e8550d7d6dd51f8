package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.outbox.OutboxAdmin.Finding;
import dev.bellwether.outbox.OutboxAdmin.Severity;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class DoctorTest {

    @Test
    void whatAUserOfPostgresIsNotToldIsSaidAndNotTakenForWell() throws Exception {
        try (var stage = new RelayStage()) {
            var user = stage.name + "_limited";
            stage.execute("CREATE ROLE " + user + " LOGIN");
            for (var table : List.of(stage.table.name(), stage.table.relay(), stage.table.parked())) {
                stage.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO " + user);
            }
            var uri = PostgresServer.shared().uri().replace("user=postgres", "user=" + user);
            assertThat(warnings(uri, stage.table))
                    .anyMatch(what -> what.contains("since when transactions of other users"))
                    .anyMatch(what -> what.contains("may not read sequence"))
                    .anyMatch(what -> what.contains("cannot requeue"));
            stage.execute("GRANT pg_monitor TO " + user);
            stage.execute("GRANT ALL ON SEQUENCE " + stage.table.name() + "_id_seq TO " + user);
            assertThat(warnings(uri, stage.table))
                    .noneMatch(what -> what.contains("other users"))
                    .noneMatch(what -> what.contains("sequence"));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void stepsOfSeveralNodesAreAWarningOnMariaDbAndMySql(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        try (var stage = new RelayStage(Servers.dataSource(uri), OutboxTable.Layout.BELLWETHER)) {
            assertThat(warnings(uri + "&sessionVariables=auto_increment_increment=3", stage.table))
                    .anyMatch(what -> what.contains("auto_increment_increment is 3"));
            assertThat(warnings(uri, stage.table)).noneMatch(what -> what.contains("auto_increment_increment"));
        }
    }

    /** In the schema that its name says, and not where another has a name that looks like it. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void counterThatWasSetBackIsThatOfTheTableAndAsItIsNow(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        var schema = Servers.fresh("other");
        try (var connection = Servers.dataSource(uri).getConnection();
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + schema);
            for (var table :
                    List.of(OutboxTable.named(schema + ".the_box"), OutboxTable.named(Servers.fresh("the_box")))) {
                OutboxSchema.create(connection, table);
                var likeIt = table.name().replace("the_box", "the1box");
                statement.execute("CREATE TABLE " + likeIt + " (id bigint AUTO_INCREMENT PRIMARY KEY)");
                assertThat(errors(uri, table)).allMatch(Servers.FORGETFUL);
                var store = Store.of(connection, table);
                var epoch = store.acquire(connection, new Store.Claim("x", 0, 1, "x", true))
                        .epoch();
                statement.execute("INSERT INTO " + table.name() + " (topic) VALUES ('t'), ('t'), ('t')");
                statement.execute("DELETE FROM " + table.name());
                store.report(connection, 0, epoch, 3, 3, 0);
                assertThat(errors(uri, table)).as("all is well with %s", table).allMatch(Servers.FORGETFUL);
                statement.execute("ALTER TABLE " + table.name() + " AUTO_INCREMENT = 2");
                assertThat(errors(uri, table))
                        .as("%s", table)
                        .filteredOn(Servers.FORGETFUL.negate())
                        .singleElement()
                        .asString()
                        .contains("the next id is 2");
            }
            statement.execute("DROP DATABASE " + schema);
        }
    }

    /** Else its remedy would set the sequence back, and ids would be given out again. */
    @Test
    void sequenceOfABusyOutboxWasNotSetBack() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table).asFound(connection);
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 1, "x", true))
                    .epoch();
            var busy = afterEachQuery(stage.database, () -> {
                stage.stash(Message.of(stage.topic, "k", "0"));
                stage.execute("DELETE FROM " + stage.table.name());
                var drawn = stage.number("SELECT last_value FROM " + stage.table.name() + "_id_seq");
                assertThat(store.report(connection, 0, epoch, drawn, 1, 0)).isTrue();
            });
            assertThat(errors(busy, stage.table))
                    .noneMatch(what -> what.contains("set back"))
                    .noneMatch(what -> what.contains("ids come from elsewhere"));
        }
    }

    @Test
    void sequenceThatWasSetBackIsSetForthByTheRemedyAndNeverBack() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table).asFound(connection);
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 1, "x", true))
                    .epoch();
            assertThat(store.report(connection, 0, epoch, 1_000, 1, 0)).isTrue();
            var found = OutboxAdmin.of(stage.database, stage.table).examine(Optional.empty()).stream()
                    .filter(finding -> finding.what().contains("set back"))
                    .toList();
            assertThat(found)
                    .singleElement()
                    .satisfies(one -> assertThat(one.what()).contains("up to id 1000"));
            var remedy = String.valueOf(found.get(0).remedy());
            assertThat(stage.number(remedy)).isEqualTo(1_000);
            stage.number("SELECT setval('" + stage.table.name() + "_id_seq', 2000)");
            assertThat(stage.number(remedy)).as("obeyed once more, later").isEqualTo(2_000);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void counterThatWasSetBackIsSetForthByTheRemedyAndNeverBack(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        try (var stage = new RelayStage(Servers.dataSource(uri), OutboxTable.Layout.BELLWETHER);
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table);
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 1, "x", true))
                    .epoch();
            assertThat(store.report(connection, 0, epoch, 1_000, 1, 0)).isTrue();
            var remedy = String.valueOf(OutboxAdmin.of(stage.database, stage.table).examine(Optional.empty()).stream()
                    .filter(finding -> finding.what().contains("set back"))
                    .findFirst()
                    .orElseThrow()
                    .remedy());

            obey(connection, remedy);
            assertThat(stage.number("SELECT count(*) FROM " + stage.table.name()))
                    .as("nothing is left to be published")
                    .isZero();
            assertThat(idOfNextRow(connection, stage.table)).isEqualTo(1_001);
            assertThat(errors(uri, stage.table)).noneMatch(what -> what.contains("set back"));

            try (var statement = connection.createStatement()) {
                statement.execute("INSERT INTO " + stage.table.name() + " (id, topic) VALUES (2000, 't')");
                statement.execute("DELETE FROM " + stage.table.name());
            }
            obey(connection, remedy);
            assertThat(idOfNextRow(connection, stage.table))
                    .as("NEVER: an id comes again; the remedy was obeyed once more, later")
                    .isEqualTo(2_001);
        }
    }

    /** Such a server has no JSON_TABLE, by which rows are deleted: each delete would fail. */
    @ParameterizedTest
    @CsvSource({"MARIADB, 10.5.29-MariaDB-log, MariaDB 10.6", "MYSQL, 5.7.44-log, MySQL 8.0.4"})
    void serverThatIsTooOldIsRefusedAndTold(Kind kind, String version, String oldest) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            var old = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var connection = Objects.requireNonNull(FaultyDatabase.call(stage.database, method, arguments));
                return FaultyDatabase.proxy(Connection.class, (of, given) -> {
                    var result = FaultyDatabase.call(connection, of, given);
                    return result instanceof Statement && of.getName().equals("createStatement")
                            ? FaultyDatabase.proxy(Statement.class, (what, with) -> {
                                var asked = with != null && with.length == 1 && with[0].equals("SELECT version()");
                                var sql = new Object[] {"SELECT '" + version + "'"};
                                return FaultyDatabase.call(result, what, asked ? sql : with);
                            })
                            : result;
                });
            });
            assertThat(errors(old, stage.table))
                    .anyMatch(what -> what.contains(version) && what.contains("at least " + oldest));
            assertThat(errors(stage.database, stage.table)).allMatch(Servers.FORGETFUL);
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.relay(more -> more, old, KafkaProducer::new);
            assertThat(stage.await(RelayEvent.Faulted.class).cause())
                    .hasMessageContaining("at least " + oldest)
                    .hasMessageContaining(version);
        }
    }

    private static void obey(Connection connection, String remedy) throws SQLException {
        try (var statement = connection.createStatement()) {
            for (var one : remedy.split("; ", -1)) {
                statement.execute(one);
            }
        }
    }

    private static long idOfNextRow(Connection connection, OutboxTable table) throws SQLException {
        try (var insert = connection.prepareStatement(
                "INSERT INTO " + table.name() + " (topic) VALUES ('t')", Statement.RETURN_GENERATED_KEYS)) {
            insert.executeUpdate();
            try (var keys = insert.getGeneratedKeys()) {
                keys.next();
                return keys.getLong(1);
            }
        }
    }

    private interface Meanwhile {
        void happens() throws SQLException;
    }

    private static DataSource afterEachQuery(DataSource database, Meanwhile meanwhile) {
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            var connection = Objects.requireNonNull(FaultyDatabase.call(database, method, arguments));
            return FaultyDatabase.proxy(Connection.class, (of, given) -> {
                var result = FaultyDatabase.call(connection, of, given);
                return result != null && of.getName().equals("createStatement")
                        ? FaultyDatabase.proxy(Statement.class, (what, with) -> {
                            var answer = FaultyDatabase.call(result, what, with);
                            if (what.getName().equals("executeQuery")) {
                                meanwhile.happens();
                            }
                            return answer;
                        })
                        : result;
            });
        });
    }

    private static List<String> errors(String uri, OutboxTable table) throws SQLException {
        return errors(Servers.dataSource(uri), table);
    }

    private static List<String> errors(DataSource database, OutboxTable table) throws SQLException {
        return OutboxAdmin.of(database, table).examine(Optional.empty()).stream()
                .filter(finding -> finding.severity() == Severity.ERROR)
                .map(Finding::what)
                .toList();
    }

    /** MySQL has one by default, MariaDB has none. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void aServerThatDoesNotKeepWhatItConfirmsIsAnError(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        try (var stage = new RelayStage(Servers.dataSource(uri), OutboxTable.Layout.BELLWETHER)) {
            assertThat(errors(uri, stage.table))
                    .satisfiesExactly(
                            flush -> assertThat(flush).contains("innodb_flush_log_at_trx_commit is 2"),
                            log -> assertThat(log)
                                    .contains(kind == Kind.MARIADB ? "no binary log" : "sync_binlog is 0"));
        }
    }

    @Test
    void aPostgresThatConfirmsWhatItMayForgetIsAnError() throws Exception {
        try (var stage = new RelayStage()) {
            var uri = PostgresServer.shared().uri() + "&options=-c%20synchronous_commit=off";
            assertThat(errors(uri, stage.table)).contains("synchronous_commit is off");
            assertThat(errors(PostgresServer.shared().uri(), stage.table)).doesNotContain("synchronous_commit is off");
        }
    }

    @Test
    void severalReplicasOfWhichOneConfirmsAloneAreAnError() {
        assertThat(BrokerDoctor.replication("t", 3, 1).map(Finding::severity)).contains(Severity.ERROR);
        assertThat(BrokerDoctor.replication("t", 1, 1).map(Finding::severity)).contains(Severity.WARNING);
        assertThat(BrokerDoctor.replication("t", 3, 2)).isEmpty();
    }

    @Test
    void tableThatMayNotBeReadIsNotTakenForAMissingOne() throws Exception {
        try (var stage = new RelayStage()) {
            var user = stage.name + "_stranger";
            stage.execute("CREATE ROLE " + user + " LOGIN");
            var uri = PostgresServer.shared().uri().replace("user=postgres", "user=" + user);
            try (var connection = Servers.dataSource(uri).getConnection()) {
                org.assertj.core.api.Assertions.assertThatThrownBy(
                                () -> OutboxSchema.layout(connection, stage.table.name()))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("permission denied");
            }
        }
    }

    @Test
    void topicThatCannotExistHidesNoOther() throws Exception {
        try (var stage = new RelayStage()) {
            stage.stash(Message.of("a b", "k", "0"), Message.of(stage.topic, "k", "0"), Message.of("c d", "k", "0"));
            assertThat(findings(stage))
                    .extracting(Finding::what)
                    .noneMatch(what -> what.contains("do not answer"))
                    .anyMatch(what -> what.contains("no topic a b"))
                    .anyMatch(what -> what.contains("no topic c d"))
                    .anyMatch(what -> what.contains("topic " + stage.topic + " has"));
        }
    }

    @Test
    void tableOfGoharvestThatNoRelayHasServedYetIsLookedAt() throws Exception {
        try (var stage = new RelayStage(OutboxTable.Layout.GOHARVEST)) {
            dropTablesBeside(stage);
            assertThat(warnings(PostgresServer.shared().uri(), stage.table))
                    .noneMatch(what -> what.contains(stage.table.relay()));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void tableThatNoRelayHasServedYetIsLookedAtOnMariaDbAndMySql(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        try (var stage = new RelayStage(Servers.dataSource(uri), OutboxTable.Layout.BELLWETHER)) {
            dropTablesBeside(stage);
            assertThat(errors(uri, stage.table)).allMatch(Servers.FORGETFUL);
        }
    }

    private static void dropTablesBeside(RelayStage stage) throws SQLException {
        for (var table : List.of(stage.table.relay(), stage.table.parked(), stage.table.blocked())) {
            stage.execute("DROP TABLE " + table);
        }
    }

    @Test
    void topicOfProgressIsLookedAtLikeOthers() throws Exception {
        try (var stage = new RelayStage()) {
            assertThat(findings(stage)).noneMatch(finding -> finding.what().contains("outbox-progress"));
            stage.relay(more -> more.once(false));
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            assertThat(findings(stage))
                    .anyMatch(finding -> finding.severity() == Severity.OK
                            && finding.what().contains("no topic " + stage.name + "-outbox-progress"));
            stage.config(more -> more).progress().recover(0, 0, 2);
            assertThat(findings(stage))
                    .anyMatch(finding -> finding.what().contains("topic " + stage.name + "-outbox-progress")
                            && finding.what().contains("replicas"));
        }
    }

    @Test
    void topicOfProgressWithARetentionIsAnError() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.once(false));
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            var topic = stage.config(more -> more).progress().name();
            Servers.topic(stage.bootstrap, topic, 1, Map.of("cleanup.policy", "compact,delete"));
            assertThat(findings(stage))
                    .anyMatch(finding -> finding.severity() == Severity.ERROR
                            && finding.what().contains("topic " + topic + " has cleanup.policy=compact,delete"));
        }
    }

    private static List<Finding> findings(RelayStage stage) throws SQLException {
        return OutboxAdmin.of(stage.database, stage.table)
                .examine(Optional.of(Map.of("bootstrap.servers", stage.bootstrap)));
    }

    private static List<String> warnings(String uri, OutboxTable table) throws SQLException {
        return OutboxAdmin.of(Servers.dataSource(uri), table).examine(Optional.empty()).stream()
                .filter(finding -> Set.of(Severity.WARNING, Severity.ERROR).contains(finding.severity()))
                .map(Finding::what)
                .toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"broker", "127.0.0.1", "nowhere.invalid:9092"})
    void nameThatLeadsToNoBrokerIsAFinding(String name) {
        assertThat(new BrokerDoctor(Map.of("bootstrap.servers", name)).examine(List.of(), Optional.empty()))
                .singleElement()
                .satisfies(finding -> assertThat(finding.severity()).isEqualTo(OutboxAdmin.Severity.ERROR))
                .satisfies(finding -> assertThat(finding.what()).contains("bootstrap.servers"));
    }
}
