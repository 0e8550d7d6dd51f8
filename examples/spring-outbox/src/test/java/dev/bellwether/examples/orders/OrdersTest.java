package dev.bellwether.examples.orders;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.DataIntegrityViolationException;

/** The application of {@code docs/spring.md#the-outbox}, on a real PostgreSQL and a real broker. */
@Timeout(240)
class OrdersTest {
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    /** Tests have more on the class path than the application: there is no JPA in it. */
    private static final String WITHOUT_JPA = DataAccessTest.WITHOUT_JPA;

    private final Surroundings surroundings = new Surroundings();

    @AfterEach
    void stop() {
        surroundings.close();
    }

    @Test
    void ordersOfTwoProcessesArePublishedAlsoWhenTheOneThatPublishesEnds() throws Exception {
        var one = surroundings.start(List.of(), WITHOUT_JPA);
        try {
            Eventually.eventually(
                    "one leads",
                    Surroundings.PATIENCE,
                    () -> ask(one, "GET", "/actuator/health/outbox", "").body().contains("\"leading\":true"));
            try (var two = surroundings.start(List.of(), WITHOUT_JPA)) {
                var placed = ask(two, "PUT", "/orders/first", "umbrella");
                assertThat(placed.statusCode()).isEqualTo(201);
                assertThatThrownBy(() -> two.getBean(Orders.class).place("first", "again"))
                        .isInstanceOf(DataIntegrityViolationException.class);
                assertThat(ask(two, "GET", "/actuator/health", "").statusCode()).isEqualTo(200);
                one.close();
                assertThat(ask(two, "PUT", "/orders/second", "raincoat").statusCode())
                        .isEqualTo(201);
                var records = surroundings.readUpTo("second");
                assertThat(records).extracting(record -> record.key()).containsExactly("first", "second");
                assertThat(records.get(0).value())
                        .startsWith("{\"order\":\"first\",\"item\":\"umbrella\",\"placed\":\"2");
                assertThat(records.get(0).headers().lastHeader("ce_source").value())
                        .isEqualTo("/orders".getBytes(UTF_8));
                assertThat(records.get(0).headers().lastHeader("ce_type").value())
                        .isEqualTo("com.example.order.placed".getBytes(UTF_8));
            }
        } finally {
            one.close();
        }
    }

    @Test
    void ordersAreTakenWhileKafkaIsAwayAndTheApplicationIsWell() throws Exception {
        surroundings.killBroker();
        try (var application = surroundings.start(List.of(), WITHOUT_JPA)) {
            assertThat(ask(application, "PUT", "/orders/patient", "kite").statusCode())
                    .isEqualTo(201);
            Eventually.eventually(
                    "its relay is degraded",
                    Surroundings.PATIENCE,
                    () -> ask(application, "GET", "/actuator/health/outbox", "")
                            .body()
                            .contains("\"DEGRADED\""));
            var health = ask(application, "GET", "/actuator/health", "");
            assertThat(health.statusCode()).isEqualTo(200);
            assertThat(health.body()).startsWith("{").contains("\"status\":\"UP\"");
            surroundings.startBroker();
            assertThat(surroundings.keysUpTo("patient")).contains("patient");
            Eventually.eventually(
                    "its relay is up",
                    Surroundings.PATIENCE,
                    () -> ask(application, "GET", "/actuator/health/outbox", "")
                            .body()
                            .contains("\"UP\""));
        }
    }

    private static HttpResponse<String> ask(
            ConfigurableApplicationContext application, String method, String path, String body) {
        var port = application.getEnvironment().getProperty("local.server.port");
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(60))
                .header("Content-Type", "text/plain")
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(method + ' ' + path, e);
        }
    }
}
