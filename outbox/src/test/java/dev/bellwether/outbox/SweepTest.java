package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;
import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.PostgresServer;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SweepTest {
    private static final int DEAD = 300_000;

    @Test
    void sweepAndLagCostNothingThatGrowsWithDeadRows() throws Exception {
        var database = Servers.dataSource(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("swept"));
        try (var holding = database.getConnection();
                var connection = database.getConnection();
                var deleting = database.getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            execute(connection, "ALTER TABLE " + table.name() + " SET (autovacuum_enabled = off)");
            holding.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            holding.setAutoCommit(false);
            number(holding, "SELECT count(*) FROM " + table.name()); // keeps what dies from being removed
            execute(
                    connection,
                    "INSERT INTO " + table.name() + " (topic) SELECT 't' FROM generate_series(1, " + DEAD + ")");
            execute(connection, "DELETE FROM " + table.name());
            execute(connection, "INSERT INTO " + table.name() + " (topic) VALUES ('t')");
            store.prepare(connection, false);
            store.prepare(deleting, true);
            var config =
                    RelayConfig.named("x").sweepInterval(Duration.ofNanos(1)).build();
            var time = new long[1];
            // the turn is over before a second step: what one step costs is what is looked at
            var intake = new RowReader(
                    store,
                    config,
                    0,
                    connection,
                    store.openWriters(connection, deleting),
                    DEAD,
                    row -> false,
                    new Meter(),
                    () -> time[0] += 6_000_000);
            intake.next(10, 1 << 20);
            var before = touched(connection, table);
            for (var turn = 0; turn < 10; turn++) {
                time[0] += Duration.ofHours(1).toNanos(); // so that each turn sweeps
                intake.next(10, 1 << 20);
                store.ageMillis(connection, intake.oldest().orElseThrow() - 1);
            }
            var each = (touched(connection, table) - before) / 10;
            number(connection, "SELECT count(id) FROM " + table.name() + " WHERE id > 0");
            var all = touched(connection, table) - before - 10 * each;
            assertThat(each)
                    .as("blocks touched by a turn, of %s that a walk over all touches", all)
                    .isLessThan(all / 4);
        }
    }

    /** As those of a table that was emptied by TRUNCATE, on MariaDB and MySQL. */
    @Test
    void rowWhoseIdFollowsOneThatBeganAgainIsFoundByTheNextSweep() throws Exception {
        var database = Servers.dataSource(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("swept"));
        try (var connection = database.getConnection();
                var deleting = database.getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            var time = new long[1];
            var intake = new RowReader(
                    store,
                    RelayConfig.named("x").build(),
                    0,
                    connection,
                    store.openWriters(connection, deleting),
                    1_000_000_000,
                    row -> false,
                    new Meter(),
                    () -> time[0] += 6_000_000); // a sweep is over before a second step
            for (var id = 1; id <= 5; id++) {
                execute(connection, "INSERT INTO " + table.name() + " (topic) VALUES ('t')");
                var read = List.<Row>of();
                for (var sweeps = id == 1 ? 3 : 1; read.isEmpty() && sweeps > 0; sweeps--) {
                    time[0] += Duration.ofHours(1).toNanos();
                    read = intake.next(10, 1 << 20).rows();
                }
                assertThat(read).extracting(Row::id).containsExactly((long) id);
            }
        }
    }

    /** Returns how many blocks of table and index this server has looked at. */
    private static long touched(Connection connection, OutboxTable table) throws SQLException {
        execute(connection, "SELECT pg_stat_force_next_flush()");
        return number(
                connection,
                "SELECT heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read FROM pg_statio_user_tables"
                        + " WHERE relname = '" + table.name() + "'");
    }
}
