package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ManyGapsTest {
    private static final int BLOCKED = 24_000;

    @Test
    void thousandsOfIdsThatAreNeverUsedBetweenBlockedRowsStopNothingOnPostgres() throws Exception {
        stopNothing(Servers.dataSource(PostgresServer.shared().uri()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MARIADB_PLAIN", "MYSQL"})
    void thousandsOfIdsThatAreNeverUsedBetweenBlockedRowsStopNothing(Kind kind) throws Exception {
        stopNothing(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()));
    }

    private static void stopNothing(DataSource database) throws Exception {
        try (var stage = new RelayStage(database, OutboxTable.Layout.BELLWETHER);
                var reader = stage.reader(true);
                var slow = stage.connect();
                var burning = stage.connect()) {
            slow.setAutoCommit(false);
            Outbox.of(stage.table).stash(slow, Message.of(stage.topic, "slow", "0"));
            stage.stash(Message.to(stage.topic).key("blocked").partition(99).build());
            burn(burning, stage.table, stage.topic);
            stage.stash(Writers.numbered(stage.topic, "free", 0, 100));
            stage.relay(more -> more.producer(Map.of("bootstrap.servers", stage.bootstrap, "max.block.ms", 1_000))
                    .haltRetry(Duration.ofHours(1)));
            Eventually.eventually(
                    "the free rows are read while a transaction is open",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("free", 100)));
            slow.commit();
            stage.stash(List.of(Message.of(stage.topic, "slow", "1")));
            var written = Map.of("free", 100, "slow", 2);
            Eventually.eventually(
                    "the late row is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written)).as("NEVER: out of order or lost").isEmpty();
        }
    }

    private static void burn(Connection connection, OutboxTable table, String topic) throws SQLException {
        connection.setAutoCommit(false);
        try (var statement = connection.createStatement()) {
            var key = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL")
                    ? "convert_to('blocked', 'UTF8')"
                    : "'blocked'";
            var row = "('" + topic + "', " + key + ", NULL)";
            for (var rows = 0; rows < BLOCKED; rows += 1_000) {
                statement.execute("INSERT INTO " + table.name() + " (topic, record_key, record_value) VALUES "
                        + String.join(", ", java.util.Collections.nCopies(1_000, row)));
            }
            statement.execute("DELETE FROM " + table.name() + " WHERE id % 4 = 0 AND id > 4");
        }
        connection.commit();
    }

    /** A writer that stays open for hours keeps gaps open on PostgreSQL, and nothing closes them on others. */
    @Test
    void rowsThatWaitInAnotherShardAreReadOnceOnPostgres() throws Exception {
        readOnce(Servers.dataSource(PostgresServer.shared().uri()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void rowsThatWaitInAnotherShardAreReadOnce(Kind kind) throws Exception {
        readOnce(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()));
    }

    private static void readOnce(DataSource database) throws SQLException {
        var table = OutboxTable.named(Servers.fresh("divided"));
        try (var connection = database.getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            burn(connection, table, "t");
            store.prepare(connection, false);
            var shard = store.ids(connection, 0, BLOCKED, 1, 0, 2).length == 0 ? 0 : 1;
            var reader = new RowReader(
                    store,
                    RelayConfig.named("x").shards(2).build(),
                    shard,
                    connection,
                    Optional::empty,
                    0,
                    row -> false,
                    new Meter(),
                    System::nanoTime);
            var reads = 1;
            while (reader.next(100_000, Long.MAX_VALUE).more()) {
                assertThat(reads++).as("reads of rows of another shard").isLessThan(20);
            }
            for (var poll = 0; poll < 3; poll++) {
                assertThat(reader.next(100_000, Long.MAX_VALUE).more())
                        .as("there is more to read, at poll %s", poll)
                        .isFalse();
            }
            store.restore(connection);
        }
    }
}
