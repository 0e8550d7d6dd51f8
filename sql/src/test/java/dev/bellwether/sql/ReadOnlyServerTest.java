package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A MariaDB or MySQL that was started to be read only. */
class ReadOnlyServerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB_PLAIN", "MYSQL"})
    void whoLooksSeesAndWhoStandsIsToldThatItIsReadOnly(Kind kind) throws Exception {
        try (var server = MysqlFamilyServer.start(kind)) {
            try (var elections = Elections.connect(server.uri());
                    var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
            }
            var again = startReadOnly(server, kind);
            try (var elections = Elections.connect(server.uri())) {
                assertThat(elections.list()).containsExactly("billing");
                assertThatThrownBy(() -> elections.stand("billing"))
                        .isInstanceOf(UnavailableException.class)
                        .hasMessageContaining("is read-only");
            } finally {
                again.destroyForcibly().onExit().join();
            }
        }
    }

    /** Ends it in order, and starts it as it was started before, but for that. */
    private static Process startReadOnly(MysqlFamilyServer server, Kind kind) throws SQLException, IOException {
        var command = new ArrayList<>(List.of(Scripts.where(kind == Kind.MYSQL ? "mysqld" : "mariadbd")));
        Path data;
        ProcessHandle process;
        try (var connection = server.connect();
                var statement = connection.createStatement();
                var result = statement.executeQuery("SELECT @@pid_file, @@datadir")) {
            result.next();
            process = ProcessHandle.of(Long.parseLong(
                            Files.readString(Path.of(result.getString(1))).strip()))
                    .orElseThrow();
            data = Path.of(result.getString(2));
        }
        var arguments = List.of(process.info().arguments().orElseThrow());
        command.addAll(arguments.subList(arguments.indexOf("--no-defaults"), arguments.size()));
        command.add("--innodb-read-only");
        if (kind == Kind.MYSQL) {
            command.add("--skip-log-bin");
        }
        try (var connection = server.connect();
                var statement = connection.createStatement()) {
            statement.execute("SHUTDOWN");
        } catch (SQLException e) {
            assertThat(e.getSQLState()).as("it may be gone before it answers").startsWith("08");
        }
        process.onExit().join();
        var again = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(data.resolveSibling("again.log").toFile())
                .start();
        ProcessReaper.watch(again.pid());
        Eventually.eventually("it answers", PATIENCE, () -> {
            try (var connection = server.connect()) {
                return connection.isValid(1);
            } catch (SQLException e) {
                if (!again.isAlive()) {
                    throw new AssertionError("it has ended", e);
                }
                return false;
            }
        });
        return again;
    }
}
