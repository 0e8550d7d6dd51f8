package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A relay whose reads, or all that it says, go to a server that only copies another: by a proxy, or an address. */
class SplitReadsTest {
    private static final String REFUSED = "takes no writes";

    @Test
    void relayIsRefusedIfAProxySendsToAStandbyWhatOnlyReads() throws Exception {
        try (var pair = PostgresPair.start(false);
                var stage = new RelayStage(Servers.dataSource(pair.primary().uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            pair.awaitStandbyHasAll();
            pair.cutReplication(); // so it lags, as any standby does for a moment
            var standby = Servers.dataSource(pair.standby().uri());
            var relay = stage.relay(more -> more.wakeUp(false), split(stage.database, standby), KafkaProducer::new);
            Eventually.eventually(
                    "it is refused, or publishes what it has published",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream().anyMatch(RelayEvent.Faulted.class::isInstance)
                            || relay.stats().get(0).strays() > 0);
            assertThat(relay.stats().get(0).strays())
                    .as(Never.mark("rows that are deleted are published again"))
                    .isZero();
            assertThat(stage.await(RelayEvent.Faulted.class).cause()).hasMessageContaining(REFUSED);
            assertThat(stage.left()).isEqualTo(10);
            assertThat(errors(standby, stage.table)).anyMatch(what -> what.contains(REFUSED));
            assertThat(errors(stage.database, stage.table)).noneMatch(what -> what.contains(REFUSED));
        }
    }

    /** As one of a user who may write anyway. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void relayOnAServerThatTakesNoWritesIsRefusedUntilItDoes(Kind kind) throws Exception {
        try (var server = MysqlFamilyServer.start(kind);
                var stage = new RelayStage(Servers.dataSource(server.uri()), OutboxTable.Layout.BELLWETHER)) {
            stage.execute("SET GLOBAL read_only = ON");
            assertThat(errors(stage.database, stage.table)).anyMatch(what -> what.contains(REFUSED));
            stage.relay();
            Eventually.eventually(
                    "it is refused, or begins",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                            .anyMatch(event -> event instanceof RelayEvent.Faulted
                                    || event instanceof RelayEvent.LeaderRefreshed));
            assertThat(stage.events).noneMatch(RelayEvent.LeaderRefreshed.class::isInstance);
            assertThat(stage.await(RelayEvent.Faulted.class).cause()).hasMessageContaining(REFUSED);
            stage.execute("SET GLOBAL read_only = OFF");
            stage.stash(Message.of(stage.topic, "k", "0"));
            stage.awaitEmpty();
        }
    }

    private static List<String> errors(DataSource database, OutboxTable table) throws SQLException {
        return OutboxAdmin.of(database, table).examine(Optional.empty()).stream()
                .filter(finding -> finding.severity() == OutboxAdmin.Severity.ERROR)
                .map(OutboxAdmin.Finding::what)
                .toList();
    }

    /** Sends what begins with SELECT, outside a transaction, to the other. */
    private static DataSource split(DataSource writes, DataSource reads) {
        return FaultyDatabase.proxy(
                DataSource.class,
                (method, arguments) -> method.getName().equals("getConnection")
                        ? split(writes.getConnection(), reads.getConnection())
                        : FaultyDatabase.call(writes, method, arguments));
    }

    private static Connection split(Connection writes, Connection reads) {
        return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
            if (method.getName().equals("close")) {
                reads.close();
            }
            if (method.getName().equals("createStatement")) {
                return split(writes, reads, writes.createStatement());
            }
            var there = method.getName().equals("prepareStatement") && isRead(writes, arguments);
            return FaultyDatabase.call(there ? reads : writes, method, arguments);
        });
    }

    private static Statement split(Connection writes, Connection reads, Statement own) {
        return FaultyDatabase.proxy(
                Statement.class,
                (method, arguments) -> FaultyDatabase.call(
                        method.getName().startsWith("execute") && isRead(writes, arguments)
                                ? reads.createStatement() // which ends with its connection
                                : own,
                        method,
                        arguments));
    }

    private static boolean isRead(Connection writes, Object @Nullable [] arguments) throws SQLException {
        var sql = arguments == null ? "" : String.valueOf(arguments[0]);
        return writes.getAutoCommit() && (sql.startsWith("SELECT") || sql.startsWith("(SELECT"));
    }
}
