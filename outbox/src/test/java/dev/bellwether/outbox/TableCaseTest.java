package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
            for (var sql : OutboxSchema.ddl(writing, table, OutboxForm.PLAIN).split(";\\s*", -1)) {
                if (!sql.isBlank()) {
                    execute(writing, sql);
                }
            }
            var locks = MetadataLocks.of(reading, deleting, table.name());
            assertThat(locks.look().orElseThrow().names()).isEmpty();
            writing.setAutoCommit(false);
            execute(writing, "INSERT INTO Billing.Outbox (topic) VALUES ('orders')");
            assertThat(locks.look().orElseThrow().names()).hasSize(1);
            writing.commit();
            assertThat(MysqlStore.told(reading, table, "auto_increment")).isEqualTo(2);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
