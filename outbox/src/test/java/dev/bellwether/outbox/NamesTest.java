package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A table has one name and one division, and a name has one table: whoever says otherwise is refused, or at least told.
 */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class NamesTest {

    @Test
    void secondNameForATableIsRefusedUntilItIsRenamed() throws Exception {
        try (var stage = new RelayStage()) {
            var first = stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            stage.events.clear();
            var other = Servers.fresh("other");
            var config = RelayConfig.named(other)
                    .table(stage.table)
                    .producer(Map.of("bootstrap.servers", stage.bootstrap))
                    .maxBackoff(Duration.ofMillis(200))
                    .listener(stage.events::add)
                    .build();
            try (var second = OutboxRelay.start(stage.database, config, stage.elections())) {
                assertThat(stage.await(RelayEvent.Faulted.class).cause())
                        .as("NEVER: two names publish one table")
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(stage.name)
                        .hasMessageContaining(other)
                        .hasMessageContaining("rename");
                stage.stash(Message.of(stage.topic, "k", "0"));
                stage.awaitEmpty();
                assertThat(first.stats().get(0).published()).isEqualTo(1);
                first.close();
                var admin = OutboxAdmin.of(stage.database, stage.table);
                var kafka = Map.<String, Object>of("bootstrap.servers", stage.bootstrap);
                assertThatThrownBy(() -> admin.rename(other, "third", kafka)).hasMessageContaining(stage.name);
                assertThatThrownBy(() -> admin.divide(other, 2, kafka)).hasMessageContaining(stage.name);
                admin.rename(stage.name, other, kafka);
                stage.stash(Message.of(stage.topic, "k", "1"));
                stage.awaitEmpty();
                assertThat(second.stats().get(0).published()).isEqualTo(1);
            }
        }
    }

    /** In a container the process id is always 1: without the time, a relay took another one for itself. */
    @Test
    void relayWithoutANameIsNamedAfterHostProcessTimeAndNumber() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThat(Store.of(connection, stage.table).tenant(connection, 0).orElseThrow())
                    .matches(".+_" + ProcessHandle.current().pid() + "_\\d{10,}_\\d+");
        }
    }

    @Test
    void tableWhoseNameIsServedElsewhereIsTold() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.candidate("first"));
            stage.await(RelayEvent.LeaderRefreshed.class);
            var second = new OutboxTable(Servers.fresh("second"), OutboxTable.Layout.BELLWETHER);
            try (var connection = stage.connect()) {
                OutboxSchema.create(connection, Store.of(connection, second));
            }
            stage.relay(more -> more.table(second)
                    .candidate("second")
                    .lease(Duration.ofSeconds(3))
                    .standDownAfter(Duration.ofMillis(100)));
            var told = stage.await(RelayEvent.NotServed.class);
            assertThat(told.leader()).isEqualTo("first");

            try (var connection = stage.connect()) {
                var claim = new Store.Claim(stage.config(more -> more).name(), 0, 1, "first", false);
                Store.of(connection, second).acquire(connection, claim);
            }
            assertThat(stage.await(RelayEvent.Served.class).leader()).isEqualTo("first");
        }
    }

    @Test
    void standbyOfALeaderThatServesItsTableIsContent() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.candidate("first").lease(Duration.ofSeconds(3)));
            stage.await(RelayEvent.LeaderRefreshed.class);
            stage.relay(more ->
                    more.candidate("second").lease(Duration.ofSeconds(3)).standDownAfter(Duration.ofMillis(100)));
            Eventually.throughout(
                    "nobody complains",
                    Duration.ofSeconds(8),
                    () -> stage.events.stream().noneMatch(RelayEvent.NotServed.class::isInstance));
        }
    }

    @Test
    void relaysOfDifferentShardCountsAreNotBothAdmittedAtTheFirstStart() throws Exception {
        oneIsAdmitted(Servers.dataSource(PostgresServer.shared().uri()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void relaysOfDifferentShardCountsAreNotBothAdmittedAtTheFirstStart(Kind kind) throws Exception {
        oneIsAdmitted(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()));
    }

    private static void oneIsAdmitted(DataSource database) throws Exception {
        var table = OutboxTable.named(Servers.fresh("first"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, Store.of(connection, table));
        }
        // each waits, having made its row and not committed it, until the other has made its own, or waits for somebody
        var made = new CountDownLatch(2);
        var slow = FaultyDatabase.of(database, new FaultyProducer.Fault() {
            @Override
            public void after(String method) {
                if (method.equals("acquire")) {
                    made.countDown();
                    Eventually.eventually(
                            "the other is there",
                            RelayStage.PATIENCE,
                            () -> made.getCount() == 0 || DivideTest.waits(database));
                }
            }
        });
        var admitted = new ArrayList<Integer>();
        for (var claim : List.of(acquiring(slow, table, 0, 2), acquiring(slow, table, 1, 3))) {
            try {
                admitted.add(claim.join());
            } catch (CompletionException e) {
                assertThat(e)
                        .hasRootCauseInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("divided into");
            }
        }
        assertThat(admitted).as("NEVER: both divide the table").hasSize(1);
    }

    private static CompletableFuture<Integer> acquiring(DataSource database, OutboxTable table, int shard, int shards) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try (var connection = database.getConnection()) {
                        var store = Store.of(connection, table);
                        store.prepare(connection, true);
                        store.acquire(connection, new Store.Claim("x", shard, shards, "relay", true));
                        return shards;
                    } catch (SQLException e) {
                        throw new IllegalArgumentException(e);
                    }
                },
                task -> new Thread(task, "relay of " + shards).start());
    }

    @Test
    void relayStartsWhileTheBrokersAreAwayAndBeginsWhenTheyAnswer() throws Exception {
        try (var stage = new RelayStage()) {
            stage.stash(Message.of(stage.topic, "k", "0"));
            var config = stage.config(more ->
                    more.producer(Map.of("bootstrap.servers", Servers.brokers().bootstrap(0))));
            cutAll();
            try (var relay = OutboxRelay.start(stage.database, config)) {
                assertThat(relay.isLeader()).isFalse();
                assertThat(relay.stats()).hasSize(1);
                assertThat(stage.await(RelayEvent.Waiting.class).cause()).isNotNull();
                healAll();
                stage.awaitEmpty();
                assertThat(relay.isLeader()).isTrue();
            }
        } finally {
            healAll();
        }
    }

    private static void cutAll() {
        for (var broker : Servers.brokers().brokers()) {
            broker.link(0).refuse();
            broker.link(0).reset();
        }
    }

    private static void healAll() {
        Servers.brokers().link(0).heal();
    }

    @Test
    void relayThatWaitsForBrokersCanBeClosed() throws Exception {
        try (var stage = new RelayStage()) {
            var config = stage.config(more -> more.producer(Map.of("bootstrap.servers", "127.0.0.1:1")));
            var relay = OutboxRelay.start(stage.database, config);
            relay.close();
            assertThat(relay.isLeader()).isFalse();
        }
    }

    @Test
    void settingThatKafkaRefusesIsThrownByTheStart() throws Exception {
        try (var stage = new RelayStage()) {
            var config = stage.config(more ->
                    more.producer(Map.of("bootstrap.servers", stage.bootstrap, "security.protocol", "NONSENSE")));
            assertThatThrownBy(() -> OutboxRelay.start(stage.database, config))
                    .hasMessageContaining("security.protocol");
        }
    }

    /** Of all properties: to begin again would fix none of them. */
    @ParameterizedTest
    @CsvSource({
        "linger.ms, soon",
        "max.request.size, 1MB",
        "compression.type, zip",
        "compression.lz4.level, high",
        "transaction.timeout.ms, long",
        "delivery.timeout.ms, 1"
    })
    void propertyOfTheProducerThatIsWrongIsThrownByTheStart(String property, String value) throws Exception {
        try (var stage = new RelayStage()) {
            var config =
                    stage.config(more -> more.producer(Map.of("bootstrap.servers", stage.bootstrap, property, value)));
            assertThatThrownBy(() -> OutboxRelay.start(stage.database, config, stage.elections())
                            .close())
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(property);
        }
    }

    /** A server may keep what it tells of its tables for a day. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void backlogOfATableInAnotherSchemaIsEstimatedAsItIsNow(Kind kind) throws Exception {
        var database = Servers.dataSource(MysqlFamilyServer.shared(kind).uri());
        var schema = Servers.fresh("other");
        var table = OutboxTable.named(schema + ".box");
        try (var connection = database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + schema);
            OutboxSchema.create(connection, table);
            var digits = "(SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4"
                    + " UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8"
                    + " UNION ALL SELECT 9)";
            var insert = "INSERT INTO " + table.name() + " (topic) SELECT 't' FROM " + digits + " a, " + digits + " b, "
                    + digits + " c, " + digits + " d, " + digits + " e LIMIT ";
            statement.execute(insert + 99_000);
            var admin = OutboxAdmin.of(database, table);
            assertThat(admin.quickState().backlog()).isEqualTo(99_000);
            statement.execute(insert + 40_000);
            statement.execute(insert + 99_000);
            assertThat(admin.quickState().exact()).isFalse();
            Eventually.eventually("the server has counted again", RelayStage.PATIENCE, () -> backlog(admin) > 150_000);
            statement.execute(insert + 99_000);
            statement.execute(insert + 99_000);
            statement.execute(insert + 99_000);
            Eventually.eventually("and again", RelayStage.PATIENCE, () -> backlog(admin) > 350_000);
            statement.execute("DROP DATABASE " + schema);
        }
    }

    private static long backlog(OutboxAdmin admin) {
        try {
            return admin.quickState().backlog();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void missingTopicIsToldBeforeAnythingIsSentToIt() throws Exception {
        try (var stage = new RelayStage()) {
            var missing = Servers.fresh("missing");
            stage.stash(Message.of(missing, "k", "0"), Message.of(stage.topic, "k", "0"));
            var blocked = new CountDownLatch(1);
            var relay = stage.relay(
                    more -> more.producer(Map.of("bootstrap.servers", stage.bootstrap))
                            .haltRetry(Duration.ofMillis(500)),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void before(String method) {
                            if (method.equals("send") && stage.left() == 2) {
                                blocked.countDown();
                            }
                        }
                    }));
            assertThat(stage.await(RelayEvent.KeyBlocked.class).reason()).contains(missing, "does not exist");
            Eventually.eventually("the other is published", RelayStage.PATIENCE, () -> stage.left() == 1);
            Eventually.eventually(
                    "it was tried again",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                                    .filter(RelayEvent.LeaderRefreshed.class::isInstance)
                                    .count()
                            > 2);
            assertThat(stage.events.stream().filter(RelayEvent.KeyBlocked.class::isInstance))
                    .as("it is told once")
                    .hasSize(1);
            assertThat(stage.events).as("and costs no session").noneMatch(RelayEvent.Faulted.class::isInstance);
            Servers.topic(stage.bootstrap, missing, 1, Map.of());
            stage.awaitEmpty();
            assertThat(relay.stats().get(0).published()).isEqualTo(2);
        }
    }

    @Test
    void headersOfGoharvestMayHaveAnyNameAndARequeuedRecordKeepsItsEventId() throws Exception {
        try (var stage = new RelayStage(OutboxTable.Layout.GOHARVEST);
                var reader = stage.reader(true)) {
            var small = Servers.fresh("later");
            stage.execute("INSERT INTO " + stage.table.name() + " (create_time, kafka_topic, kafka_key, kafka_value,"
                    + " kafka_header_keys, kafka_header_values) VALUES (now(), '" + small
                    + "', 'k', 'v', ARRAY['a:b', 'plain', 'none'], ARRAY['x: y', 'é', NULL])");
            stage.relay(more -> more.poison(Poison.PARK).haltRetry(Duration.ofMillis(1)));
            stage.awaitEmpty();
            var admin = OutboxAdmin.of(stage.database, stage.table);
            for (var round = 0; round < 2; round++) {
                var parked = admin.parked(10).get(0);
                if (round == 1) {
                    Servers.topic(stage.bootstrap, small, 1, Map.of());
                }
                assertThat(admin.requeue(parked.id())).isTrue();
                if (round == 0) {
                    stage.awaitEmpty();
                    assertThat(admin.parked(10))
                            .singleElement()
                            .satisfies(again -> assertThat(again.eventId()).isEqualTo(parked.eventId()));
                }
            }
            try (var later = new Reader(stage.bootstrap, true, small)) {
                var record = Eventually.eventually(
                        "it is read",
                        RelayStage.PATIENCE,
                        () -> later.poll().records().stream().findFirst());
                assertThat(record.headers()).hasSize(4);
                assertThat(Reader.header(record, "a:b")).isEqualTo("x: y");
                assertThat(Reader.header(record, "plain")).isEqualTo("é");
                assertThat(record.headers().lastHeader("none").value()).isNull();
            }
            assertThat(reader.poll().records()).isEmpty();
        }
    }

    @Test
    void headerOfTheEventIdThatARowHasItselfIsRefused() throws Exception {
        try (var stage = new RelayStage()) {
            stage.execute("INSERT INTO " + stage.table.name() + " (topic, headers) VALUES ('" + stage.topic
                    + "', 'event-id: mine')");
            stage.relay(more -> more.poison(Poison.PARK));
            assertThat(stage.await(RelayEvent.Parked.class).reason()).contains("event-id", "eventIdHeader");
        }
    }

    @Test
    void headerNamesOfAllKindsAreReadAsTheyWereWritten() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            var names = List.of("plain", "a:b", ":", "::", "", " blank ", "é", "line\nbreak");
            var message = Message.to(stage.topic).key("k");
            names.forEach(name -> message.header(name, name + "!"));
            message.header("null:", (byte[]) null).header("bytes:", new byte[] {0, 1});
            stage.stash(message.build());
            stage.relay();
            var record = Eventually.eventually(
                    "it is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().records().stream().findFirst());
            for (var name : names) {
                assertThat(Reader.header(record, name)).isEqualTo(name + "!");
            }
            assertThat(record.headers().lastHeader("null:").value()).isNull();
            assertThat(record.headers().lastHeader("bytes:").value()).containsExactly(0, 1);
        }
    }
}
