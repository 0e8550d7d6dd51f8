package dev.bellwether.examples.spring;

import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * What the application of {@code docs/spring.md} tells of its health, twice in this process, over a PostgreSQL that is
 * killed.
 */
@Timeout(240)
class HealthTest {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @Test
    void aStandbyIsHealthyUntilPostgresqlIsKilledAndOnceMoreWhenItIsBack() throws IOException {
        try (var database = Database.start();
                var one = start(database, "one")) {
            awaitHealth("it leads", one, 200, "leads, token 1");
            try (var two = start(database, "two")) {
                var both = List.of(one, two);
                awaitHealth("it stands by", two, 200, "follows one");
                database.kill();
                both.forEach(each -> awaitHealth("it is down", each, 503, "UnavailableException"));
                database.startAgain();
                both.forEach(each -> awaitHealth("it is up again", each, 200, "\"UP\""));
                Eventually.eventually(
                        "one leads, and the other is healthy in its stead",
                        App.PATIENCE,
                        () -> both.stream().allMatch(each -> health(each).statusCode() == 200)
                                && both.stream()
                                                .filter(each ->
                                                        health(each).body().contains("leads, token"))
                                                .count()
                                        == 1);
            }
        }
    }

    private static ConfigurableApplicationContext start(Database database, String candidate) {
        return new SpringApplicationBuilder(BillingApplication.class)
                .run(
                        "--server.port=0",
                        "--server.address=127.0.0.1",
                        "--management.server.port=0",
                        "--spring.datasource.url=" + database.uri(),
                        "--bellwether.candidate=" + candidate,
                        "--bellwether.elections.billing.lease=3s",
                        "--bellwether.request-timeout=1s",
                        "--management.endpoint.health.show-details=always");
    }

    private static void awaitHealth(String what, ConfigurableApplicationContext application, int status, String told) {
        Eventually.eventually(what, App.PATIENCE, () -> {
            var health = health(application);
            return health.statusCode() == status && health.body().contains(told);
        });
    }

    /** Asks for that of the elections alone: the pool has a health of its own. */
    private static HttpResponse<String> health(ConfigurableApplicationContext application) {
        var port = application.getEnvironment().getProperty("local.management.port");
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/actuator/health/bellwether"))
                .timeout(Duration.ofSeconds(30))
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(request.uri().toString(), e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }
}
