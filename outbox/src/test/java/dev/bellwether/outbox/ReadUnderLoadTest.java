package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What is read out of real databases while applications of all kinds write: each row once, those of a key in their
 * order, none left to the sweep. Seconds by default; {@code -Dbellwether.load.seconds=600} for ten minutes on each
 * database.
 */
class ReadUnderLoadTest {
    private static final Duration TIME = Duration.ofSeconds(Long.getLong("bellwether.load.seconds", 6));
    private static final Duration ENOUGH = Duration.ofSeconds(6); // for a reader without proof
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(90);

    @Test
    void postgresIsReadInOrderWhateverItsWritersDo() throws Exception {
        inOrder(Servers.dataSource(PostgresServer.shared().uri()), true);
    }

    @Test
    void rotatedTableIsReadInOrderWhileItsPartsAreEmptied() throws Exception {
        var database = Servers.dataSource(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("load"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, new RotatedStore(table, new Ring(200, 3)));
        }
        inOrder(database, table, true);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void mysqlAndMariaDbAreReadInOrderWhateverTheirWritersDo(Kind kind) throws Exception {
        inOrder(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()), kind != Kind.MARIADB_PLAIN);
    }

    @Test
    void readerOfPostgresThatClosesGapsWithoutProofIsFound() throws Exception {
        isFound(Servers.dataSource(PostgresServer.shared().uri()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void readerThatClosesGapsWithoutProofIsFound(Kind kind) throws Exception {
        isFound(Servers.dataSource(MysqlFamilyServer.shared(kind).uri()));
    }

    /** A planted fault: whatever is not there at the next read is taken for lost. */
    private static void isFound(DataSource database) throws Exception {
        var table = table(database);
        OpenWriters nobody = () -> Optional.of(new OpenWriters.Holders(Set.of(), false));
        try (var writers = new MixedWriters(database, table, "t", 60, 1).begin(20);
                var reading = new Reading(database, table, new Random(1), Optional.of(nobody))) {
            reading.during(ENOUGH);
            var written = writers.end();
            reading.during(Duration.ofSeconds(1));
            assertThat(reading.meter.strays.get()
                            + reading.ledger.faults(written).size())
                    .as("what closing gaps without proof passes over")
                    .isPositive();
        }
    }

    private static OutboxTable table(DataSource database) throws SQLException {
        var table = OutboxTable.named(Servers.fresh("load"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, Store.of(connection, table));
        }
        return table;
    }

    private static void inOrder(DataSource database, boolean tells) throws Exception {
        inOrder(database, table(database), tells);
    }

    private static void inOrder(DataSource database, OutboxTable table, boolean tells) throws Exception {
        var seed = Long.getLong("bellwether.load.seed", System.nanoTime() & 0xffff_ffffL);
        try (var writers = new MixedWriters(database, table, "t", 60, seed).begin(20);
                var reading = new Reading(database, table, new Random(seed), Optional.empty())) {
            reading.during(TIME);
            reading.untilRotated();
            var written = writers.end();
            reading.untilComplete(written);
            assertThat(reading.ledger.faults(written))
                    .as("NEVER: out of order or lost, with seed %s", seed)
                    .isEmpty();
            assertThat(reading.meter.strays.get())
                    .as("NEVER: rows found by the sweep only, with seed %s", seed)
                    .isZero();
            assertThat(reading.ledger.repeats())
                    .as("NEVER: rows read twice, with seed %s", seed)
                    .isZero();
            assertThat(writers.unexpected()).as("with seed %s", seed).isEmpty();
            if (tells) {
                reading.untilDecided();
            }
            if (reading.store instanceof RotatedStore) {
                assertThat(reading.rotations).as("parts emptied").isPositive();
            }
        }
    }

    /** One reader, and who deletes what it has read. */
    private static final class Reading implements AutoCloseable {
        final Ledger ledger = new Ledger();
        final Meter meter = new Meter();
        private final Random random;
        private final Store store;
        private final Connection connection;
        private final Connection deleting;
        private final Store.Tenancy tenancy;
        private final RowReader intake;
        private int rotations;
        private long highest;
        private final Deque<Long> read = new ArrayDeque<>();

        Reading(DataSource database, OutboxTable table, Random random, Optional<OpenWriters> planted)
                throws SQLException {
            this.random = random;
            connection = database.getConnection();
            deleting = database.getConnection();
            store = Store.of(connection, table).asFound(connection);
            store.prepare(connection, false);
            store.prepare(deleting, true);
            tenancy = store.acquire(deleting, new Store.Claim("x", 0, 1, "reading", true));
            var config = RelayConfig.named("x").maxTransactionRecords(500).build();
            var writers = planted.isPresent() ? planted.get() : store.openWriters(connection, deleting);
            intake = new RowReader(
                    store, config, 0, connection, writers, tenancy.low(), row -> false, meter, System::nanoTime);
        }

        void during(Duration time) throws SQLException {
            var began = System.nanoTime();
            while (System.nanoTime() - began < time.toNanos()) {
                turn();
            }
        }

        /** However few rows a slow machine has written by now. */
        void untilRotated() throws SQLException {
            var began = System.nanoTime();
            while (store instanceof RotatedStore && rotations == 0 && System.nanoTime() - began < PATIENCE_NANOS) {
                turn();
            }
        }

        void untilComplete(Map<String, Integer> written) throws SQLException {
            var began = System.nanoTime();
            while (!ledger.isComplete(written) && System.nanoTime() - began < PATIENCE_NANOS) {
                turn();
            }
        }

        /** Nothing is open any more, so no gap may stay. */
        void untilDecided() throws SQLException {
            var began = System.nanoTime();
            while (intake.low() < highest && System.nanoTime() - began < PATIENCE_NANOS) {
                turn();
                while (!read.isEmpty()) {
                    delete();
                }
            }
            assertThat(intake.low()).as("up to where all is decided").isGreaterThanOrEqualTo(highest);
        }

        private void turn() throws SQLException {
            for (var row : intake.next(1 + random.nextInt(500), 1 << 20).rows()) {
                read.add(row.id());
                highest = Math.max(highest, row.id());
                if (row.key() != null) {
                    var value = new String(Objects.requireNonNull(row.value()), StandardCharsets.UTF_8);
                    ledger.read(
                            new String(row.key(), StandardCharsets.UTF_8),
                            Integer.parseInt(value.substring(0, value.indexOf(' '))));
                }
            }
            if (random.nextInt(4) == 0) {
                delete();
            }
            if (random.nextInt(20) == 0 && store.rotate(connection, intake.cursor(), Duration.ZERO)) {
                rotations++;
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(10)));
        }

        private void delete() throws SQLException {
            List<Long> gone = new ArrayList<>();
            for (var most = random.nextInt(300); most > 0 && !read.isEmpty(); most--) {
                gone.add(read.remove());
            }
            if (!gone.isEmpty()) {
                var ids = gone.stream().mapToLong(Long::longValue).sorted().toArray();
                assertThat(store.delete(deleting, 0, tenancy.epoch(), ids)).isEqualTo(ids.length);
                intake.disposed(ids);
            }
        }

        @Override
        public void close() throws SQLException {
            connection.close();
            deleting.close();
        }
    }
}
