package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.InterruptException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a relay takes from the user's data source it gives back, as it was, whatever happens to it. */
@Timeout(240)
class LentConnectionTest {
    private static final int UNUSUAL_TIMEOUT = 123_000;

    /** Set by the pool, or by who had the connection before: none of these is the server's, nor one of ours. */
    private enum Before {
        POSTGRESQL(Connection.TRANSACTION_SERIALIZABLE),
        MARIADB(Connection.TRANSACTION_READ_COMMITTED),
        MYSQL(Connection.TRANSACTION_READ_COMMITTED);

        private final int isolation;

        Before(int isolation) {
            this.isolation = isolation;
        }

        private Map<String, String> settings() {
            return new TreeMap<>(
                    switch (this) {
                        case POSTGRESQL ->
                            Map.of(
                                    "lock_timeout", "4321s",
                                    "default_transaction_isolation", "serializable",
                                    "synchronous_commit", "local",
                                    "enable_seqscan", "off", // which is ours too, and not the server's
                                    "plan_cache_mode", "force_custom_plan");
                        case MARIADB ->
                            Map.of(
                                    "lock_wait_timeout", "4321",
                                    "innodb_lock_wait_timeout", "1234",
                                    "tx_isolation", "READ-COMMITTED",
                                    "sql_safe_updates", "1",
                                    "optimizer_max_sel_arg_weight", "12345");
                        case MYSQL ->
                            Map.of(
                                    "lock_wait_timeout", "4321",
                                    "innodb_lock_wait_timeout", "1234",
                                    "transaction_isolation", "READ-COMMITTED",
                                    "sql_safe_updates", "1",
                                    "range_optimizer_max_mem_size", "1234560");
                    });
        }

        static Before of(Connection connection) throws SQLException {
            return valueOf(connection.getMetaData().getDatabaseProductName().toUpperCase(Locale.ROOT));
        }

        void set(Connection connection) throws SQLException {
            try (var statement = connection.createStatement()) {
                for (var setting : settings().entrySet()) {
                    var number = setting.getValue().matches("[0-9]+");
                    statement.execute("SET SESSION " + setting.getKey() + " = "
                            + (number ? setting.getValue() : "'" + setting.getValue() + "'"));
                }
            }
            connection.setTransactionIsolation(isolation); // as pools do it
        }

        Map<String, String> now(Connection connection) throws SQLException {
            var now = new TreeMap<String, String>();
            try (var statement = connection.createStatement()) {
                for (var setting : settings().keySet()) {
                    try (var result = statement.executeQuery(
                            this == POSTGRESQL
                                    ? "SELECT current_setting('" + setting + "')"
                                    : "SELECT @@SESSION." + setting)) {
                        result.next();
                        now.put(setting, result.getString(1));
                    }
                }
            }
            return now;
        }

        String asTheyWere() {
            return UNUSUAL_TIMEOUT + " ms, false, " + settings();
        }
    }

