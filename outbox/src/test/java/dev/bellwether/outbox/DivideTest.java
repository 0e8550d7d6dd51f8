package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DivideTest {

    @Test
    void openTransactionOfTheOldDivisionIsNeverCommitted() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            var config = stage.config(more -> more);
            Store.of(connection, stage.table)
                    .asFound(connection)
                    .acquire(connection, new Store.Claim(stage.name, 0, 1, "old", true));
            for (var id : config.transactionalIds(0)) {
                assertThat(id).startsWith(config.seat(0));
                try (var producer = new KafkaProducer<byte[], byte[]>(ProducerSettings.of(config, id))) {
                    producer.initTransactions();
                    producer.beginTransaction();
                    producer.send(new ProducerRecord<>(stage.topic, new byte[] {1}))
                            .get();
                    OutboxAdmin.of(stage.database, stage.table)
                            .divide(stage.name, 2, Map.of("bootstrap.servers", stage.bootstrap));
                    assertThatThrownBy(producer::commitTransaction)
                            .as("NEVER: a transaction of the old division is committed")
                            .isInstanceOf(KafkaException.class);
                }
            }
        }
    }

    @Test
    void recordsKeepTheirOrderWhenTheOutboxIsDividedUnderTraffic() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var uncommitted = stage.reader(false)) {
            var relay = stage.relay();
            var writers = new Writers(stage.database, stage.table, stage.topic, 20).pausing(3);
            var writing = writers.begin(3, Integer.MAX_VALUE, 5);
            for (var shards : new int[] {3, 1, 2}) {
                var soFar = reader.poll().ledger().records();
                Eventually.eventually(
                        "some are read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().records() > soFar + 100);
                OutboxAdmin.of(stage.database, stage.table)
                        .divide(stage.name, shards, Map.of("bootstrap.servers", stage.bootstrap));
                relay.close();
                relay = stage.relay(more -> more.shards(shards));
            }
            writers.stop();
            var written = writing.join();
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written)
                            && uncommitted.poll().ledger().isComplete(written));
            assertThat(reader.faults(written))
                    .as("NEVER: out of order or lost, for readers of committed records")
                    .isEmpty();
            assertThat(uncommitted.faults(written))
                    .as("NEVER: out of order or lost, for readers of uncommitted records")
                    .isEmpty();
        }
    }

    /** Its producers were refused, for example, while those of another shard were not. */
    @Test
    void recordsOfAShardThatNobodyHasLedKeepTheirOrder() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect();
                var reader = stage.reader(true)) {
            var store = Store.of(connection, stage.table).asFound(connection);
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 4, "old", true))
                    .epoch();
            stashAt(stage, 10_000_000, 0); // key "k" is of another shard than 0
            assertThat(store.report(connection, 0, epoch, 10_400_000, 0, 0)).isTrue();
            OutboxAdmin.of(stage.database, stage.table)
                    .divide(stage.name, 1, Map.of("bootstrap.servers", stage.bootstrap));
            stashAt(stage, 10_500_000, 1);
            stage.relay();
            Eventually.eventually(
                    "both are read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 2)));
            assertThat(reader.faults(Map.of("k", 2)))
                    .as("NEVER: an old record is the last of its key")
                    .isEmpty();
        }
    }

    private static void stashAt(RelayStage stage, long id, int number) throws SQLException {
        stage.execute("SELECT setval(pg_get_serial_sequence('" + stage.table.name() + "', 'id'), " + (id - 1) + ")");
        stage.stash(Writers.numbered(stage.topic, "k", number, number + 1));
    }

    @Test
    void relayThatWaitedForTheRowWhileItWasDividedIsRefusedOnPostgres() throws Exception {
        isRefused(Servers.dataSource(PostgresServer.shared().uri()), 0);
    }

    /** There is no row of its own for which it would wait. */
    @Test
    void relayOfAShardThatNobodyHasLedIsRefusedWhileItIsDividedOnPostgres() throws Exception {
        isRefused(Servers.dataSource(PostgresServer.shared().uri()), 1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void relayThatWaitedForTheRowWhileItWasDividedIsRefused(Kind kind) throws Exception {
        isRefused(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), 0);
        isRefused(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), 1);
    }

    private static void isRefused(DataSource database, int shard) throws Exception {
        var table = OutboxTable.named(Servers.fresh("divided"));
        try (var dividing = database.getConnection();
                var late = database.getConnection()) {
            var store = Store.of(dividing, table);
            OutboxSchema.create(dividing, store);
            store.acquire(dividing, new Store.Claim("x", 0, 2, "first", true));
            store.prepare(late, true);
            dividing.setAutoCommit(false);
            execute(dividing, "UPDATE " + table.relay() + " SET epoch = epoch + 1");
            var acquiring = CompletableFuture.supplyAsync(
                    () -> {
                        try {
                            return store.acquire(late, new Store.Claim("x", shard, 2, "late", true));
                        } catch (SQLException e) {
                            throw new IllegalArgumentException(e);
                        }
                    },
                    task -> new Thread(task, "late").start());
            Eventually.eventually(
                    "it waits for the row", RelayStage.PATIENCE, () -> acquiring.isDone() || waits(database));
            assertThat(acquiring)
                    .as("NEVER: a relay of the old division is admitted")
                    .isNotDone();
            execute(dividing, "UPDATE " + table.relay() + " SET shards = 3");
            dividing.commit();
            assertThatThrownBy(acquiring::join)
                    .as("NEVER: a relay of the old division is admitted")
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("divided into 3 shards");
        }
    }

    /** A server may be set so, and a pool may have its sessions so. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void outboxIsDividedAndRenamedBesideABinaryLogOfStatementsAndSafeUpdates(Kind kind) throws Exception {
        try (var server = MysqlFamilyServer.start(kind, "--log-bin=log", "--server-id=1", "--binlog-format=STATEMENT");
                var stage = new RelayStage(
                        Servers.dataSource(server.uri() + "&sessionVariables=sql_safe_updates=1"),
                        OutboxTable.Layout.BELLWETHER)) {
            publish(stage, begin(stage));
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var kafka = Map.<String, Object>of("bootstrap.servers", stage.bootstrap);
            admin.divide(stage.name, 1, kafka);
            assertThat(stage.left()).as("rows that were published, and stay").isZero();
            assertThat(admin.state().shards()).hasSize(1);
            admin.rename(stage.name, "another", kafka);
            assertThat(stage.number("SELECT count(*) FROM " + stage.table.relay() + " WHERE relay = 'another'"))
                    .isEqualTo(1);
        }
    }

    /** The old leader goes on to publish until its producers are fenced, which is behind the first reads. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void whatIsPublishedWhileTheOutboxIsBeingDividedIsNotPublishedAgain(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            var epoch = begin(stage);
            var updates = new AtomicInteger();
            var dividing = FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                @Override
                public void before(String statement) {
                    if (statement.equals("report") && updates.incrementAndGet() == 2) { // the epochs are raised
                        publish(stage, epoch);
                    }
                }
            });
            OutboxAdmin.of(dividing, stage.table).divide(stage.name, 3, Map.of("bootstrap.servers", stage.bootstrap));
            assertThat(updates).hasValueGreaterThanOrEqualTo(2);
            assertThat(stage.left()).as("rows that were published, and stay").isZero();
        }
    }

    /** It would let a relay delete that has been frozen since an earlier division, and what it has not published. */
    @Test
    void epochOfAFormerDivisionDoesNotComeBack() throws Exception {
        try (var stage = new RelayStage()) {
            epochDoesNotComeBack(stage);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void epochOfAFormerDivisionDoesNotComeBackOnMariaDbAndMySql(Kind kind) throws Exception {
        try (var stage = new RelayStage(
                Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), OutboxTable.Layout.BELLWETHER)) {
            epochDoesNotComeBack(stage);
        }
    }

    private static void epochDoesNotComeBack(RelayStage stage) throws Exception {
        try (var connection = stage.connect()) {
            var store = Store.of(connection, stage.table).asFound(connection);
            store.prepare(connection, true);
            var claim = new Store.Claim(stage.name, 1, 2, "relay", false);
            var frozen = store.acquire(connection, claim).epoch();
            for (var shards = 1; shards <= 2; shards++) {
                OutboxAdmin.of(stage.database, stage.table)
                        .divide(stage.name, shards, Map.of("bootstrap.servers", stage.bootstrap));
            }
            stage.stash(Message.of(stage.topic, "k", "0"));
            assertThat(store.acquire(connection, claim).epoch()).isGreaterThan(frozen);
            assertThat(store.delete(connection, 1, frozen, new long[] {1}))
                    .as("NEVER: who led an earlier division deletes what another is to publish")
                    .isZero();
        }
    }

    /** Leads two shards, as an old relay, and returns the epoch of the first. */
    private static long begin(RelayStage stage) throws Exception {
        stage.config(more -> more).progress().recover(0, 0, 2);
        try (var connection = stage.connect()) {
            var store = Store.of(connection, stage.table);
            store.prepare(connection, true);
            store.acquire(connection, new Store.Claim(stage.name, 1, 2, "old", true));
            var epoch = store.acquire(connection, new Store.Claim(stage.name, 0, 2, "old", true))
                    .epoch();
            assertThat(store.mark(connection, 0, epoch, new ProgressMark(epoch, 0)))
                    .isTrue();
            return epoch;
        }
    }

    /** Publishes a row of the first shard, and does not delete it. */
    private static void publish(RelayStage stage, long epoch) {
        var config = stage.config(more -> more);
        try (var producer = new KafkaProducer<byte[], byte[]>(
                ProducerSettings.of(config, config.transactionalIds(0).get(0)))) {
            stage.execute("INSERT INTO " + stage.table.name() + " (id, event_id, topic) VALUES (1, 'e', '" + stage.topic
                    + "')");
            var row = new Row(1, "e", stage.topic, null, null, null, -1, -1, 0, false);
            producer.initTransactions();
            producer.beginTransaction();
            var unused = producer.send(new ProducerRecord<>(stage.topic, new byte[0]));
            unused = producer.send(config.progress().record(0, Published.of(1, 0, epoch, List.of(row))));
            producer.commitTransaction();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns whether somebody waits for a lock. */
    static boolean waits(DataSource database) {
        try (var connection = database.getConnection();
                var statement = connection.createStatement()) {
            if (!connection.getMetaData().getDatabaseProductName().equals("PostgreSQL")) {
                return !MysqlFamilyServer.waiting(connection).isEmpty();
            }
            try (var result = statement.executeQuery("SELECT 1 FROM pg_locks WHERE NOT granted")) {
                return result.next();
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
