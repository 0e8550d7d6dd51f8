package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each event is handled once by each consumer, on each database that an outbox lives in. */
@Timeout(120)
class InboxTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    enum Database {
        POSTGRESQL,
        MARIADB,
        MYSQL;

        DataSource source() {
            return Servers.dataSource(
                    switch (this) {
                        case POSTGRESQL -> PostgresServer.shared().uri();
                        case MARIADB ->
                            MysqlFamilyServer.shared(MysqlFamilyServer.Kind.MARIADB)
                                    .uri();
                        case MYSQL ->
                            MysqlFamilyServer.shared(MysqlFamilyServer.Kind.MYSQL)
                                    .uri();
                    });
        }
    }

    /** An inbox, and a table that says what was done. */
    private static final class Stage {
        final DataSource database;
        final String table = Servers.fresh("inbox");
        final Inbox inbox = Inbox.of("billing").in(table);

        Stage(Database kind) throws SQLException {
            database = kind.source();
            try (var connection = database.getConnection();
                    var statement = connection.createStatement()) {
                inbox.create(connection);
                inbox.create(connection);
                statement.execute("CREATE TABLE " + table + "_done (what varchar(250))");
            }
        }

        Connection begin() throws SQLException {
            var connection = database.getConnection();
            connection.setAutoCommit(false);
            return connection;
        }

        void does(Connection connection, String what) throws SQLException {
            try (var insert = connection.prepareStatement("INSERT INTO " + table + "_done VALUES (?)")) {
                insert.setString(1, what);
                insert.executeUpdate();
            }
        }

        List<String> done() throws SQLException {
            try (var connection = database.getConnection();
                    var statement = connection.createStatement();
                    var result = statement.executeQuery("SELECT what FROM " + table + "_done ORDER BY what")) {
                var done = new ArrayList<String>();
                while (result.next()) {
                    done.add(result.getString(1));
                }
                return done;
            }
        }

        boolean handle(Inbox by, String id) throws SQLException {
            try (var connection = begin()) {
                var ran = by.once(connection, id, () -> does(connection, id));
                connection.commit();
                return ran;
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void eachConsumerHandlesAnEventOnce(Database kind) throws Exception {
        var stage = new Stage(kind);
        assertThat(stage.handle(stage.inbox, "a")).isTrue();
        assertThat(stage.handle(stage.inbox, "a")).isFalse();
        assertThat(stage.handle(stage.inbox, "b")).isTrue();
        // others than "a", whatever the database thinks of case, accents and blanks
        for (var other : List.of("A", "a ", "ä")) {
            assertThat(stage.handle(stage.inbox, other)).as(other).isTrue();
            assertThat(stage.handle(stage.inbox, other)).as(other).isFalse();
        }
        var shipping = Inbox.of("shipping").in(stage.table);
        assertThat(stage.handle(shipping, "a")).isTrue();
        assertThat(stage.handle(shipping, "a")).isFalse();
        assertThat(stage.handle(stage.inbox, "x".repeat(200))).isTrue();
        assertThat(stage.handle(stage.inbox, "x".repeat(200))).isFalse();
        assertThat(stage.done()).hasSize(7).contains("a", "b", "A", "ä");
    }

    @ParameterizedTest
    @EnumSource
    void eventWhoseTransactionIsRolledBackIsHandledAgain(Database kind) throws Exception {
        var stage = new Stage(kind);
        try (var connection = stage.begin()) {
            assertThatThrownBy(() -> stage.inbox.once(connection, "a", () -> {
                        stage.does(connection, "half of it");
                        throw new IOException("planted");
                    }))
                    .isInstanceOf(IOException.class);
            connection.rollback();
        }
        assertThat(stage.done()).isEmpty();
        assertThat(stage.handle(stage.inbox, "a")).isTrue();
        assertThat(stage.done()).containsExactly("a");
    }

    @ParameterizedTest
    @EnumSource
    void duplicateThatComesMeanwhileWaitsAndIsToldThatItIsDone(Database kind) throws Exception {
        assertThat(secondOfTwo(kind, true)).isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void duplicateThatComesMeanwhileHandlesTheEventIfTheOtherRollsBack(Database kind) throws Exception {
        assertThat(secondOfTwo(kind, false)).isTrue();
    }

    private static boolean secondOfTwo(Database kind, boolean firstCommits) throws Exception {
        var stage = new Stage(kind);
        var second = new CompletableFuture<Boolean>();
        try (var first = stage.begin();
                var other = stage.begin()) {
            var id = session(other, kind);
            assertThat(stage.inbox.once(first, "a", () -> stage.does(first, "first")))
                    .isTrue();
            var thread = new Thread(() -> {
                try {
                    second.complete(stage.inbox.once(other, "a", () -> stage.does(other, "second")));
                    other.commit();
                } catch (SQLException | RuntimeException e) {
                    second.completeExceptionally(e);
                }
            });
            thread.start();
            Eventually.eventually("the second waits", PATIENCE, () -> waits(stage, kind, id));
            assertThat(second).isNotDone();
            if (firstCommits) {
                first.commit();
            } else {
                first.rollback();
            }
            var ran = second.get(60, TimeUnit.SECONDS);
            thread.join();
            assertThat(stage.done()).containsExactly(firstCommits ? "first" : "second");
            return ran;
        }
    }

    private static long session(Connection connection, Database kind) throws SQLException {
        return number(connection, kind == Database.POSTGRESQL ? "SELECT pg_backend_pid()" : "SELECT CONNECTION_ID()");
    }

    private static boolean waits(Stage stage, Database kind, long session) {
        try (var connection = stage.database.getConnection();
                var statement = connection.createStatement()) {
            if (kind != Database.POSTGRESQL) {
                return MysqlFamilyServer.waiting(connection).stream()
                        .anyMatch(one -> one.contains(" thread id " + session + ","));
            }
            try (var result =
                    statement.executeQuery("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + session)) {
                result.next();
                return result.getLong(1) > 0;
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void snapshotFromBeforeTheOtherCommittedFailsSoThatTheEventComesAgain() throws Exception {
        var stage = new Stage(Database.POSTGRESQL);
        try (var connection = stage.begin()) {
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            session(connection, Database.POSTGRESQL); // here the snapshot is taken
            assertThat(stage.handle(stage.inbox, "a")).isTrue();
            assertThatThrownBy(() -> stage.inbox.once(connection, "a", () -> stage.does(connection, "again")))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            connection.rollback();
        }
        assertThat(stage.handle(stage.inbox, "a")).isFalse();
        assertThat(stage.done()).containsExactly("a");
    }

    @ParameterizedTest
    @EnumSource
    void ofManyDeliveriesAtATimeOneIsHandled(Database kind) throws Exception {
        var stage = new Stage(kind);
        var deliveries = new ArrayList<String>();
        for (var event = 0; event < 60; event++) {
            deliveries.addAll(Collections.nCopies(4, "e" + event));
        }
        var next = new AtomicInteger();
        var threads = Executors.newFixedThreadPool(4);
        try {
            var all = new ArrayList<Future<?>>();
            for (var i = 0; i < 4; i++) {
                all.add(threads.submit(() -> {
                    for (var at = next.getAndIncrement(); at < deliveries.size(); at = next.getAndIncrement()) {
                        deliver(stage, deliveries.get(at), at);
                    }
                    return null;
                }));
            }
            for (var one : all) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(stage.done())
                .as(Never.mark("an event was handled twice, or not at all"))
                .doesNotHaveDuplicates()
                .hasSize(60);
    }

    /** One in three fails behind its work, and is delivered again; so is one that the database fails. */
    private static void deliver(Stage stage, String id, int number) throws SQLException {
        for (var attempt = 0; ; attempt++) {
            try (var connection = stage.begin()) {
                try {
                    stage.inbox.once(connection, id, () -> stage.does(connection, id));
                    if (attempt == 0 && number % 3 == 0) {
                        connection.rollback();
                        continue;
                    }
                    connection.commit();
                    return;
                } catch (SQLException e) {
                    connection.rollback();
                    if (attempt > 20) {
                        throw e;
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsForgottenIsHandledAgainAndNothingElse(Database kind) throws Exception {
        var stage = new Stage(kind);
        for (var event = 0; event < 2_100; event += 700) {
            try (var connection = stage.begin()) {
                for (var i = event; i < event + 700; i++) {
                    assertThat(stage.inbox.once(connection, "old" + i, () -> {}))
                            .isTrue();
                }
                connection.commit();
            }
        }
        var shipping = Inbox.of("shipping").in(stage.table);
        assertThat(stage.handle(shipping, "old0")).isTrue();
        try (var connection = stage.database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("UPDATE " + stage.table + " SET handled = "
                    + (kind == Database.POSTGRESQL
                            ? "now() - interval '2 hours'"
                            : "TIMESTAMPADD(HOUR, -2, CURRENT_TIMESTAMP(3))"));
        }
        assertThat(stage.handle(stage.inbox, "young")).isTrue();
        assertThat(stage.inbox.forget(stage.database, Duration.ofHours(3))).isZero();
        assertThat(stage.inbox.forget(stage.database, Duration.ofHours(1))).isEqualTo(2_100);
        assertThat(stage.inbox.forget(stage.database, Duration.ofHours(1))).isZero();
        assertThat(stage.handle(stage.inbox, "young")).isFalse();
        assertThat(stage.handle(shipping, "old0")).isFalse();
        assertThat(stage.handle(stage.inbox, "old7")).isTrue();
    }

    /** A consumer holds the row of its event until the commit, and may take long. */
    @ParameterizedTest
    @EnumSource
    void forgettingWaitsForNobodyWhoHandlesAnEventNow(Database kind) throws Exception {
        var stage = new Stage(kind);
        try (var handling = stage.begin()) {
            assertThat(stage.inbox.once(handling, "now", () -> {})).isTrue();
            var impatient = SummerTimeTest.with(
                    stage.database,
                    kind == Database.POSTGRESQL
                            ? "SET lock_timeout = '1s'"
                            : "SET SESSION innodb_lock_wait_timeout = 1");
            assertThat(stage.inbox.forget(impatient, Duration.ofMinutes(1))).isZero();
            handling.rollback();
        }
    }

    /** Whatever the isolation of its pool. */
    @ParameterizedTest
    @EnumSource
    void ofTwoWhoForgetTheSameNoneFails(Database kind) throws Exception {
        var stage = new Stage(kind);
        assertThat(stage.handle(stage.inbox, "one")).isTrue();
        assertThat(stage.handle(stage.inbox, "two")).isTrue();
        var isolated = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            var connection = stage.database.getConnection();
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            return connection;
        });
        try (var other = stage.begin();
                var statement = other.createStatement()) {
            statement.execute("UPDATE " + stage.table + " SET handled = TIMESTAMP '2001-01-01 00:00:00'");
            other.commit();
            statement.execute("DELETE FROM " + stage.table + " WHERE event_id = 'one'");
            var forgotten = CompletableFuture.supplyAsync(
                    () -> {
                        try {
                            return stage.inbox.forget(isolated, Duration.ofHours(1));
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    task -> new Thread(task, "forgets").start());
            Eventually.eventually("it waits", PATIENCE, () -> DivideTest.waits(stage.database));
            other.commit();
            assertThat(forgotten).succeedsWithin(PATIENCE).isEqualTo(1L);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void connectionKeepsItsTimeZone(Database kind) throws Exception {
        var stage = new Stage(kind);
        try (var connection = stage.database.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("SET time_zone = '+05:00'");
            var lent = FaultyDatabase.proxy(
                    DataSource.class,
                    (method, arguments) -> FaultyDatabase.proxy(
                            Connection.class,
                            (inner, given) -> inner.getName().equals("close")
                                    ? null
                                    : FaultyDatabase.call(connection, inner, given)));
            stage.inbox.forget(lent, Duration.ofMinutes(1));
            try (var result = statement.executeQuery("SELECT @@SESSION.time_zone")) {
                result.next();
                assertThat(result.getString(1)).isEqualTo("+05:00");
            }
        }
    }

    /** As where an administrator ends the statement by which it begins. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void connectionOnWhichForgettingCouldNotBeginKeepsItsAutoCommit(Database kind) throws Exception {
        var stage = new Stage(kind);
        var once = new AtomicBoolean(true);
        try (var connection = stage.begin()) {
            var lent = FaultyDatabase.proxy(
                    DataSource.class,
                    (method, arguments) -> FaultyDatabase.proxy(Connection.class, (inner, given) -> {
                        if (inner.getName().equals("createStatement") && once.getAndSet(false)) {
                            throw new SQLException("pretended: interrupted", "70100", 1317);
                        }
                        return inner.getName().equals("close") ? null : FaultyDatabase.call(connection, inner, given);
                    }));
            assertThatThrownBy(() -> stage.inbox.forget(lent, Duration.ofMinutes(1)))
                    .hasMessage("pretended: interrupted");
            assertThat(connection.getAutoCommit()).isFalse();
        }
    }

    @ParameterizedTest
    @EnumSource
    void forgettingWhoseSessionIsEndedSaysWhy(Database kind) throws Exception {
        var stage = new Stage(kind);
        var database = VanishedOperatorTest.ending(stage.database, "handled <");
        assertThatThrownBy(() -> stage.inbox.forget(database, Duration.ofMinutes(1)))
                .hasMessage(VanishedOperatorTest.ENDED);
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeRightIsRefused(Database kind) throws Exception {
        var stage = new Stage(kind);
        try (var connection = stage.database.getConnection()) {
            assertThatThrownBy(() -> stage.inbox.once(connection, "a", () -> stage.does(connection, "a")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("event a")
                    .hasMessageContaining("setAutoCommit(false)");
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> stage.inbox.once(connection, "x".repeat(201), () -> {}))
                    .hasMessageContaining("has 201 characters: it must have 1 to 200");
            assertThatThrownBy(() -> stage.inbox.once(connection, "", () -> {})).hasMessageContaining("event id");
        }
        assertThat(stage.done()).isEmpty();
        assertThatThrownBy(() -> Inbox.of("")).hasMessageContaining("consumer");
        assertThatThrownBy(() -> stage.inbox.in("a; drop")).hasMessageContaining("must be a name");
        assertThatThrownBy(() -> stage.inbox.forget(stage.database, Duration.ZERO))
                .hasMessageContaining("olderThan is PT0S");
    }
}