    private final AtomicInteger lent = new AtomicInteger();
    /** Network timeout, auto-commit and settings of those that came back unbroken. */
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
        var before = Before.of(connection);
        before.set(connection);
        connection.setAutoCommit(false);
        lent.incrementAndGet();
        var closed = new AtomicBoolean();
        return FaultyDatabase.proxy(Connection.class, (called, with) -> {
            if (called.getName().equals("close") && closed.compareAndSet(false, true)) {
                if (!connection.isClosed()) {
                    cameBack.add(connection.getNetworkTimeout() + " ms, " + connection.getAutoCommit() + ", "
                            + before.now(connection));
                    connection.rollback();
                }
                lent.decrementAndGet();
            }
            return FaultyDatabase.call(connection, called, with);
        });
    }

    private static long faults(RelayStage stage) {
        return stage.events.stream()
                .filter(RelayEvent.Faulted.class::isInstance)
                .count();
    }

    private void requireAllBackAfterFaults(
            RelayStage stage, DataSource through, UnaryOperator<RelayConfig.Builder> more, Before before) {
        var relay = stage.relay(
                given -> more.apply(given.table(OutboxTable.named(Servers.fresh("none")))),
                counting(through),
                KafkaProducer::new);
        Eventually.eventually("five attempts have failed", RelayStage.PATIENCE, () -> faults(stage) >= 5);
        relay.close();
        Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
        assertThat(cameBack).containsExactly(before.asTheyWere());
    }

    private static RelayStage stage(Before on) throws SQLException {
        return on == Before.POSTGRESQL
                ? new RelayStage()
                : new RelayStage(
                        Servers.dataSource(MysqlFamilyServer.shared(Kind.valueOf(on.name()))
                                .uri()),
                        OutboxTable.Layout.BELLWETHER);
    }

    @ParameterizedTest
    @EnumSource
    void relayWhoseTableIsMissingKeepsNoConnection(Before on) throws Exception {
        try (var stage = stage(on)) {
            requireAllBackAfterFaults(stage, stage.database, more -> more.createTables(false), on);
        }
    }

    @Test
    void relayThatMayMakeNoTableKeepsNoConnection() throws Exception {
        try (var stage = new RelayStage()) {
            var role = role(stage);
            requireAllBackAfterFaults(stage, Servers.dataSource(uriOf(role)), more -> more, Before.POSTGRESQL);
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

    @ParameterizedTest
    @EnumSource
    void relayThatPublishedGivesItsConnectionsBackAsTheyWere(Before on) throws Exception {
        try (var stage = stage(on)) {
            var relay = stage.relay(more -> more, counting(stage.database), KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            Eventually.eventually(
                    "its state is known",
                    RelayStage.PATIENCE,
                    () -> relay.state().isPresent());
            relay.close();
            Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
            assertThat(cameBack).containsExactly(on.asTheyWere());
        }
    }

    /** In a pool that lends them so, its next borrower would find each statement committed by itself. */
    @Test
    void connectionOfAnOperatorsChangeComesBackAsItWas() throws Exception {
        var database = Servers.dataSource(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("changed"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, table);
        }
        var admin = OutboxAdmin.of(counting(database), table);
        assertThat(admin.migrate(OutboxForm.ROTATED, RelayStage.PATIENCE)).isTrue();
        assertThat(lent).hasValue(0);
        assertThat(cameBack).containsExactly(Before.POSTGRESQL.asTheyWere());
    }

    /** Its table is missing, so there is no channel. */
    @Test
    void connectionOnWhichNobodyCouldListenComesBackAsItWas() {
        var table = OutboxTable.named(Servers.fresh("none"));
        var config = RelayConfig.named("x").table(table).build();
        var sql = new WakeUpSql(table);
        var through = counting(Servers.dataSource(PostgresServer.shared().uri()));
        var listener = new WakeUpListener(through, config);
        listener.add(new ReadPace(config, 0, sql, listener, () -> {}, System::nanoTime), sql);
        Eventually.eventually("one came back", RelayStage.PATIENCE, () -> !cameBack.isEmpty());
        listener.close();
        listener.join();
        assertThat(cameBack).containsExactly(Before.POSTGRESQL.asTheyWere());
    }

    @ParameterizedTest
    @EnumSource
    void waitForALockedRowIsEndedByTheDatabaseAndNotByTheClient(Before on) throws Exception {
        try (var stage = stage(on);
                var holder = stage.connect();
                var lent = LentConnection.of(stage.connect(), stage.table, Duration.ofSeconds(10))) {
            Store.of(holder, stage.table).acquire(holder, new Store.Claim(stage.name, 0, 1, "x", true));
            holder.setAutoCommit(false);
            var update = "UPDATE " + stage.table.relay() + " SET epoch = epoch + 1";
            try (var statement = holder.createStatement()) {
                statement.execute(update);
            }
            try (var statement = lent.connection().createStatement()) {
                assertThatThrownBy(() -> statement.execute(update)).isInstanceOf(SQLException.class);
            }
            assertThat(lent.connection().isValid(5)).isTrue();
            holder.rollback();
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

    /** Each would keep a thread here, and, once it answers, a session there. */
    @Test
    void databaseThatAcceptsAndSaysNothingIsNotAskedByMoreAndMoreThreads() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", PostgresServer.shared().port());
                var stage = new RelayStage()) {
            var connecting = stage.config(more -> more).seat(0) + "-connect";
            var relay = stage.relay(
                    more -> more.databaseTimeout(Duration.ofMillis(500))
                            .maxBackoff(Duration.ofMillis(20))
                            .standDownAfter(Duration.ofHours(1))
                            .wakeUp(false),
                    counting(Servers.dataSource(PostgresServer.uri(link.port()))),
                    KafkaProducer::new);
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            link.cut(Way.BOTH);
            Eventually.eventually(
                    "it has tried again and again",
                    RelayStage.PATIENCE,
                    () -> stage.events.stream()
                                    .filter(RelayEvent.Faulted.class::isInstance)
                                    .map(event -> String.valueOf(((RelayEvent.Faulted) event).cause()))
                                    .filter(cause -> cause.contains("no connection to the database within"))
                                    .count()
                            >= 20);
            assertThat(Thread.getAllStackTraces().keySet().stream()
                            .filter(thread -> thread.getName().equals(connecting)))
                    .hasSizeLessThanOrEqualTo(12);
            link.heal();
            stage.stash(Writers.numbered(stage.topic, "k", 10, 20));
            stage.awaitEmpty();
            relay.close();
            Eventually.eventually("all are back", RelayStage.PATIENCE, () -> lent.get() == 0);
        }
    }

    private static boolean isReaderWaiting() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().endsWith("-reader"))
                .flatMap(entry -> Arrays.stream(entry.getValue()))
                .anyMatch(frame -> frame.getClassName().startsWith("org.postgresql."));
    }

    /** As Kafka's does if its thread is interrupted, or an interceptor fails, when it has ended what it could. */
    @Test
    void producerThatThrowsWhenItIsClosedKeepsNothingOpenThatARelayHas() throws Exception {
        var open = new AtomicInteger();
        var throwing = new FaultyProducer.Fault() {
            @Override
            public void after(String method) {
                if (method.equals("close")) {
                    open.decrementAndGet();
                    throw new InterruptException("planted");
                }
            }
        };
        var settings = new HikariConfig();
        settings.setJdbcUrl(PostgresServer.shared().uri());
        settings.setMaximumPoolSize(4);
        try (var stage = new RelayStage();
                var pool = new HikariDataSource(settings)) {
            var relay = stage.relay(more -> more.wakeUp(false), pool, properties -> {
                open.incrementAndGet();
                return FaultyProducer.of(properties, throwing);
            });
            stage.stash(Writers.numbered(stage.topic, "k", 0, 10));
            stage.awaitEmpty();
            relay.close();
            Eventually.eventually(
                    "the pool has all",
                    RelayStage.PATIENCE,
                    () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            assertThat(open).as("producers that are open").hasValue(0);
            var disposal = stage.config(more -> more).seat(0) + "-disposal";
            assertThat(Thread.getAllStackTraces().keySet())
                    .extracting(Thread::getName)
                    .doesNotContain(disposal);
        }
    }

    @Test
    void beginningThatAnErrorEndsLeavesNothingOpen() throws Exception {
        var open = new AtomicInteger();
        var errors = new AtomicInteger(3);
        var fault = new FaultyProducer.Fault() {
            @Override
            public void before(String method) {
                if (method.equals("acquire") && errors.getAndDecrement() > 0) {
                    throw new NoClassDefFoundError("planted");
                }
            }

            @Override
            public void after(String method) {
                if (method.equals("close")) {
                    open.decrementAndGet();
                }
            }
        };
        var settings = new HikariConfig();
        settings.setJdbcUrl(PostgresServer.shared().uri());
        settings.setMaximumPoolSize(10);
        try (var stage = new RelayStage();
                var pool = new HikariDataSource(settings)) {
            var relay = stage.relay(more -> more.wakeUp(false), FaultyDatabase.of(pool, fault), properties -> {
                open.incrementAndGet();
                return FaultyProducer.of(properties, fault);
            });
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThat(errors.get()).isNegative();
            assertThat(open).as("producers that are open").hasValue(2);
            relay.close();
            Eventually.eventually(
                    "the pool has all",
                    RelayStage.PATIENCE,
                    () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
        }
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
