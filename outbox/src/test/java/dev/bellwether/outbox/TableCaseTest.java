package dev.bellwether.outbox;

import static dev.bellwether.fixtures.Sql.execute;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers that tell names of tables apart by case, and servers that do not: {@code lower_case_table_names}. */
class TableCaseTest {
    @ParameterizedTest
    @CsvSource({"MARIADB, 0", "MARIADB, 1", "MARIADB_SCHEMA, 1", "MYSQL, 0", "MYSQL, 1"})
    void anOutboxWhoseNameHasCapitalsIsFoundInWhatTheServerTellsOfTables(Kind kind, int folds) throws Exception {
        try (var server = MysqlFamilyServer.start(kind, "--lower-case-table-names=" + folds);
                var reading = server.connect();
                var deleting = server.connect();
                var writing = server.connect()) {
            var table = OutboxTable.named("Billing.Outbox");
            execute(writing, "CREATE DATABASE Billing");
            create(writing, table);
            var locks = MetadataLocks.of(reading, deleting, table.name());
            assertThat(locks.look().orElseThrow().names()).isEmpty();
            writing.setAutoCommit(false);
            execute(writing, "INSERT INTO Billing.Outbox (topic) VALUES ('orders')");
            assertThat(locks.look().orElseThrow().names()).hasSize(1);
            writing.commit();
            assertThat(MysqlStore.told(reading, table, "auto_increment")).isEqualTo(2);
        }
    }

    /** Its writers would keep gaps of ours open. */
    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MARIADB_SCHEMA", "MYSQL"})
    void whoWritesIntoAnOutboxThatIsSpeltOtherwiseIsNoneOfOurs(Kind kind) throws Exception {
        var server = MysqlFamilyServer.shared(kind);
        try (var reading = server.connect();
                var deleting = server.connect();
                var writing = server.connect()) {
            create(writing, OutboxTable.named("Spelt"));
            create(writing, OutboxTable.named("spelt"));
            var locks = MetadataLocks.of(reading, deleting, "Spelt");
            writing.setAutoCommit(false);
            execute(writing, "INSERT INTO spelt (topic) VALUES ('orders')");
            assertThat(locks.look().orElseThrow().names()).isEmpty();
            execute(writing, "INSERT INTO Spelt (topic) VALUES ('orders')");
            assertThat(locks.look().orElseThrow().names()).hasSize(1);
        }
    }

    private static void create(Connection connection, OutboxTable table) throws SQLException {
        for (var sql : OutboxSchema.ddl(connection, table, OutboxForm.PLAIN).split(";\\s*", -1)) {
            if (!sql.isBlank()) {
                execute(connection, sql);
            }
        }
    }
}
