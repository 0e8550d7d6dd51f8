package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What {@code docs/upgrading.md} says of tables that a newer version has given columns, and of those of an older one.
 */
class UnknownColumnsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private static Path folder;

    private final String table =
            "c" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri() + "&bellwether.table=",
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri() + "&bellwether.table=",
                MysqlFamilyServer.shared(Kind.MYSQL).uri() + "&bellwether.table=",
                "jdbc:h2:mem:columns;DB_CLOSE_DELAY=-1?bellwether.table=",
                "jdbc:sqlite:" + folder.resolve("columns.db") + "?bellwether.table=");
    }

    @ParameterizedTest
    @MethodSource("databases")
    void columnsOfANewerVersionAreIgnored(String uri) throws Exception {
        Elections.connect(uri + table).close();
        for (var one : new String[] {table, table + "_candidate"}) {
            execute(uri, "ALTER TABLE " + one + " ADD COLUMN later text");
            execute(uri, "ALTER TABLE " + one + " ADD COLUMN later_at bigint NOT NULL DEFAULT 0");
        }
        try (var elections = Elections.connect(uri + table);
                var first = elections.stand("billing")) {
            var mandate = first.await(PATIENCE).orElseThrow();
            execute(uri, "UPDATE " + table + " SET later = 'x', later_at = 7");
            try (var second = elections.stand("billing")) {
                first.standDown();
                assertThat(second.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
                assertThat(elections.election("billing").state().candidates()).isNotEmpty();
            }
            elections.election("billing").end();
            elections.election("billing").delete();
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aTableOfAnOlderVersionIsRefusedAndNotChanged(String uri) throws Exception {
        Elections.connect(uri + table).close();
        execute(uri, "ALTER TABLE " + table + " DROP COLUMN note");
        for (var i = 0; i < 2; i++) {
            assertThatThrownBy(() -> Elections.connect(uri + table))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("lacks a column")
                    .hasMessageContaining("ADD COLUMN note text");
        }
        execute(uri, "ALTER TABLE " + table + " ADD COLUMN note text");
        try (var elections = Elections.connect(uri + table);
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    private static void execute(String uri, String sql) throws SQLException {
        Sql.execute(uri.replaceFirst("[;?&]bellwether\\.table=$", ""), sql);
    }
}
