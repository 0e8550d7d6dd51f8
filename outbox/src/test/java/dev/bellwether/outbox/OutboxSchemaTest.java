package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables are made through connections that a pool hands out with auto-commit off. */
class OutboxSchemaTest {
    /** What is not committed goes when they are closed. */
    private static DataSource withoutAutoCommit(String uri) {
        var database = Servers.dataSource(uri);
        return (DataSource) Proxy.newProxyInstance(
                OutboxSchemaTest.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> {
                    var result = method.invoke(database, arguments);
                    if (result instanceof Connection connection) {
                        connection.setAutoCommit(false);
                    }
                    return result;
                });
    }

    @ParameterizedTest
    @EnumSource(OutboxForm.class)
    void tablesAreMadeInTheTransactionOfTheCallerOnPostgres(OutboxForm form) throws SQLException {
        var database = withoutAutoCommit(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("caller"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, table, form);
            connection.rollback();
            assertThat(OutboxSchema.form(connection, table)).isEmpty();
            OutboxSchema.create(connection, table, form);
            connection.commit();
            assertThat(connection.getAutoCommit()).isFalse();
        }
        try (var connection = database.getConnection()) {
            assertThat(OutboxSchema.form(connection, table)).contains(form);
            assertThat(OutboxSchema.migrate(connection, table)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(OutboxForm.class)
    void severalMayMakeTheTablesAtATimeOnPostgres(OutboxForm form) throws Exception {
        var table = OutboxTable.named(Servers.fresh("several"));
        severalMayMake(connection -> OutboxSchema.create(connection, table, form));
    }

    @Test
    void severalMayMakeAnInboxAtATimeOnPostgres() throws Exception {
        var inbox = Inbox.of("x").in(Servers.fresh("several"));
        severalMayMake(inbox::create);
    }

    private interface Making {
        void with(Connection connection) throws SQLException;
    }

    private static void severalMayMake(Making making) throws Exception {
        var database = Servers.dataSource(PostgresServer.shared().uri());
        try (var one = database.getConnection();
                var other = database.getConnection()) {
            one.setAutoCommit(false);
            making.with(one);
            var second = CompletableFuture.runAsync(
                    () -> {
                        try {
                            making.with(other);
                        } catch (SQLException e) {
                            throw new IllegalStateException(e);
                        }
                    },
                    task -> new Thread(task, "other").start());
            Eventually.eventually("it waits", RelayStage.PATIENCE, () -> DivideTest.waits(database));
            one.commit();
            assertThatCode(second::join).doesNotThrowAnyException();
            assertThat(other.getAutoCommit()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void tablesAreMadeWithoutAutoCommit(Kind kind) throws SQLException {
        var database = withoutAutoCommit(MysqlFamilyServer.shared(kind).uri());
        var table = OutboxTable.named(Servers.fresh("caller"));
        try (var connection = database.getConnection()) {
            OutboxSchema.create(connection, table);
        }
        try (var connection = database.getConnection()) {
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.PLAIN);
            assertThat(OutboxSchema.migrate(connection, table)).isEmpty();
        }
    }

    @Test
    void aRelayOfSuchAPoolMakesItsTablesAndOperatorsOfItAreObeyed() throws Exception {
        var database = withoutAutoCommit(PostgresServer.shared().uri());
        var table = OutboxTable.named(Servers.fresh("relay"));
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var connection = stage.connect()) {
            stage.relay(more -> more.table(table), database, KafkaProducer::new);
            stage.await(RelayEvent.LeaderRefreshed.class);
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.PLAIN);
            assertThat(OutboxAdmin.of(database, table).migrate(OutboxForm.ROTATED, Duration.ofSeconds(60)))
                    .isTrue();
            assertThat(OutboxSchema.form(connection, table)).contains(OutboxForm.ROTATED);
            Outbox.of(table).stash(connection, Writers.numbered(stage.topic, "k", 0, 10));
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 10)));
        }
    }
}
