package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a rotated table gives back, what it keeps, and what is read out of it, on a real PostgreSQL. */
class RotatedStoreTest {
    private static final Ring RING = new Ring(100, 4);

    private final DataSource database =
            Servers.dataSource(PostgresServer.shared().uri());
    private final OutboxTable table = OutboxTable.named(Servers.fresh("rotated"));

    /** A table, a connection, and a shard that is ours. */
    private final class Stage implements AutoCloseable {
        final Connection connection = database.getConnection();
        final RotatedStore store = new RotatedStore(table, RING, "60s");
        final Store.Tenancy tenancy;

        Stage() throws SQLException {
            OutboxSchema.create(connection, store);
            store.prepare(connection, false);
            tenancy = store.acquire(connection, new Store.Claim("x", 0, 1, "r", true));
        }

        void publish(LongStream ids) throws SQLException {
            var sorted = ids.sorted().toArray();
            assertThat(store.delete(connection, 0, tenancy.epoch(), sorted)).isEqualTo(sorted.length);
        }

        List<Long> rows() throws SQLException {
            return longs("SELECT id FROM " + table.name() + " ORDER BY id");
        }

        List<Long> toPublish() throws SQLException {
            return longs("SELECT id FROM " + store.toPublish() + " AS r ORDER BY id");
        }

        private List<Long> longs(String sql) throws SQLException {
            try (var statement = connection.createStatement();
                    var result = statement.executeQuery(sql)) {
                var longs = new ArrayList<Long>();
                while (result.next()) {
                    longs.add(result.getLong(1));
                }
                return longs;
            }
        }

        @Override
        public void close() throws SQLException {
            connection.close();
        }
    }

