package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.outbox.OutboxAdmin.BlockedRecord;
import dev.bellwether.outbox.OutboxAdmin.Waits;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What waits is told in the database, with the reason, as long as it waits. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class BlockedRecordsTest {
    private static List<BlockedRecord> blocked(RelayStage stage, int count) {
        var admin = OutboxAdmin.of(stage.database, stage.table);
        return Eventually.eventually(count + " are blocked", RelayStage.PATIENCE, () -> {
            try {
                var found = admin.blocked(100);
                return found.size() == count
                        ? java.util.Optional.of(found)
                        : java.util.Optional.<List<BlockedRecord>>empty();
            } catch (java.sql.SQLException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static Message tooPartitioned(RelayStage stage) {
        return Message.to(stage.topic).key("bad").partition(99).build();
    }

    private static void blocksAndClears(RelayStage stage) throws Exception {
        var absent = Servers.fresh("absent");
        stage.relay(more -> more.haltRetry(Duration.ofSeconds(1)));
        stage.stash(tooPartitioned(stage), Message.of(absent, "k", "0"), Message.of(stage.topic, "k", "0"));
        var two = blocked(stage, 2);
        assertThat(two.stream().map(BlockedRecord::waits)).containsExactly(Waits.KEY, Waits.TOPIC);
        assertThat(two.get(0).topic()).isEqualTo(stage.topic);
        assertThat(two.get(0).reason()).contains("99");
        assertThat(two.get(1).reason()).contains(absent);
        assertThat(OutboxAdmin.of(stage.database, stage.table).state().blocked())
                .isEqualTo(2);
        // it is tried again and blocked again, and has been for as long as before
        stage.stash(Message.of(stage.topic, "k", "1"));
        Servers.topic(stage.bootstrap, absent, 1, Map.of());
        var one = blocked(stage, 1).get(0);
        assertThat(one.id()).isEqualTo(two.get(0).id());
        assertThat(one.since()).isEqualTo(two.get(0).since());
        stage.execute("DELETE FROM " + stage.table.name() + " WHERE record_partition = 99");
        blocked(stage, 0);
        stage.awaitEmpty();
    }

    @Test
    void keysAndTopicsThatWaitAreListedUntilTheyDoNot() throws Exception {
        try (var stage = new RelayStage()) {
            blocksAndClears(stage);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void keysAndTopicsThatWaitAreListedOnMariaDbAndMySql(Kind kind) throws Exception {
        var uri = MysqlFamilyServer.shared(kind).uri();
        try (var stage = new RelayStage(Servers.dataSource(uri), OutboxTable.Layout.BELLWETHER)) {
            blocksAndClears(stage);
        }
    }

    @Test
    void recordThatHaltsTheShardIsListedWhileItDoes() throws Exception {
        try (var stage = new RelayStage()) {
            stage.relay(more -> more.poison(Poison.HALT).haltRetry(Duration.ofSeconds(2)));
            stage.stash(tooPartitioned(stage), Message.of(stage.topic, "k", "0"));
            assertThat(blocked(stage, 1).get(0).waits()).isEqualTo(Waits.SHARD);
            stage.execute("DELETE FROM " + stage.table.name() + " WHERE record_partition = 99");
            stage.awaitEmpty();
            blocked(stage, 0);
        }
    }

    @Test
    void whatAnEarlierLeaderHasWrittenIsNotShown() throws Exception {
        try (var stage = new RelayStage();
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table).asFound(connection);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var claim = new Store.Claim(stage.name, 0, 1, "one", false);
            var first = store.acquire(connection, claim).epoch();
            var waiting = new BlockedRecord(
                    0, 3, "t", Waits.KEY, java.time.Instant.parse("2026-01-01T00:00:00Z"), "too large");
            store.writeBlocked(connection, 0, first, List.of(waiting));
            assertThat(admin.blocked(10)).isEqualTo(List.of(waiting));
            var second = store.acquire(connection, claim).epoch();
            assertThat(admin.blocked(10)).isEmpty();
            store.writeBlocked(connection, 0, first, List.of(waiting)); // late
            assertThat(admin.blocked(10)).isEmpty();
            store.writeBlocked(connection, 0, second, List.of());
            assertThat(stage.number("SELECT count(*) FROM " + stage.table.blocked()))
                    .isZero();
        }
    }

    @Test
    void relayThatMayNotWriteItDownPublishesAnyway() throws Exception {
        try (var stage = new RelayStage()) {
            stage.execute("DROP TABLE " + stage.table.blocked());
            stage.relay(more -> more.createTables(false));
            stage.stash(tooPartitioned(stage), Message.of(stage.topic, "k", "0"));
            stage.await(RelayEvent.KeyBlocked.class);
            Eventually.eventually("only the blocked one is left", RelayStage.PATIENCE, () -> stage.left() == 1);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThat(admin.blocked(10)).isEmpty();
            assertThat(admin.state().blocked()).isZero();
            assertThat(admin.examine(java.util.Optional.empty()))
                    .anyMatch(finding -> finding.what().contains(stage.table.blocked() + " is missing"));
            stage.stash(Message.of(stage.topic, "k", "1"));
            Eventually.eventually("it goes on", RelayStage.PATIENCE, () -> stage.left() == 1);
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    @Test
    void relayWithoutRightsOnThatTablePublishesAnyway() throws Exception {
        try (var stage = new RelayStage()) {
            var user = stage.name + "_narrow";
            stage.execute("CREATE ROLE " + user + " LOGIN");
            var tables = new ArrayList<>(stage.tables());
            tables.addAll(List.of(stage.table.relay(), stage.table.parked()));
            for (var table : tables) {
                stage.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO " + user);
            }
            var narrow = Servers.dataSource(PostgresServer.shared().uri().replace("user=postgres", "user=" + user));
            var relay = stage.relay(more -> more.stateInterval(Duration.ofMillis(50)), narrow, KafkaProducer::new);
            stage.stash(tooPartitioned(stage), Message.of(stage.topic, "k", "0"));
            stage.await(RelayEvent.KeyBlocked.class);
            Eventually.eventually("only the blocked one is left", RelayStage.PATIENCE, () -> stage.left() == 1);
            Eventually.eventually(
                    "the rest is told",
                    RelayStage.PATIENCE,
                    () -> relay.state().filter(state -> state.backlog() == 1).isPresent());
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    /** Such as one that cannot have a lock in time. */
    @Test
    void writeThatFailsForAMomentIsTriedAgain() throws Exception {
        try (var stage = new RelayStage()) {
            var failures = new AtomicInteger(2);
            var failing = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var connection = Objects.requireNonNull(FaultyDatabase.call(stage.database, method, arguments));
                return FaultyDatabase.proxy(Connection.class, (of, given) -> {
                    if (of.getName().equals("prepareStatement")
                            && given != null
                            && String.valueOf(given[0]).startsWith("DELETE FROM " + stage.table.blocked())
                            && failures.getAndDecrement() > 0) {
                        throw new SQLException("planted", "55P03");
                    }
                    return FaultyDatabase.call(connection, of, given);
                });
            });
            stage.relay(more -> more, failing, KafkaProducer::new);
            stage.stash(tooPartitioned(stage));
            assertThat(blocked(stage, 1).get(0).reason()).contains("99");
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    @ParameterizedTest
    @EnumSource
    void reasonThatIsLongerThanItsColumnIsCut(InboxTest.Database on) throws Exception {
        var table = OutboxTable.named(Servers.fresh("long"));
        try (var connection = on.source().getConnection()) {
            var store = Store.of(connection, table);
            OutboxSchema.create(connection, store);
            var epoch = store.acquire(connection, new Store.Claim("x", 0, 1, "one", true))
                    .epoch();
            Outbox.of(table).stash(connection, List.of(Message.of("t", "k", "0")));
            var reason = "\uD83D\uDE00".repeat(40_000); // of four bytes each
            var since = java.time.Instant.parse("2026-01-01T00:00:00Z");
            store.writeBlocked(connection, 0, epoch, List.of(new BlockedRecord(0, 1, "t", Waits.KEY, since, reason)));
            var wanted = new Store.Wanted(0, 10, Long.MAX_VALUE, 0, 1);
            var row = store.read(connection, wanted, store.gaps()).hot().get(0);
            assertThat(store.park(connection, 0, epoch, row, reason)).isTrue();
            var admin = OutboxAdmin.of(on.source(), table);
            for (var told : List.of(
                    admin.blocked(1).get(0).reason(), admin.parked(1).get(0).reason())) {
                assertThat(told).hasSizeGreaterThan(1_000).matches("(\uD83D\uDE00)+…");
            }
        }
    }

    @Test
    void tablesFromBeforeGetTheOneThatTheyLack() throws Exception {
        try (var stage = new RelayStage()) {
            stage.execute("DROP TABLE " + stage.table.blocked());
            stage.relay();
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThat(stage.number("SELECT count(*) FROM " + stage.table.blocked()))
                    .isZero();
        }
    }
}
