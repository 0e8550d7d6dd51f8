package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.testkit.Eventually;
import java.io.StringWriter;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code outbox status --watch} makes of a database that refuses access, on PostgreSQL. */
@Timeout(300)
class StatusTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String unique = UUID.randomUUID().toString().substring(0, 8);
    private final String looker = "looker_" + unique;
    private final String table = "outbox_" + unique;

    @Test
    void aRefusalThatPassesIsToldOnceAndTheWatchGoesOn() throws Exception {
        var uri = migrated();
        execute("CREATE ROLE " + looker + " LOGIN");
        mayRead();
        var out = new StringWriter();
        var err = new StringWriter();
        var watch = Spoken.inBackground(
                out,
                err,
                "outbox",
                "status",
                "--watch",
                "--json",
                "--interval",
                "50ms",
                "--db",
                uri.replace("user=postgres", "user=" + looker),
                "--table",
                table);
        try {
            Eventually.eventually(
                    "it shows the state", PATIENCE, () -> !out.toString().isEmpty());
            execute("REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM " + looker);
            Eventually.eventually("it is told", PATIENCE, () -> err.toString().contains("permission denied"));
            var seen = out.toString().length();
            mayRead();

            Eventually.eventually(
                    "it shows the state again", PATIENCE, () -> out.toString().length() > seen);

            assertThat(err.toString().lines()).hasSize(1);
        } finally {
            watch.interrupt();
            watch.join();
            execute("DROP OWNED BY " + looker);
            execute("DROP ROLE " + looker);
        }
    }

    /** A server does not notice that the client of a session that waits for a lock has gone. */
    @Test
    void aLockedTableDoesNotUseUpTheConnectionsOfTheServer() throws Exception {
        var uri = migrated();
        var out = new StringWriter();
        var err = new StringWriter();
        var watch = Spoken.inBackground(
                out,
                err,
                "outbox",
                "status",
                "--watch",
                "--interval",
                "1ms",
                "--timeout",
                "1s",
                "--db",
                uri,
                "--table",
                table);
        try (var other = PostgresServer.shared().connect();
                var statement = other.createStatement()) {
            Eventually.eventually(
                    "it shows the state", PATIENCE, () -> !out.toString().isEmpty());
            other.setAutoCommit(false);
            statement.execute("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE");
            Eventually.eventually("it is told", PATIENCE, () -> err.toString().contains("Trying again"));
            Eventually.throughout("few sessions wait", Duration.ofSeconds(6), () -> waiting(statement) <= 2);
            var seen = out.toString().length();
            other.rollback();
            Eventually.eventually(
                    "it shows the state again", PATIENCE, () -> out.toString().length() > seen);
        } finally {
            watch.interrupt();
            watch.join();
        }
    }

    /** Makes the outbox, and returns where. */
    private String migrated() {
        var uri = PostgresServer.shared().uri();
        var made = Spoken.of(Map.of(), "outbox", "migrate", "--db", uri, "--table", table);
        assertThat(made.code()).as(made.all()).isZero();
        return uri;
    }

    private long waiting(Statement statement) {
        try (var result = statement.executeQuery(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + table + "'::regclass")) {
            result.next();
            return result.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private void mayRead() throws SQLException {
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + looker);
    }

    private static void execute(String sql) throws SQLException {
        Sql.execute(PostgresServer.shared().uri(), sql);
    }

    @Test
    void nameThatNoTableCanHaveIsAWrongCommandLine() {
        var spoken = Spoken.of(
                Map.of(), "outbox", "status", "--db", PostgresServer.shared().uri(), "--table", "a b");
        assertThat(spoken.code()).isEqualTo(ExitCode.USAGE);
        assertThat(spoken.err()).contains("outbox table \"a b\"");
    }
}
