package dev.bellwether.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.yaml.snakeyaml.Yaml;

/** The application of {@code docs/spring.md}, twice, in processes of their own, over one PostgreSQL. */
@Timeout(180)
class HandOverTest {
    /** So long that whoever takes the seat was handed it. */
    private static final String LEASE = "--bellwether.elections.billing.lease=10m";

    /** Where the settings of the application have it. */
    static final String ACTUATOR = "http://127.0.0.1:8081";

    private static Database database;

    @BeforeAll
    static void startDatabase() throws IOException {
        database = Database.start();
    }

    @AfterAll
    static void stopDatabase() throws IOException {
        database.close();
    }

    @Test
    void theSeatIsHandedOverOnShutdownAndGivenUpAsTheManifestOfKubernetesDoesIt() throws Exception {
        try (var first = App.start(database.uri(), LEASE)) {
            first.awaitLeading();
            assertThat(first.ask("GET", "/actuator/health/leader").statusCode()).isEqualTo(200);
            assertThat(first.ask("GET", "/leaderz").statusCode()).isEqualTo(200);
            awaitSettled(1);
            try (var second = App.start(database.uri(), LEASE)) {
                var readiness = probePath("readinessProbe");
                var liveness = probePath("livenessProbe");
                Eventually.eventually(
                        "the standby is healthy and ready",
                        App.PATIENCE,
                        () -> second.ask("GET", "/actuator/health").statusCode() == 200
                                && second.askAsAnyClient("GET", readiness).statusCode() == 200
                                && second.askAsAnyClient("GET", liveness).statusCode() == 200);
                assertThat(second.leads()).isFalse();
                assertThat(second.ask("GET", "/actuator/health/leader").statusCode())
                        .isEqualTo(503);
                assertThat(second.ask("GET", "/leaderz").statusCode()).isEqualTo(503);

                first.stop();
                second.awaitLeading();
                assertThat(second.metric("bellwether_token", "election=\"billing\""))
                        .contains(2.0);
                assertThat(second.ask("GET", "/actuator/bellwether").body())
                        .contains("\"leading\":true")
                        .contains("\"token\":2");
                awaitSettled(2);

                var preStop = preStop();
                assertThat(second.ask(preStop.get(0), preStop.get(1)).statusCode())
                        .isEqualTo(200);
                assertThat(second.leads()).isFalse();
                assertThat(second.metric("bellwether_term_seconds_count", "cause=\"resigned\"", "election=\"billing\""))
                        .contains(1.0);
                assertThat(second.metric(
                                "bellwether_mandate_seconds_count", "cause=\"resigned\"", "election=\"billing\""))
                        .contains(1.0);
            }
        }
    }

    /**
     * Prints how long it takes, by the clocks of the applications; {@code -Dbellwether.rounds=30} for a figure. The
     * quickest must take less than a second; the others a minute, since the machine may be busy.
     */
    @Test
    @Timeout(900)
    void aStopIsFollowedByTheNextTermAtOnce() throws Exception {
        var vacancies = new ArrayList<Duration>();
        var stops = new ArrayList<Duration>();
        var leader = App.start(database.uri(), LEASE);
        try {
            leader.awaitLeading();
            for (var round = 0; round < Integer.getInteger("bellwether.rounds", 3); round++) {
                var successor = App.start(database.uri(), LEASE);
                try (var former = leader) {
                    leader = successor;
                    successor.awaitStandby();
                    var told = Instant.now();
                    former.stop();
                    var began = successor.awaitSaid("leads, token");
                    vacancies.add(Duration.between(former.awaitSaid("leads no more: RESIGNED"), began));
                    stops.add(Duration.between(told, began));
                }
            }
        } finally {
            leader.close();
        }
        System.out.println("milliseconds until the next leads, from the end of the former term: " + spread(vacancies)
                + "; from SIGTERM: " + spread(stops));
        assertThat(stops).allSatisfy(stop -> assertThat(stop).isBetween(Duration.ZERO, Duration.ofMinutes(1)));
        assertThat(Collections.min(stops)).isLessThan(Duration.ofSeconds(1));
        assertThat(vacancies).noneMatch(Duration::isNegative);
    }

    private static String spread(List<Duration> times) {
        var sorted = times.stream().sorted().map(Duration::toMillis).toList();
        return "p50 " + sorted.get(sorted.size() / 2) + ", most " + sorted.get(sorted.size() - 1) + ", all " + sorted;
    }

    /** Waits until the work is done under this token. */
    private static void awaitSettled(long token) {
        Eventually.eventually("the leader settles under token " + token, App.PATIENCE, () -> {
            try (var connection = DriverManager.getConnection(database.uri());
                    var statement = connection.createStatement();
                    var rows = statement.executeQuery("SELECT MAX(token) FROM settled")) {
                return rows.next() && rows.getLong(1) == token;
            } catch (SQLException e) {
                return false; // the leader has not made the table yet
            }
        });
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> container() throws IOException {
        Map<String, Object> manifest = new Yaml().load(Files.readString(Path.of("..", "kubernetes", "billing.yaml")));
        var pod = (Map<String, Object>)
                ((Map<String, Object>) ((Map<String, Object>) manifest.get("spec")).get("template")).get("spec");
        return ((List<Map<String, Object>>) pod.get("containers")).get(0);
    }

    /** Returns the method and the path that the manifest calls before a pod is stopped. */
    private static List<String> preStop() throws IOException {
        var lifecycle = new Yaml().dump(container().get("lifecycle"));
        assertThat(lifecycle).contains("curl, -fsS, -X, DELETE").contains(ACTUATOR);
        var url = lifecycle.substring(lifecycle.indexOf(ACTUATOR) + ACTUATOR.length());
        return List.of("DELETE", url.substring(0, url.indexOf(']')).strip().replace("'", ""));
    }

    @SuppressWarnings("unchecked")
    private static String probePath(String name) throws IOException {
        var probe = (Map<String, Map<String, String>>) container().get(name);
        assertThat(probe.get("httpGet")).containsEntry("port", "http");
        return probe.get("httpGet").get("path");
    }
}
