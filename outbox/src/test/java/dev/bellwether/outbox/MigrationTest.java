package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A table gets another form while applications write and relays publish. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class MigrationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void nothingIsLostOrOutOfOrderWhileTheFormChangesUnderWritersAndRelays() throws Exception {
        var seed = Long.getLong("bellwether.load.seed", System.nanoTime() & 0xffff_ffffL);
        try (var stage = new RelayStage(OutboxForm.PLAIN);
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false);
                var writers = new MixedWriters(stage.database, stage.table, stage.topic, 40, seed)) {
            for (var relay : new String[] {"one", "other"}) {
                stage.relay(more -> more.candidate(relay)
                        .maxTransactionRecords(100)
                        .maxBackoff(Duration.ofMillis(200))
                        .lease(Duration.ofSeconds(4)));
            }
            writers.begin(5);
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var form = OutboxForm.PLAIN;
            for (var turn = 0; turn < 4; turn++) {
                var published = uncommitted.poll().ledger().records();
                Eventually.eventually(
                        "relays publish",
                        RelayStage.PATIENCE,
                        () -> uncommitted.poll().ledger().records() > published + 300);
                form = form == OutboxForm.PLAIN ? OutboxForm.ROTATED : OutboxForm.PLAIN;
                assertThat(admin.migrate(form, PATIENCE)).isTrue();
                try (var connection = stage.connect()) {
                    assertThat(OutboxSchema.form(connection, stage.table)).contains(form);
                }
                if (form == OutboxForm.ROTATED) {
                    Eventually.eventually(
                            "the leader has begun again, with that form",
                            RelayStage.PATIENCE,
                            () -> stage.number("SELECT count(*) FROM " + stage.table.done()) > 0);
                }
            }
            var written = writers.end();
            assertThat(writers.unexpected())
                    .as("what writers see of it, with seed %s", seed)
                    .isEmpty();
            stage.awaitEmpty();
            for (var reader : new Reader[] {committed, uncommitted}) {
                Eventually.eventually(
                        "all is read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(written));
                assertThat(reader.faults(written))
                        .as("NEVER: out of order or lost, with seed %s", seed)
                        .isEmpty();
            }
            assertThat(committed.ledger().repeats())
                    .as("NEVER: seen twice by who reads committed records, with seed %s", seed)
                    .isZero();
        }
    }

    /** Its part cannot be emptied, all others are; what it has written comes out before what follows it. */
    @Test
    void transactionThatCommitsAfterTheRotationIsPublishedInOrder() throws Exception {
        try (var stage = new RelayStage(OutboxForm.ROTATED);
                var slow = stage.connect();
                var committed = stage.reader(true)) {
            slow.setAutoCommit(false);
            Outbox.of(stage.table).stash(slow, Writers.numbered(stage.topic, "slow", 0, 3));
            var relay = stage.relay(more -> more.maxTransactionRecords(50));
            var numbers = 0;
            for (var round = 0; round < 12; round++) {
                stage.stash(Writers.numbered(stage.topic, "quick", numbers, numbers + 50));
                numbers += 50;
            }
            Eventually.eventually(
                    "what others have written is published", RelayStage.PATIENCE, () -> stage.left() == 0);
            var first = "SELECT count(*) FROM " + stage.table.name() + "_0";
            Eventually.eventually(
                    "the other parts are emptied",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT count(*) FROM " + stage.table.name()) - stage.number(first) < 180);
            assertThat(stage.number(first)).as("its part is kept").isPositive();
            Outbox.of(stage.table).stash(slow, Writers.numbered(stage.topic, "slow", 3, 6));
            slow.commit();
            stage.stash(Writers.numbered(stage.topic, "slow", 6, 9));
            stage.awaitEmpty();
            var written = Map.of("slow", 9, "quick", numbers);
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> committed.poll().ledger().isComplete(written));
            assertThat(committed.faults(written)).isEmpty();
            assertThat(committed.ledger().repeats()).isZero();
            assertThat(relay.stats().get(0).strays()).isZero();
        }
    }

    @Test
    void relayMakesTheTableInTheFormItIsSetTo() throws Exception {
        var table = OutboxTable.named(Servers.fresh("made"));
        try (var stage = new RelayStage(OutboxForm.PLAIN);
                var reader = stage.reader(true);
                var connection = stage.connect()) {
            stage.relay(more -> more.table(table).form(OutboxForm.ROTATED));
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.ROTATED);
            Outbox.of(table).stash(connection, Writers.numbered(stage.topic, "k", 0, 10));
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 10)));
            assertThat(reader.faults(Map.of("k", 10))).isEmpty();
        }
    }

    @Test
    void whoHasRightsKeepsThemAndSequenceAndRowsStay() throws SQLException {
        try (var stage = new RelayStage(OutboxForm.PLAIN)) {
            var app = "app" + stage.name;
            var relay = "rel" + stage.name;
            stage.execute("CREATE ROLE " + app + " LOGIN");
            stage.execute("CREATE ROLE " + relay + " LOGIN");
            var monitor = "mon" + stage.name;
            stage.execute("CREATE ROLE " + monitor + " LOGIN");
            stage.execute("GRANT SELECT ON " + stage.table.name() + ", " + stage.table.relay() + ", "
                    + stage.table.parked() + ", " + stage.table.blocked() + " TO " + monitor);
            stage.execute("GRANT INSERT ON " + stage.table.name() + " TO " + app);
            stage.execute("GRANT USAGE ON SEQUENCE " + stage.table.name() + "_id_seq TO " + app);
            stage.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + stage.table.name() + ", " + stage.table.relay()
                    + " TO " + relay);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            var admin = OutboxAdmin.of(stage.database, stage.table);
            for (var form : new OutboxForm[] {OutboxForm.ROTATED, OutboxForm.PLAIN, OutboxForm.ROTATED}) {
                assertThat(admin.migrate(form, PATIENCE)).isTrue();
                assertThat(admin.migrate(form, PATIENCE)).as("a second time").isFalse();
                assertThat(stage.number("SELECT max(id) FROM " + stage.table.name()))
                        .isEqualTo(stage.left());
                try (var connection = Servers.dataSource(
                                        PostgresServer.shared().uri().replace("user=postgres", "user=" + app))
                                .getConnection();
                        var statement = connection.createStatement()) {
                    statement.execute("INSERT INTO " + stage.table.name() + " (topic) VALUES ('t')");
                }
                var ofMonitor =
                        Servers.dataSource(PostgresServer.shared().uri().replace("user=postgres", "user=" + monitor));
                assertThat(OutboxAdmin.of(ofMonitor, stage.table).quickState().backlog())
                        .as("who may look at the table still may")
                        .isEqualTo(stage.left());
            }
            assertThat(stage.left()).isEqualTo(13);
            for (var right : Map.of(
                            stage.table.name(),
                            "DELETE",
                            stage.table.done(),
                            "INSERT",
                            stage.table.name() + "_3",
                            "TRUNCATE",
                            stage.table.done() + "_0",
                            "TRUNCATE")
                    .entrySet()) {
                assertThat(stage.number("SELECT has_table_privilege('" + relay + "', '" + right.getKey() + "', '"
                                + right.getValue() + "')::integer"))
                        .as("%s", right)
                        .isOne();
            }
        }
    }

    @Test
    void tableThatWouldLoseSomethingKeepsItsForm() throws SQLException {
        try (var stage = new RelayStage(OutboxForm.PLAIN)) {
            var admin = OutboxAdmin.of(stage.database, stage.table);
            stage.execute("CREATE INDEX of_mine_" + stage.name + " ON " + stage.table.name() + " (topic)");
            assertThatThrownBy(() -> admin.migrate(OutboxForm.ROTATED, PATIENCE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("index of_mine_" + stage.name);
            stage.execute("DROP INDEX of_mine_" + stage.name);
            stage.execute("CREATE TRIGGER of_mine BEFORE UPDATE ON " + stage.table.name()
                    + " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()");
            assertThatThrownBy(() -> admin.migrate(OutboxForm.ROTATED, PATIENCE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("trigger of_mine");
            stage.execute("DROP TRIGGER of_mine ON " + stage.table.name());
            stage.execute("CREATE VIEW view_" + stage.name + " AS SELECT * FROM " + stage.table.name());
            assertThatThrownBy(() -> admin.migrate(OutboxForm.ROTATED, PATIENCE))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("view_" + stage.name);
            stage.execute("DROP VIEW view_" + stage.name);
            stage.execute("INSERT INTO " + stage.table.name() + " (topic) SELECT 't' FROM generate_series(1, 100001)");
            assertThatThrownBy(() -> admin.migrate(OutboxForm.ROTATED, PATIENCE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("more than 100000 rows wait");
            assertThat(stage.left()).isEqualTo(100_001);
        }
    }

    @Test
    void recordThatIsBlockedStaysSoAndIsListed() throws Exception {
        try (var stage = new RelayStage(OutboxForm.PLAIN)) {
            stage.relay(more -> more.haltRetry(Duration.ofSeconds(1)));
            stage.stash(Message.to(stage.topic).key("bad").partition(99).build());
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            var admin = OutboxAdmin.of(stage.database, stage.table);
            var before = onlyBlocked(admin);
            for (var form : new OutboxForm[] {OutboxForm.ROTATED, OutboxForm.PLAIN}) {
                assertThat(admin.migrate(form, PATIENCE)).isTrue();
                var after = onlyBlocked(admin);
                assertThat(after.id()).isEqualTo(before.id());
                stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
                Eventually.eventually("all others are published", RelayStage.PATIENCE, () -> stage.left() == 1);
                for (var state : java.util.List.of(admin.state(), admin.quickState())) {
                    assertThat(state.backlog()).isOne();
                    assertThat(state.oldest()).isPositive();
                }
            }
        }
    }

    private static OutboxAdmin.BlockedRecord onlyBlocked(OutboxAdmin admin) {
        return Eventually.eventually("one is blocked", RelayStage.PATIENCE, () -> {
            try {
                var found = admin.blocked(100);
                return found.size() == 1
                        ? java.util.Optional.of(found.get(0))
                        : java.util.Optional.<OutboxAdmin.BlockedRecord>empty();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void whoWaitsInVainForAnOpenTransactionIsToldSo() throws SQLException {
        try (var stage = new RelayStage(OutboxForm.PLAIN);
                var open = stage.connect()) {
            open.setAutoCommit(false);
            Outbox.of(stage.table).stash(open, Writers.numbered(stage.topic, "k", 0, 1));
            var admin = OutboxAdmin.of(stage.database, stage.table);
            assertThatThrownBy(() -> admin.migrate(OutboxForm.ROTATED, Duration.ofMillis(10)))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("keeps its form");
            open.commit();
            assertThat(admin.migrate(OutboxForm.ROTATED, Duration.ofMillis(10))).isTrue();
            assertThat(stage.left()).isOne();
        }
    }

    @Test
    void mariaDbAndMySqlHaveNoRotatedForm() throws SQLException {
        var database = Servers.dataSource(MysqlFamilyServer.shared(Kind.MARIADB).uri());
        var table = OutboxTable.named(Servers.fresh("plain"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, table);
        }
        assertThatThrownBy(() -> OutboxAdmin.of(database, table).migrate(OutboxForm.ROTATED, PATIENCE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(table.name() + " cannot be rotated: that form exists on PostgreSQL only");
    }
}
