package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.FaultProxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A machine that vanishes in the middle of what an operator has ordered keeps nobody from the outbox for long. */
@Timeout(240)
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class VanishedOperatorTest {
    private static final Duration SILENCE = Duration.ofSeconds(3);
    private static final Duration BOUND = Duration.ofSeconds(40);
    static final String ENDED = "pretended: an administrator ends the session";

    /** An order, given from a machine that loses its power behind a statement. */
    private static final class Operator implements AutoCloseable {
        private final FaultProxy link;
        private final DataSource database;
        private final CountDownLatch vanished = new CountDownLatch(1);
        private final Predicate<String> last;

        Operator(InboxTest.Database on, Predicate<String> last) {
            link = FaultProxy.to(
                    "127.0.0.1",
                    switch (on) {
                        case POSTGRESQL -> PostgresServer.shared().port();
                        case MARIADB -> MysqlFamilyServer.shared(Kind.MARIADB).port();
                        case MYSQL -> MysqlFamilyServer.shared(Kind.MYSQL).port();
                    });
            this.last = last;
            database = Servers.dataSource(
                    on == InboxTest.Database.POSTGRESQL
                            ? PostgresServer.uri(link.port())
                            : MysqlFamilyServer.uri(link.port()));
        }

        private DataSource database() {
            return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var result = FaultyDatabase.call(database, method, arguments);
                return result instanceof Connection connection ? watched(connection) : result;
            });
        }

        private Connection watched(Connection connection) {
            return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
                var result = FaultyDatabase.call(connection, method, arguments);
                var type = method.getReturnType();
                return result instanceof Statement statement && type.isInterface()
                        ? watched(
                                type.asSubclass(Statement.class),
                                statement,
                                arguments == null ? "" : String.valueOf(arguments[0]))
                        : result;
            });
        }

        private <S extends Statement> S watched(Class<S> type, Statement statement, String prepared) {
            return FaultyDatabase.proxy(type, (method, arguments) -> {
                var result = FaultyDatabase.call(statement, method, arguments);
                if (method.getName().startsWith("execute")) {
                    var sql = arguments == null ? prepared : String.valueOf(arguments[0]);
                    if (vanished.getCount() > 0 && last.test(sql)) {
                        link.abandon();
                        vanished.countDown();
                    }
                }
                return result;
            });
        }

        interface Order {
            void to(DataSource database) throws SQLException;
        }

        /** Returns when the machine has vanished. */
        void gives(Order order) throws InterruptedException {
            var thread = new Thread(() -> {
                try {
                    order.to(database());
                } catch (SQLException | RuntimeException e) {
                    // at the end of the test
                }
            });
            thread.setDaemon(true);
            thread.start();
            assertThat(vanished.await(60, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public void close() {
            link.close();
        }
    }

    private interface Work<T> {
        T work() throws SQLException;
    }

    private static <T> CompletableFuture<T> begun(Work<T> work) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return work.work();
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> new Thread(task, "waits").start());
    }

    private static RelayStage stage(InboxTest.Database on) throws SQLException {
        return on == InboxTest.Database.POSTGRESQL
                ? new RelayStage(OutboxForm.PLAIN)
                : new RelayStage(on.source(), OutboxTable.Layout.BELLWETHER);
    }

    @Test
    void writersGoOnThoughWhoMigratesTheTableHasVanished() throws Exception {
        try (var operator = new Operator(InboxTest.Database.POSTGRESQL, sql -> sql.contains("ACCESS EXCLUSIVE"));
                var stage = stage(InboxTest.Database.POSTGRESQL)) {
            operator.gives(database -> OutboxAdmin.of(database, stage.table).migrate(OutboxForm.ROTATED, BOUND));
            var writing = begun(() -> {
                stage.stash(Message.of(stage.topic, "k", "0"));
                return stage.left();
            });
            assertThat(writing).succeedsWithin(BOUND).isEqualTo(1L);
        }
    }

    @Test
    void tablesAreMadeThoughWhoMadeThemHasVanished() throws Exception {
        try (var operator = new Operator(InboxTest.Database.POSTGRESQL, sql -> sql.contains("pg_advisory_xact_lock"));
                var stage = stage(InboxTest.Database.POSTGRESQL);
                var connection = stage.connect()) {
            var table = OutboxTable.named(Servers.fresh("made"));
            var store = new RotatedStore(table, RelayStage.SMALL);
            operator.gives(database -> {
                try (var other = database.getConnection()) {
                    OutboxSchema.create(other, store);
                }
            });
            var making = begun(() -> {
                OutboxSchema.create(connection, store);
                return OutboxSchema.exists(connection, table.done());
            });
            assertThat(making).succeedsWithin(BOUND).isEqualTo(true);
        }
    }

    @ParameterizedTest
    @EnumSource
    void relaysBeginThoughWhoDividesTheOutboxHasVanished(InboxTest.Database on) throws Exception {
        try (var operator = new Operator(on, sql -> sql.contains("epoch + 1"));
                var stage = stage(on);
                var connection = stage.connect()) {
            var store = Store.of(connection, stage.table);
            store.prepare(connection, true);
            var first = store.acquire(connection, new Store.Claim(stage.name, 0, 1, "first", true));
            operator.gives(database -> new OutboxAdmin(database, stage.table, SILENCE)
                    .divide(stage.name, 2, Map.of("bootstrap.servers", stage.bootstrap)));
            var second = begun(() -> store.acquire(connection, new Store.Claim(stage.name, 0, 1, "second", true)));
            assertThat(second)
                    .succeedsWithin(BOUND)
                    .satisfies(tenancy -> assertThat(tenancy.epoch()).isEqualTo(first.epoch() + 1));
        }
    }

    @ParameterizedTest
    @EnumSource
    void recordIsRequeuedThoughWhoRequeuedItHasVanished(InboxTest.Database on) throws Exception {
        try (var operator = new Operator(on, sql -> sql.contains("FOR UPDATE"));
                var stage = stage(on)) {
            stage.execute(
                    on == InboxTest.Database.POSTGRESQL
                            ? "INSERT INTO " + stage.table.parked() + " (id, event_id, created, topic, parked, reason)"
                                    + " VALUES (7, gen_random_uuid(), now(), 't', now(), 'r')"
                            : "INSERT INTO " + stage.table.parked() + " (id, event_id, topic, reason)"
                                    + " VALUES (7, uuid(), 't', 'r')");
            operator.gives(database -> OutboxAdmin.of(database, stage.table).requeue(7));
            assertThat(begun(() -> OutboxAdmin.of(stage.database, stage.table).requeue(7)))
                    .succeedsWithin(BOUND)
                    .isEqualTo(true);
        }
    }

    /** Settings of the session are the pool's again. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void whoEndsInOrderLeavesTheSessionAsItWas(InboxTest.Database on) throws Exception {
        try (var stage = stage(on);
                var connection = stage.connect()) {
            Store.of(connection, stage.table).acquire(connection, new Store.Claim(stage.name, 0, 1, "first", true));
            var one = FaultyDatabase.proxy(
                    DataSource.class,
                    (method, arguments) -> FaultyDatabase.proxy(Connection.class, (called, with) -> {
                        return called.getName().equals("close") ? null : FaultyDatabase.call(connection, called, with);
                    }));
            var before = waitTimeout(connection);
            var admin = OutboxAdmin.of(one, stage.table);
            admin.divide(stage.name, 2, Map.of("bootstrap.servers", stage.bootstrap));
            assertThat(waitTimeout(connection)).isEqualTo(before);
            assertThatThrownBy(() -> admin.divide("other", 3, Map.of("bootstrap.servers", stage.bootstrap)))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(waitTimeout(connection)).isEqualTo(before);
            admin.requeue(1);
            assertThat(waitTimeout(connection)).isEqualTo(before);
        }
    }

    /** And not that the connection is closed, as whatever is to be put back then finds out. */
    @ParameterizedTest
    @EnumSource
    void changeWhoseSessionIsEndedSaysWhy(InboxTest.Database on) throws Exception {
        try (var stage = stage(on);
                var connection = stage.connect()) {
            Store.of(connection, stage.table).acquire(connection, new Store.Claim(stage.name, 0, 1, "first", true));
            for (var sql : List.of("epoch + 1", "SET shards")) { // before its transaction, and in it
                var admin = OutboxAdmin.of(ending(stage.database, sql), stage.table);
                assertThatThrownBy(() -> admin.divide(stage.name, 2, Map.of("bootstrap.servers", stage.bootstrap)))
                        .hasMessage(ENDED);
            }
        }
    }

    /** Returns a database that ends a session at the first such statement. */
    static DataSource ending(DataSource database, String sql) {
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            var result = FaultyDatabase.call(database, method, arguments);
            return result instanceof Connection connection ? ending(connection, sql) : result;
        });
    }

    private static Connection ending(Connection connection, String sql) {
        return FaultyDatabase.proxy(Connection.class, (method, arguments) -> {
            if (method.getName().equals("prepareStatement")
                    && arguments != null
                    && String.valueOf(arguments[0]).contains(sql)) {
                connection.abort(Runnable::run);
                throw new SQLException(ENDED, "57P01");
            }
            return FaultyDatabase.call(connection, method, arguments);
        });
    }

    private static long waitTimeout(Connection connection) throws SQLException {
        return number(connection, "SELECT @@SESSION.wait_timeout");
    }

    @Test
    void silentBrokersDoNotKeepTheTableLocked() throws Exception {
        try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                var stage = stage(InboxTest.Database.POSTGRESQL);
                var connection = stage.connect()) {
            Store.of(connection, stage.table).acquire(connection, new Store.Claim(stage.name, 0, 1, "first", true));
            var dividing = begun(() -> {
                new OutboxAdmin(stage.database, stage.table, SILENCE)
                        .divide(
                                stage.name,
                                2,
                                Map.of(
                                        "bootstrap.servers",
                                        "127.0.0.1:" + silent.getLocalPort(),
                                        "default.api.timeout.ms",
                                        600_000));
                return true;
            });
            assertThat(dividing)
                    .failsWithin(BOUND)
                    .withThrowableThat()
                    .withMessageContaining("could not be fenced")
                    .withMessageContaining("nothing was changed");
            assertThat(stage.number("SELECT max(shards) FROM " + stage.table.relay()))
                    .isOne();
        }
    }
}
