package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file between processes. */
class SqliteFileTest {
    /** Half of it is left when a renewal is due: long against a stall of a busy machine or disk. */
    private static final Duration LEASE = Duration.ofSeconds(5);

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path folder;

    private String uri() {
        return "jdbc:sqlite:" + folder.resolve("elections.db");
    }

    @Test
    void aKilledHolderLeavesNoLockAndItsSeatPassesOn() throws Exception {
        try (var child = ChildMain.stand(uri(), "billing", LEASE);
                var elections = Elections.connect(uri())) {
            var token = Long.parseLong(child.await("leads "));
            try (var standby = elections.stand("billing", CandidacyConfig.ofLease(LEASE))) {
                Eventually.throughout("the standby waits", LEASE.plusSeconds(2), () -> !standby.isLeader());
                child.kill();
                assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(token);
            }
        }
    }

    @Test
    void aProcessThatEndsInOrderHandsOverToAnother() throws Exception {
        try (var elections = Elections.connect(uri());
                var first = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(60)))) {
            var token = first.await(PATIENCE).orElseThrow().token();
            try (var child = ChildMain.stand(uri(), "billing", Duration.ofSeconds(60))) {
                child.await("stands");
                first.resign();
                assertThat(Long.parseLong(child.await("leads "))).isGreaterThan(token);
            }
        }
    }

    @Test
    void whoWritesAllTheTimeDoesNotStarveALeader() throws Exception {
        try (var elections = Elections.connect(uri());
                var leader = elections.stand("billing", CandidacyConfig.ofLease(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var until = System.nanoTime() + LEASE.plusSeconds(2).toNanos();
            try (var connection = DriverManager.getConnection(uri());
                    var statement = connection.createStatement()) {
                statement.execute("PRAGMA busy_timeout = 5000");
                statement.execute("CREATE TABLE ledger (id integer)");
                for (var write = 0; write < 100 || System.nanoTime() - until < 0; write++) {
                    statement.execute("INSERT INTO ledger VALUES (1)");
                    assertThat(mandate.isValid())
                            .as("it leads after write " + write)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void whatWasCommittedSurvivesTheLossOfPower() throws Exception {
        Elections.connect(uri()).close();
        try (var connection = Source.of(ConnectUri.parse(uri())).open(PATIENCE);
                var statement = connection.createStatement()) {
            assertThat(pragma(statement, "journal_mode")).isEqualTo("wal");
            assertThat(pragma(statement, "synchronous")).isEqualTo("2"); // FULL
        }
    }

    @Test
    void printingTheTablesMakesNoFileAndChangesNone() throws Exception {
        assertThat(SqlSchema.ddl(ConnectUri.parse(uri()))).contains("bellwether_election");
        assertThat(folder).isEmptyDirectory();
        try (var connection = DriverManager.getConnection(uri());
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE ledger (id integer)");
            SqlSchema.ddl(ConnectUri.parse(uri()));
            assertThat(pragma(statement, "journal_mode")).isEqualTo("delete");
        }
        assertThat(SqlSchema.ddl(ConnectUri.parse("jdbc:h2:" + folder.resolve("h2"))))
                .contains("bellwether_election");
        assertThat(folder).isDirectoryNotContaining("glob:**h2*");
    }

    private static String pragma(java.sql.Statement statement, String name) throws Exception {
        try (var result = statement.executeQuery("PRAGMA " + name)) {
            result.next();
            return result.getString(1);
        }
    }
}
