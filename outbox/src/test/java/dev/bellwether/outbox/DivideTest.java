package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
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
        isRefused(Servers.dataSource(PostgresServer.shared().uri()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void relayThatWaitedForTheRowWhileItWasDividedIsRefused(Kind kind) throws Exception {
        isRefused(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()));
    }

    private static void isRefused(DataSource database) throws Exception {
        var table = OutboxTable.named(Servers.fresh("divided"));
        try (var dividing = database.getConnection();
                var late = database.getConnection()) {
            var store = Store.of(dividing, table);
            OutboxSchema.create(dividing, store);
            store.acquire(dividing, new Store.Claim("x", 0, 1, "first", true));
            store.prepare(late, true);
            dividing.setAutoCommit(false);
            execute(dividing, "UPDATE " + table.relay() + " SET epoch = epoch + 1");
            var acquiring = CompletableFuture.supplyAsync(
                    () -> {
                        try {
                            return store.acquire(late, new Store.Claim("x", 0, 1, "late", true));
                        } catch (SQLException e) {
                            throw new IllegalArgumentException(e);
                        }
                    },
                    task -> new Thread(task, "late").start());
            Eventually.eventually("it waits for the row", RelayStage.PATIENCE, () -> waits(database));
            execute(dividing, "UPDATE " + table.relay() + " SET shards = 2");
            dividing.commit();
            assertThatThrownBy(acquiring::join)
                    .as("NEVER: a relay of the old division is admitted")
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("divided into 2 shards");
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