    private static void insert(Connection connection, OutboxTable table, int rows) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("INSERT INTO " + table.name() + " (topic, record_key, record_value)"
                    + " SELECT 't', convert_to('k' || i % 7, 'UTF8'), 'v' FROM generate_series(1, " + rows + ") i");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {100, 1_000_000, 5_000_000_000L})
    void formAndRingAreFoundInTheCatalog(long rows) throws SQLException {
        try (var connection = database.getConnection()) {
            assertThat(OutboxSchema.form(connection, table)).isEmpty();
            OutboxSchema.create(connection, new RotatedStore(table, new Ring(rows, 5)));
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.ROTATED);
            assertThat(((RotatedStore) Store.of(connection, table).asFound(connection)).ring())
                    .isEqualTo(new Ring(rows, 5));
            OutboxSchema.create(connection, table); // there is one
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.ROTATED);
        }
    }

    @Test
    void statementsThatArePrintedMakeTheTable() throws SQLException {
        try (var connection = database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute(OutboxSchema.ddl(connection, table, OutboxForm.ROTATED));
            assertThat(((RotatedStore) Store.of(connection, table).asFound(connection)).ring())
                    .isEqualTo(Ring.USUAL);
            insert(connection, table, 3);
        }
    }

    @Test
    void layoutOfGoharvestIsNotRotated() throws SQLException {
        var theirs = OutboxTable.ofGoharvest(table.name());
        try (var connection = database.getConnection()) {
            assertThatThrownBy(() -> OutboxSchema.create(connection, theirs, OutboxForm.ROTATED))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(table.name() + " cannot be rotated");
        }
    }

    @Test
    void partIsEmptiedWhenAllOfItIsPublishedAndItsTurnIsOver() throws SQLException {
        try (var stage = new Stage()) {
            insert(stage.connection, table, 350);
            stage.publish(LongStream.rangeClosed(1, 340));
            assertThat(stage.toPublish())
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(341, 350).boxed().toList());
            assertThat(stage.store.rotate(stage.connection, 350, Duration.ZERO)).isTrue();
            assertThat(stage.rows())
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(300, 350).boxed().toList());
            assertThat(stage.toPublish())
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(341, 350).boxed().toList());
            assertThat(stage.store.rotate(stage.connection, 350, Duration.ZERO)).isFalse();
        }
    }

    @Test
    void partThatStaysForItsAgeIsNotSearchedForWhatIsToPublish() throws SQLException {
        var asked = new ArrayList<String>();
        try (var stage = new Stage()) {
            insert(stage.connection, table, 350);
            stage.publish(LongStream.rangeClosed(1, 350));
            var watched = FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
                var result = FaultyDatabase.call(stage.connection, method, arguments);
                return result instanceof Statement statement && method.getName().equals("createStatement")
                        ? FaultyDatabase.proxy(Statement.class, (called, with) -> {
                            if (with != null && called.getName().startsWith("execute")) {
                                asked.add(String.valueOf(with[0]));
                            }
                            return FaultyDatabase.call(statement, called, with);
                        })
                        : result;
            });
            assertThat(stage.store.rotate(watched, 350, Duration.ofHours(1))).isTrue();
        }
        assertThat(asked)
                .filteredOn(sql -> sql.contains("range_agg"))
                .isNotEmpty()
                .as("of the part whose turn comes next only")
                .allMatch(sql -> sql.contains(table.name() + "_0"));
    }

    @Test
    void whatIsRetainedIsKeptUntilItIsOldOrItsPlaceIsNeeded() throws SQLException {
        var day = Duration.ofDays(1);
        try (var stage = new Stage();
                var statement = stage.connection.createStatement()) {
            insert(stage.connection, table, 350);
            stage.publish(LongStream.rangeClosed(1, 350));
            assertThat(stage.store.rotate(stage.connection, 350, day)).isTrue();
            assertThat(stage.rows())
                    .as("the part whose turn comes next is emptied")
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(100, 350).boxed().toList());
            assertThat(stage.store.rotate(stage.connection, 350, day)).isFalse();
            statement.execute("UPDATE " + table.name() + " SET created = created - interval '2 days' WHERE id = 199");
            assertThat(stage.store.rotate(stage.connection, 350, day))
                    .as("the last has been requeued, with its time")
                    .isFalse();
            statement.execute("UPDATE " + table.name() + " SET created = created - interval '2 days' WHERE id < 199");
            assertThat(stage.store.rotate(stage.connection, 350, day)).isTrue();
            assertThat(stage.rows())
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(200, 350).boxed().toList());
        }
    }

    @Test
    void whatIsToBePublishedAgainIsNotEmptiedMeanwhile() throws Exception {
        try (var stage = new Stage();
                var replaying = database.getConnection()) {
            insert(stage.connection, table, 350);
            stage.publish(LongStream.rangeClosed(1, 350));
            replaying.setAutoCommit(false);
            var again = new Republisher(replaying, stage.store, Replay.fromId(150));
            again.keep();
            assertThat(again.unpublish()).isEqualTo(201);
            var emptying = CompletableFuture.supplyAsync(() -> {
                try {
                    return stage.store.empty(stage.connection, 2);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            try (var looking = database.getConnection()) {
                Eventually.eventually("it waits for the replay", Duration.ofSeconds(30), () -> waits(looking, 2));
            }
            replaying.commit();
            emptying.get();
            assertThat(stage.toPublish())
                    .as("NEVER: what is to be published is gone")
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(150, 350).boxed().toList());
        }
    }

    @Test
    void rowThatIsNotPublishedKeepsItsPart() throws SQLException {
        try (var stage = new Stage()) {
            insert(stage.connection, table, 350);
            stage.publish(LongStream.rangeClosed(1, 349).filter(id -> id != 150));
            assertThat(stage.store.isSpent(stage.connection, 1)).isFalse();
            stage.store.empty(stage.connection, 1); // one that has looked before a row came asks for that
            assertThat(stage.store.rotate(stage.connection, 350, Duration.ZERO)).isTrue();
            assertThat(stage.rows().stream().filter(id -> id < 300))
                    .containsExactlyElementsOf(
                            LongStream.rangeClosed(100, 199).boxed().toList());
            assertThat(stage.toPublish())
                    .as("NEVER: what is not published is gone")
                    .containsExactly(150L, 350L);
        }
    }

    @Test
    void rowsOfTransactionThatEndsWhileItsPartIsBeingEmptiedStay() throws Exception {
        try (var stage = new Stage();
                var writer = database.getConnection()) {
            writer.setAutoCommit(false);
            insert(stage.connection, table, 50);
            insert(writer, table, 1); // 51, not committed
            insert(stage.connection, table, 200);
            stage.publish(LongStream.rangeClosed(1, 251).filter(id -> id != 51));
            assertThat(stage.store.isSpent(stage.connection, 0))
                    .as("as far as one sees")
                    .isTrue();
            var rotation = CompletableFuture.supplyAsync(() -> {
                try {
                    return stage.store.rotate(stage.connection, 251, Duration.ZERO);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            });
            try (var looking = database.getConnection()) {
                Eventually.eventually("it waits for the writer", Duration.ofSeconds(30), () -> waits(looking, 0));
            }
            writer.commit();
            rotation.get();
            assertThat(stage.toPublish())
                    .as("NEVER: what is not published is gone")
                    .containsExactly(51L);
        }
    }

    private boolean waits(Connection connection, int part) {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"
                        + table.name() + "_" + part + "'::regclass")) {
            return result.next() && result.getLong(1) > 0;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void partThatSomebodyReadsIsLeftForLater() throws SQLException {
        try (var stage = new Stage();
                var backup = database.getConnection()) {
            backup.setAutoCommit(false);
            insert(stage.connection, table, 250);
            try (var statement = backup.createStatement()) {
                statement.execute("SELECT count(*) FROM " + table.name());
            }
            stage.publish(LongStream.rangeClosed(1, 250));
            var impatient = new RotatedStore(table, RING);
            assertThat(impatient.rotate(stage.connection, 250, Duration.ZERO)).isFalse();
            assertThat(stage.rows()).hasSize(250);
            backup.commit();
            assertThat(impatient.rotate(stage.connection, 250, Duration.ZERO)).isTrue();
            assertThat(stage.rows()).hasSize(51);
        }
    }

    @Test
    void rowThatCameIntoAnEmptiedPartIsToPublish() throws SQLException {
        try (var stage = new Stage()) {
            insert(stage.connection, table, 250);
            stage.publish(LongStream.rangeClosed(1, 250));
            assertThat(stage.store.rotate(stage.connection, 250, Duration.ZERO)).isTrue();
            try (var statement = stage.connection.createStatement()) {
                statement.execute("INSERT INTO " + table.name() + " (id, topic) VALUES (17, 't')");
            }
            assertThat(stage.toPublish()).containsExactly(17L);
            assertThat(stage.store.isSpent(stage.connection, 0)).isFalse();
        }
    }

    @Test
    void emptyingWithASnapshotFromBeforeIsRefused() throws SQLException {
        try (var stage = new Stage()) {
            insert(stage.connection, table, 250);
            stage.publish(LongStream.rangeClosed(1, 250));
            stage.connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            assertThatThrownBy(() -> stage.store.rotate(stage.connection, 250, Duration.ZERO))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("snapshot");
            assertThat(stage.rows()).hasSize(250);
        }
    }

    @Test
    void whoDoesNotOwnTheShardAnyMoreWritesNothingDown() throws SQLException {
        try (var stage = new Stage()) {
            insert(stage.connection, table, 3);
            stage.store.acquire(stage.connection, new Store.Claim("x", 0, 1, "other", true));
            assertThat(stage.store.delete(stage.connection, 0, stage.tenancy.epoch(), new long[] {1, 2, 3}))
                    .isZero();
            assertThat(stage.toPublish()).hasSize(3);
        }
    }

    /**
     * More runs than are read at a time, holes that nobody will fill, and rows to publish before, between and behind.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void whoBeginsReadsWhatIsInNoRunOnceAndInOrder(int seed) throws SQLException {
        var random = new Random(seed);
        try (var stage = new Stage()) {
            insert(stage.connection, table, 30_000);
            try (var statement = stage.connection.createStatement()) {
                statement.execute("DELETE FROM " + table.name() + " WHERE id % 11 = " + random.nextInt(11));
            }
            var there = stage.rows();
            var expected = new TreeSet<>(there);
            var published = new ArrayList<Long>();
            for (var id : there) {
                if (id < 28_000 && random.nextInt(3) > 0) {
                    published.add(id);
                    expected.remove(id);
                }
            }
            java.util.Collections.shuffle(published, random);
            for (var from = 0; from < published.size(); from += 3_000) {
                stage.publish(published.subList(from, Math.min(published.size(), from + 3_000)).stream()
                        .mapToLong(Long::longValue));
            }
            var config = RelayConfig.named("x").maxTransactionRecords(500).build();
            var meter = new Meter();
            var intake = new RowReader(
                    stage.store,
                    config,
                    0,
                    stage.connection,
                    stage.store.openWriters(stage.connection, stage.connection),
                    stage.tenancy.low(),
                    row -> false,
                    meter,
                    System::nanoTime);
            var read = new ArrayList<Long>();
            Eventually.eventually("all is read", Duration.ofSeconds(60), () -> {
                for (var row : next(intake, random)) {
                    read.add(row.id());
                }
                return read.size() >= expected.size();
            });
            assertThat(read)
                    .as("NEVER: lost, out of order, or read again though it was published")
                    .containsExactlyElementsOf(expected);
            assertThat(intake.cursor()).isEqualTo(there.get(there.size() - 1));
            assertThat(next(intake, random)).isEmpty();
            assertThat(meter.strays.get()).isZero();
            stage.publish(expected.stream().mapToLong(Long::longValue));
            intake.disposed(expected.stream().mapToLong(Long::longValue).toArray());
            Eventually.eventually(
                    "gaps are closed",
                    Duration.ofSeconds(60),
                    () -> next(intake, random).isEmpty() && intake.low() >= intake.cursor());
            try (var statement = stage.connection.createStatement()) {
                statement.execute("INSERT INTO " + table.name() + " (id, topic) SELECT min(id), 't' FROM"
                        + " generate_series(1, 12) AS g(id) WHERE id NOT IN (SELECT id FROM " + table.name() + ")");
            }
            var stray = Eventually.eventually(
                    "what came against the conditions is found by the sweep",
                    Duration.ofSeconds(60),
                    () -> next(intake, random).stream().findFirst());
            assertThat(stray.id()).isLessThan(13);
            assertThat(meter.strays.get()).isOne();
        }
    }

    private static List<Row> next(RowReader intake, Random random) {
        try {
            return intake.next(1 + random.nextInt(900), 1 << 20).rows();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void backlogIsWhatIsToPublish() throws SQLException {
        try (var stage = new Stage();
                var statement = stage.connection.createStatement()) {
            insert(stage.connection, table, 250);
            stage.publish(LongStream.rangeClosed(1, 240).filter(id -> id % 100 != 0));
            statement.execute("UPDATE " + table.name() + " SET created = created - interval '1 day' WHERE id < 100");
            statement.execute("UPDATE " + table.name() + " SET created = created - interval '90 s' WHERE id = 100");
            var admin = OutboxAdmin.of(database, table);
            for (var state : List.of(admin.state(), admin.quickState())) {
                assertThat(state.backlog()).isEqualTo(12);
                assertThat(state.exact()).isTrue();
                assertThat(state.oldest())
                        .as("what was published stands there, and is older")
                        .isBetween(Duration.ofSeconds(90), Duration.ofMinutes(10));
            }
            assertThat(stage.store.backlog(stage.connection, Long.MIN_VALUE, 5).rows())
                    .as("more than are counted")
                    .isEqualTo(6);
            assertThat(stage.store.backlog(stage.connection, Long.MIN_VALUE, 3).rows())
                    .as("more runs than are looked through")
                    .isEqualTo(4);
            assertThat(stage.store.estimate(stage.connection)).isEqualTo(12);

            assertThat(stage.store.report(stage.connection, 0, stage.tenancy.epoch(), 150, 0, 0))
                    .isTrue();
            assertThat(admin.state().backlog()).isEqualTo(12);
            var behindTheMark = admin.quickState();
            assertThat(behindTheMark.backlog()).isEqualTo(11);
            assertThat(behindTheMark.oldest()).isLessThan(Duration.ofSeconds(90));
            assertThat(stage.store.estimate(stage.connection)).isEqualTo(11);

            stage.publish(LongStream.of(100, 200));
            stage.publish(LongStream.rangeClosed(241, 250));
            for (var state : List.of(admin.state(), admin.quickState())) {
                assertThat(state.backlog()).isZero();
                assertThat(state.oldest()).isZero();
            }
        }
    }

    @Test
    void emptyTableHasNoBacklog() throws SQLException {
        try (var stage = new Stage()) {
            var state = OutboxAdmin.of(database, table).quickState();
            assertThat(state.backlog()).isZero();
            assertThat(state.exact()).isTrue();
            assertThat(state.oldest()).isZero();
            assertThat(stage.store.estimate(stage.connection)).isEqualTo(0);
        }
    }

    @Test
    void doctorSaysWhoCannotGiveBackStorage() throws SQLException {
        try (var stage = new Stage()) {
            var admin = OutboxAdmin.of(database, table);
            assertThat(admin.examine(java.util.Optional.empty()))
                    .anyMatch(finding -> finding.what().contains("is rotated, in 4 parts"))
                    .noneMatch(finding -> finding.what().contains("seldom"));
            var user = "u" + table.name();
            try (var statement = stage.connection.createStatement()) {
                statement.execute("CREATE ROLE " + user + " LOGIN");
                for (var of : List.of(table.name(), table.relay(), table.parked(), table.done())) {
                    statement.execute("GRANT SELECT ON " + of + " TO " + user);
                }
            }
            var uri = PostgresServer.shared().uri().replace("user=postgres", "user=" + user);
            assertThat(OutboxAdmin.of(Servers.dataSource(uri), table).examine(java.util.Optional.empty()))
                    .anyMatch(finding -> finding.what().contains("no TRUNCATE on " + table.name() + "_0"));
        }
    }

    @Test
    void runsEndWhereATurnEndsAndAreNoLongerThanIsLookedFor() {
        var ids = LongStream.of(-101, -100, -99, 0, 1, 98, 99, 100, 101, 103).toArray();
        var runs = Runs.of(ids, RING);
        assertThat(runs.from()).containsExactly(-101, -99, 0, 98, 100, 103);
        assertThat(runs.to()).containsExactly(-100, -99, 1, 99, 101, 103);
        var many = Runs.of(LongStream.range(0, 40_000).toArray(), Ring.USUAL);
        assertThat(many.from()).containsExactly(0, Runs.LONGEST, 2L * Runs.LONGEST);
    }
}
