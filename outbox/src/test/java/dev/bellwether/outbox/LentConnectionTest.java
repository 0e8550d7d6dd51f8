package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link.Way;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a relay takes from the user's data source it gives back, as it was, whatever happens to it. */
@Timeout(240)
class LentConnectionTest {
    private static final int UNUSUAL_TIMEOUT = 123_000;
    /** For a lock, in seconds; set by the pool, or by who had the connection before. */
    private static final int UNUSUAL_WAIT = 4_321;

    private static final String AS_THEY_WERE = UNUSUAL_TIMEOUT + " ms, false, waits " + UNUSUAL_WAIT + " s for a lock";

    private final AtomicInteger lent = new AtomicInteger();
    /** Network timeout, auto-commit and patience with locks of those that came back unbroken. */
    private final Set<String> cameBack = ConcurrentHashMap.newKeySet();

    /** Counts what was lent and not closed: a pool gets nothing back by abort. */
    private DataSource counting(DataSource database) {
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            var result = FaultyDatabase.call(database, method, arguments);
            return result instanceof Connection connection ? counted(connection) : result;
        });
    }

    private Connection counted(Connection connection) throws Exception {
        connection.setNetworkTimeout(Runnable::run, UNUSUAL_TIMEOUT);
        try (var statement = connection.createStatement()) {
            statement.execute(
                    isPostgres(connection)
                            ? "SET lock_timeout = '" + UNUSUAL_WAIT + "s'"
                            : "SET SESSION lock_wait_timeout = " + UNUSUAL_WAIT);
        }
        connection.setAutoCommit(false);
        lent.incrementAndGet();
        var closed = new AtomicBoolean();
        return FaultyDatabase.proxy(Connection.class, (called, with) -> {
            if (called.getName().equals("close") && closed.compareAndSet(false, true)) {
                if (!connection.isClosed()) {
                    cameBack.add(connection.getNetworkTimeout() + " ms, " + connection.getAutoCommit() + ", waits "
                            + waits(connection) + " s for a lock");
                }
                lent.decrementAndGet();
            }
            return FaultyDatabase.call(connection, called, with);
        });
    }

    private static boolean isPostgres(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
    }

    private static int waits(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(
                        isPostgres(connection)
                                ? "SELECT extract(epoch FROM current_setting('lock_timeout')::interval)"
                                : "SELECT @@SESSION.lock_wait_timeout")) {
            result.next();
            return result.getInt(1);
        } finally {
            connection.rollback();
        }
    }

    private static long faults(RelayStage stage) {
        return stage.events.stream()
                .filter(RelayEvent.Faulted.class::isInstance)
                .count();
    }

    private void requireAllBackAfterFaults(
            RelayStage stage, DataSource through, UnaryOperator<RelayConfig.Builder> more) {
        var relay = stage.relay(
                given -> more.apply(given.table(OutboxTable.named(Servers.fresh("none")))),
                counting(through),
                KafkaProducer::new);
        Eventually.eventually("five attempts have failed", RelayStage.PATIENCE, () -> faults(stage) >= 5);
        relay.close();
        Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
        assertThat(cameBack).containsExactly(AS_THEY_WERE);
    }

    @Test
    void relayWhoseTableIsMissingKeepsNoConnection() throws Exception {
        try (var stage = new RelayStage()) {
            requireAllBackAfterFaults(stage, stage.database, more -> more.createTables(false));
        }
    }

    @Test
    void relayWhoseTableIsMissingKeepsNoConnectionOfMysql() throws Exception {
        var database = Servers.dataSource(MysqlFamilyServer.shared(Kind.MYSQL).uri());
        try (var stage = new RelayStage(database, OutboxTable.Layout.BELLWETHER)) {
            requireAllBackAfterFaults(stage, stage.database, more -> more.createTables(false));
        }
    }

    @Test
    void relayThatMayMakeNoTableKeepsNoConnection() throws Exception {
        try (var stage = new RelayStage()) {
            var role = role(stage);
            requireAllBackAfterFaults(stage, Servers.dataSource(uriOf(role)), more -> more);
        }
    }

    /** Returns a role that may make no table. */
    private static String role(RelayStage stage) throws SQLException {
        var role = Servers.fresh("writer");
        stage.execute("CREATE ROLE " + role + " LOGIN");
        stage.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
        return role;
    }

    private static String uriOf(String role) {
        return PostgresServer.shared().uri().replaceAll("user=[^&]*", "user=" + role);
    }

    @Test
    void relayThatPublishedGivesItsConnectionsBackAsTheyWere() throws Exception {
        try (var stage = new RelayStage()) {
            var relay = stage.relay(more -> more, counting(stage.database), KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            Eventually.eventually(
                    "its state is known",
                    RelayStage.PATIENCE,
                    () -> relay.state().isPresent());
            relay.close();
            Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
            assertThat(cameBack).containsExactly(AS_THEY_WERE);
        }
    }

    @Test
    void relayThatEndsWhileItWaitsForASilentDatabaseKeepsNoConnection() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage()) {
            var relay = stage.relay(
                    more -> more.databaseTimeout(Duration.ofMinutes(10)).wakeUp(false),
                    counting(Servers.dataSource(PostgresServer.uri(link.port()))),
                    KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            link.cut(Way.BOTH);
            // else it may find out before it has asked again
            Eventually.eventually(
                    "it waits for the database", RelayStage.PATIENCE, LentConnectionTest::isReaderWaiting);
            relay.close();
            Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
            link.heal();
        }
    }

    private static boolean isReaderWaiting() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().endsWith("-reader"))
                .flatMap(entry -> Arrays.stream(entry.getValue()))
                .anyMatch(frame -> frame.getClassName().startsWith("org.postgresql."));
    }

    @Test
    void poolOfTwoIsEnoughForARelayThatCannotBeginUntilItsTableIsThere() throws Exception {
        var table = OutboxTable.named(Servers.fresh("later"));
        try (var stage = new RelayStage()) {
            var role = role(stage);
            var settings = new HikariConfig();
            settings.setJdbcUrl(uriOf(role));
            settings.setMaximumPoolSize(2);
            settings.setAutoCommit(false);
            settings.setConnectionTimeout(1_000);
            try (var pool = new HikariDataSource(settings)) {
                var relay = stage.relay(more -> more.table(table).wakeUp(false), pool, KafkaProducer::new);
                Eventually.eventually("five attempts have failed", RelayStage.PATIENCE, () -> faults(stage) >= 5);
                try (var connection = stage.connect()) {
                    OutboxSchema.create(connection, table);
                    Outbox.of(table).stash(connection, Message.of(stage.topic, "k", "0"));
                    for (var name : List.of(table.name(), table.relay(), table.parked(), table.blocked())) {
                        stage.execute("GRANT ALL ON " + name + " TO " + role);
                    }
                }
                Eventually.eventually(
                        "it has published",
                        RelayStage.PATIENCE,
                        () -> stage.number("SELECT count(*) FROM " + table.name()) == 0);
                relay.close();
                Eventually.eventually(
                        "the pool has all",
                        RelayStage.PATIENCE,
                        () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            }
        }
    }
}
