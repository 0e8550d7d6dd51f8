package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.Spoken;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.io.StringWriter;
import java.sql.SQLException;
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
        var uri = PostgresServer.shared().uri();
        var made = Spoken.of(Map.of(), "outbox", "migrate", "--db", uri, "--table", table);
        assertThat(made.code()).as(made.all()).isZero();
        execute("CREATE ROLE " + looker + " LOGIN");
        mayRead();
        var out = new StringWriter();
        var err = new StringWriter();
        var watch = new Thread(() -> Spoken.into(
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
                table));
        watch.start();
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

    private void mayRead() throws SQLException {
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + looker);
    }

    private static void execute(String sql) throws SQLException {
        try (var connection = PostgresServer.shared().connect();
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
