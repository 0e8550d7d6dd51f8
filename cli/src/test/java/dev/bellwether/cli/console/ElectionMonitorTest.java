package dev.bellwether.cli.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.PageClock;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import java.io.StringWriter;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code console} and {@code watch} make of a backend that refuses something, on PostgreSQL. */
@Timeout(300)
class ElectionMonitorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String unique = UUID.randomUUID().toString().substring(0, 8);
    private final String looker = "looker_" + unique;
    private final String election = "billing-" + unique;
    private final Feed feed = new Feed();

    private final Elections all = Elections.connect(PostgresServer.shared().uri());
    private final Candidacy leader = all.stand(election);

    @BeforeEach
    void looksOnly() throws Exception {
        assertThat(leader.await(PATIENCE)).isPresent();
        execute("CREATE ROLE " + looker + " LOGIN");
        mayRead();
    }

    @AfterEach
    void close() throws SQLException {
        all.close();
        mayNotRead();
        execute("DROP ROLE " + looker);
    }

    @Test
    void ordersThatTheBackendRefusesAreAnsweredWithItsReason() {
        try (var elections = Elections.connect(uri());
                var monitor = monitor(elections)) {
            monitor.look();
            for (var action : List.of("stand-down", "hand-over")) {
                assertThatThrownBy(() -> monitor.order(Map.of("action", action, "name", election, "to", "bob")))
                        .as(action)
                        .isInstanceOf(IllegalStateException.class); // which the page shows
            }
            assertThatThrownBy(() -> monitor.order(Map.of("action", "stand-down", "name", election)))
                    .hasMessageContaining("GRANT ");
        }
    }

    @Test
    void anElectionOfWhichNothingWasHeardYetIsNotShownAsVacant() throws InterruptedException {
        var calls = new ConcurrentLinkedQueue<Runnable>();
        var config = ElectionsConfig.builder().executor(calls::add).build();
        try (var other = all.stand("another-" + unique); // whose view may come first
                var elections = Elections.over(ConnectUri.parse(uri()).connect(), config);
                var monitor = monitor(elections)) {
            assertThat(other.await(PATIENCE)).isPresent();
            monitor.look();

            assertThat(seat()).contains("\"known\":false");
            Eventually.eventually("the view comes", PATIENCE, () -> {
                Optional.ofNullable(calls.poll()).ifPresent(Runnable::run);
                return seat().contains("\"known\":true");
            });
            assertThat(seat()).contains(leader.candidate());
        }
    }

    @Test
    void aRefusalThatPassesIsShownUntilItHasPassed() throws SQLException {
        try (var elections = Elections.connect(uri());
                var monitor = monitor(elections)) {
            monitor.look();
            assertThat(monitor.look(Map.of("name", election))).contains(leader.candidate());
            assertThat(backend()).contains("\"complaint\":\"\"");

            mayNotRead();
            monitor.look();

            assertThat(backend()).contains("GRANT ", "unknownSince");
            assertThatThrownBy(() -> monitor.look(Map.of("name", election)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("GRANT ");

            mayRead();
            monitor.look();

            assertThat(backend()).contains("\"complaint\":\"\"");
        }
    }

    @Test
    void aRefusalAtTheStartEndsTheCommand() throws SQLException {
        try (var elections = Elections.connect(uri());
                var monitor = monitor(elections)) {
            mayNotRead();

            assertThatThrownBy(monitor::look)
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("GRANT ");
        }
    }

    @Test
    void watchTellsOfARefusalOnceAndGoesOnWhenItHasPassed() throws Exception {
        var out = new StringWriter();
        var err = new StringWriter();
        var watch = Spoken.inBackground(out, err, "watch", "--json", "--on", uri());
        try {
            Eventually.eventually(
                    "it shows the leader", PATIENCE, () -> out.toString().contains(election));
            mayNotRead();
            Eventually.eventually("it is told", PATIENCE, () -> err.toString().contains("GRANT "));
            mayRead();

            try (var later = all.stand(election + "-later")) {
                Eventually.eventually(
                        "it finds a new one", PATIENCE, () -> out.toString().contains(later.election()));
            }

            assertThat(err.toString().lines())
                    .satisfiesExactly(
                            first -> assertThat(first).contains("GRANT "),
                            second -> assertThat(second).contains("answers again"));
            assertThat(watch.isAlive()).isTrue();
        } finally {
            watch.interrupt();
            watch.join();
        }
    }

    private ElectionMonitor monitor(Elections elections) {
        return new ElectionMonitor(elections, feed, new PageClock(), "here", false);
    }

    private String uri() {
        return PostgresServer.shared().uri().replace("user=postgres", "user=" + looker);
    }

    /** Returns what the page knows of the backend. */
    private String backend() {
        return objects("\"is\":\"backend\"");
    }

    private String seat() {
        return objects("\"name\":\"" + election + '"');
    }

    private String objects(String with) {
        return String.join(
                "\n",
                feed.since(0).objects().stream()
                        .filter(one -> one.contains(with))
                        .toList());
    }

    private void mayRead() throws SQLException {
        execute("GRANT SELECT ON bellwether_election, bellwether_election_candidate TO " + looker);
    }

    private void mayNotRead() throws SQLException {
        execute("REVOKE SELECT ON bellwether_election, bellwether_election_candidate FROM " + looker);
    }

    private static void execute(String sql) throws SQLException {
        Sql.execute(PostgresServer.shared().uri(), sql);
    }
}
