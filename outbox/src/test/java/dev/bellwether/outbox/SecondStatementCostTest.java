package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * What it costs on MariaDB that a read has a second statement: a table is read and emptied with it and without, in
 * turns. Without Kafka, so that the share is greater than that of a relay. {@code -Dbellwether.cost.rounds=7
 * -Dbellwether.cost.rows=200000} for figures.
 */
@Isolated("it measures")
class SecondStatementCostTest {
    private static final int ROUNDS = Integer.getInteger("bellwether.cost.rounds", 1);
    private static final int ROWS = Integer.getInteger("bellwether.cost.rows", 20_000);
    private static final int NOT_USED = 50; // an id in so many
    private static final OutboxTable TABLE = OutboxTable.named("outbox");

    /** Reads by one statement: fast, and not in order. */
    private static final class OneStatement extends MysqlStore {
        OneStatement() {
            super(TABLE);
        }

        @Override
        Found read(Connection connection, Wanted wanted, Gaps gaps) throws SQLException {
            return shown(connection, wanted, gaps);
        }
    }

    private record Run(int rows, double seconds, double reading) {}

    @Test
    @Tag("full")
    void everyRowIsReadWithItAndWithout() throws Exception {
        try (var server = MysqlFamilyServer.start(
                        Kind.MARIADB, "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M");
                var reading = server.connect();
                var deleting = server.connect()) {
            var two = new MysqlStore(TABLE);
            OutboxSchema.create(reading, TABLE);
            two.prepare(reading, false);
            two.prepare(deleting, true);
            for (var used : List.of(true, false)) {
                var what = used ? "all ids are used" : "an id in " + NOT_USED + " is not used";
                var without = new ArrayList<Run>();
                var with = new ArrayList<Run>();
                for (var round = 0; round < ROUNDS; round++) {
                    without.add(drained(new OneStatement(), reading, deleting, used));
                    with.add(drained(two, reading, deleting, used));
                }
                print(what, "drained in", without, with, Run::seconds);
                print(what, "of that, reading", without, with, Run::reading);
                assertThat(with).extracting(Run::rows).containsOnly(fill(deleting, used));
            }
        }
    }

    private static void print(
            String rows, String what, List<Run> without, List<Run> with, ToDoubleFunction<Run> figure) {
        var one = seconds(without, figure);
        var two = seconds(with, figure);
        System.out.printf(
                "%,d rows, %s: %s, s: one statement %s, two %s; medians %.3f and %.3f, ratio %.3f%n",
                ROWS,
                rows,
                what,
                Arrays.toString(one),
                Arrays.toString(two),
                median(one),
                median(two),
                median(two) / median(one));
    }

    private static double[] seconds(List<Run> runs, ToDoubleFunction<Run> figure) {
        return runs.stream()
                .mapToDouble(figure)
                .map(seconds -> Math.round(seconds * 1_000) / 1_000.0)
                .toArray();
    }

    private static double median(double[] figures) {
        var sorted = figures.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static int fill(Connection connection, boolean used) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("TRUNCATE TABLE " + TABLE.name());
            return statement.executeUpdate("INSERT INTO " + TABLE.name()
                    + " (id, topic, record_key, record_value) SELECT seq, 't', concat('key-', seq % 10000),"
                    + " random_bytes(256) FROM seq_1_to_" + ROWS + (used ? "" : " WHERE seq % " + NOT_USED + " <> 0"));
        }
    }

    private static Run drained(MysqlStore store, Connection reading, Connection deleting, boolean used)
            throws SQLException {
        var rows = fill(deleting, used);
        var tenancy = store.acquire(deleting, new Store.Claim("x", 0, 1, "reading", true));
        var reader = new RowReader(
                store,
                RelayConfig.named("x").build(),
                0,
                reading,
                store.openWriters(reading, deleting),
                tenancy.low(),
                row -> false,
                new Meter(),
                System::nanoTime);
        var count = 0;
        var nanos = 0L;
        var began = System.nanoTime();
        for (var more = true; more; ) {
            var from = System.nanoTime();
            var batch = reader.next(100_000, 64 << 20);
            nanos += System.nanoTime() - from;
            var ids = batch.rows().stream().mapToLong(Row::id).sorted().toArray();
            more = ids.length > 0;
            if (more) {
                store.delete(deleting, 0, tenancy.epoch(), ids);
                reader.disposed(ids);
            }
            count += ids.length;
        }
        assertThat(count).isEqualTo(rows);
        return new Run(count, (System.nanoTime() - began) / 1e9, nanos / 1e9);
    }
}
