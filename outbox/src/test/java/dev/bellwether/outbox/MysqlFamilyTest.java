package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A relay on MariaDB and MySQL. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class MysqlFamilyTest {

    /** A row may have any text for one, and any number for a time: it is told as it is, or refused. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void eventIdThatIsNoUuidIsPublishedAndParkedAsItIs(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true)) {
            stage.execute("INSERT INTO " + stage.table.name()
                    + " (event_id, topic, record_key, record_partition, record_time_ms) VALUES"
                    + " ('order-42', '%1$s', 'k', 0, 5), ('ордер-42', '%1$s', 'k', 0, 6),".formatted(stage.topic)
                    + " ('order-43', '%1$s', 'k', 99, 7), ('ордер-43', '%1$s', 'k', 0, -5)".formatted(stage.topic));
            stage.relay(more -> more.poison(Poison.PARK)
                    .producer(Map.of("bootstrap.servers", stage.bootstrap, "max.block.ms", 1_000)));
            stage.awaitEmpty();
            Eventually.eventually(
                    "two are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().size() == 2);
            assertThat(reader.records())
                    .extracting(record -> Reader.header(record, "event-id"))
                    .containsExactly("order-42", "ордер-42");
            assertThat(OutboxAdmin.of(stage.database, stage.table).parked(10))
                    .extracting(OutboxAdmin.ParkedRecord::eventId)
                    .containsExactly("order-43", "ордер-43");
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void concurrentWritersAreReadInOrderAndLateRowsKeepTheirPlace(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true);
                var slow = stage.connect()) {
            slow.setAutoCommit(false);
            Outbox.of(stage.table)
                    .stash(
                            slow,
                            Message.to(stage.topic)
                                    .key("slow")
                                    .value("0")
                                    .header("h", "v")
                                    .build());
            stage.relay(more -> more.sweepInterval(Duration.ofHours(1)).poison(Poison.PARK));
            var written = new Writers(stage.database, stage.table, stage.topic, 10).write(4, 500, 6);
            Eventually.eventually(
                    "the quick are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            slow.commit();
            stage.stash(Writers.numbered(stage.topic, "slow", 1, 3));
            stage.stash(List.of(Message.to(stage.topic).key("bad").partition(99).build()));
            written.put("slow", 3);
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
            stage.awaitEmpty();
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThat(admin.parked(10)).hasSize(1);
            assertThat(admin.state().backlog()).isZero();
            assertThat(admin.examine(java.util.Optional.of(Map.of("bootstrap.servers", stage.bootstrap))))
                    .filteredOn(finding -> finding.severity() == OutboxAdmin.Severity.ERROR)
                    .extracting(OutboxAdmin.Finding::what)
                    .allMatch(Servers.FORGETFUL);
            assertThat(reader.records())
                    .anyMatch(record -> Reader.header(record, "h").equals("v"));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void shardsShareTheKeysAndKeepTheirOrder(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true)) {
            var relay = stage.relay(more -> more.shards(3));
            var written = new Writers(stage.database, stage.table, stage.topic, 20).write(4, 300, 9);
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).isEmpty();
            assertThat(reader.ledger().repeats()).isZero();
            assertThat(relay.stats()).allMatch(stats -> stats.published() > 0);
        }
    }

    /** A driver that is told so counts only those rows of an update that have changed. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void leaderThatWritesDownWhatIsThereAlreadyIsTheLeader(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri() + "&useAffectedRows=true";
        var table = OutboxTable.named(Servers.fresh("affected"));
        try (var connection = Servers.dataSource(uri).getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            var epoch = store.acquire(connection, new Store.Claim("x", 0, 1, "x", true))
                    .epoch();
            for (var times = 0; times < 3; times++) { // two of them in one second at least
                assertThat(store.report(connection, 0, epoch, 5, 0, 0)).isTrue();
                assertThat(store.mark(connection, 0, epoch, new ProgressMark(epoch, 7)))
                        .isTrue();
            }
            assertThat(store.report(connection, 0, epoch - 1, 5, 0, 0)).isFalse();
        }
    }

    /** It takes nothing of a transaction that is READ COMMITTED or lower. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void relayWritesDownHowFarItIsIntoABinaryLogOfStatements(Kind kind) throws Exception {
        try (var server = MysqlFamilyServer.start(kind, "--log-bin=log", "--server-id=1", "--binlog-format=STATEMENT");
                var stage = new RelayStage(Servers.dataSource(server.uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.relay();
            Eventually.eventually(
                    "it is written down, or cannot be",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream().anyMatch(RelayEvent.Faulted.class::isInstance)
                            || stage.number("SELECT COALESCE(MAX(low), 0) FROM " + stage.table.relay()
                                            + " WHERE shard = 0")
                                    == 1);
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    /** Such as a host that vanishes between two statements. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void relayThatVanishesWhileItTakesAShardKeepsOthersFromItForSecondsOnly(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var vanished = stage.connect();
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table);
            store.prepare(connection, true);
            var before = waitTimeout(connection);
            var first = store.acquire(connection, new Store.Claim("x", 0, 1, "first", true));
            assertThat(waitTimeout(connection)).isEqualTo(before);
            assertThatThrownBy(() -> store.acquire(connection, new Store.Claim("y", 0, 1, "other", true)))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(waitTimeout(connection)).isEqualTo(before);

            store.prepare(vanished, true);
            vanished.setAutoCommit(false);
            store.impatient(vanished, Store.SILENCE);
            try (var statement = vanished.createStatement()) {
                statement.execute("UPDATE " + stage.table.relay() + " SET epoch = epoch + 1 WHERE shard = 0");
            }
            var second = CompletableFuture.supplyAsync(() -> {
                try {
                    return store.acquire(connection, new Store.Claim("x", 0, 1, "second", true));
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            assertThat(second)
                    .succeedsWithin(Duration.ofSeconds(20))
                    .satisfies(tenancy -> assertThat(tenancy.epoch()).isEqualTo(first.epoch() + 1));
        }
    }

    private static long waitTimeout(Connection connection) throws SQLException {
        return number(connection, "SELECT @@SESSION.wait_timeout");
    }

    /** As firewalls and servers do with connections over which nothing is said for long. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void quietOutboxKeepsItsConnections(Kind kind) throws Exception {
        var database = Servers.dataSource(MysqlFamilyServer.shared(kind).uri());
        try (var stage = new RelayStage(database, OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(false)) {
            var strict = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var result = FaultyDatabase.call(database, method, arguments);
                if (result instanceof Connection connection) {
                    endAfterSeconds(connection, 20);
                }
                return result;
            });
            var relay = stage.relay(more -> more, strict, KafkaProducer::new);
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
            try (var idle = stage.connect()) { // silent for as long as the relay has nothing to delete
                endAfterSeconds(idle, 20);
                var id = idle.unwrap(org.mariadb.jdbc.Connection.class).getThreadId();
                Eventually.eventually(
                        "who says nothing is shown the door",
                        RelayStage.PATIENCE,
                        () -> stage.number("SELECT count(*) FROM information_schema.processlist WHERE id = " + id)
                                == 0);
            }
            stage.stash(Message.of(stage.topic, "k", "1"));
            stage.awaitEmpty();
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
            assertThat(relay.stats().get(0).rewinds()).isZero();
            Eventually.eventually(
                    "both are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 2)));
            assertThat(reader.ledger().repeats()).isZero();
        }
    }

    private static void endAfterSeconds(Connection connection, int seconds) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("SET SESSION wait_timeout = " + seconds);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void formerLeaderDeletesNothingAndThePresentOneWaitsForNobody(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var slow = stage.connect();
                var connection = stage.connect()) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 2));
            slow.setAutoCommit(false);
            Outbox.of(stage.table).stash(slow, Message.of(stage.topic, "slow", "0"));
            var store = Store.of(connection, stage.table);
            store.prepare(connection, true);
            try (var statement = connection.createStatement()) {
                statement.execute("SET SESSION innodb_lock_wait_timeout = 1"); // who waits, fails
            }
            var first = store.acquire(connection, new Store.Claim("x", 0, 1, "first", true));
            var second = store.acquire(connection, new Store.Claim("x", 0, 1, "second", true));
            assertThat(second.epoch()).isEqualTo(first.epoch() + 1);
            assertThat(store.delete(connection, 0, first.epoch(), new long[] {1, 2}))
                    .isZero();
            assertThat(store.delete(connection, 0, second.epoch(), new long[] {1, 2}))
                    .isEqualTo(2);
        }
    }

    /** The tables compare texts as people do; names, topics and event ids are bytes. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void namesThatDifferInCaseAccentsOrBlanksAreOfTwoOutboxes(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER);
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table);
            store.prepare(connection, true);
            store.acquire(connection, new Store.Claim("orders", 0, 1, "first", true));
            for (var other : List.of("ORDERS", "órders", "orders ")) {
                assertThatThrownBy(() -> store.acquire(connection, new Store.Claim(other, 0, 1, "second", true)))
                        .as("NEVER: \"%s\" is admitted beside \"orders\"", other)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("served under the name \"orders\"");
            }
            assertThat(store.acquire(connection, new Store.Claim("orders", 0, 1, "second", true))
                            .epoch())
                    .isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void topicsThatDifferInCaseAccentsOrBlanksAreRequeuedEachByItself(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.execute("INSERT INTO " + stage.table.parked() + " (id, event_id, topic, reason) VALUES"
                    + " (1, 'a', 'tee', ''), (2, 'b', 'TEE', ''), (3, 'c', 'tée', ''), (4, 'd', 'tee ', '')");
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThat(admin.lastParked("tee")).hasValue(1);
            assertThat(admin.requeueTopic("tee")).isEqualTo(1);
            assertThat(admin.parked(10))
                    .extracting(OutboxAdmin.ParkedRecord::id)
                    .containsExactly(2L, 3L, 4L);
            assertThat(admin.requeueTopic("tée")).isEqualTo(1);
            assertThat(admin.parked(10))
                    .extracting(OutboxAdmin.ParkedRecord::id)
                    .containsExactly(2L, 4L);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void doctorLooksAtTopicsThatDifferInCase(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.execute("INSERT INTO " + stage.table.name() + " (topic) VALUES ('none'), ('None'), ('none')");
            assertThat(OutboxAdmin.of(stage.database, stage.table)
                            .examine(java.util.Optional.of(Map.of("bootstrap.servers", stage.bootstrap))))
                    .extracting(OutboxAdmin.Finding::what)
                    .containsOnlyOnce("topic none does not exist", "topic None does not exist");
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void rowWithoutATopicAndWithoutAnEventIdIsParkedAndNotTakenForOneOfAnotherShard(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.execute("INSERT INTO " + stage.table.name() + " (event_id, topic, record_key) VALUES ('', '', 'k'),"
                    + " ('', '', 'l'), ('', '', 'm')");
            stage.relay(more -> more.poison(Poison.PARK).shards(2));
            stage.awaitEmpty();
            assertThat(stage.events.stream().filter(RelayEvent.Parked.class::isInstance))
                    .hasSize(3);
            assertThat(OutboxAdmin.of(stage.database, stage.table).parked(10)).hasSize(3);
        }
    }
}
