package dev.bellwether.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The actuator of the application of {@code docs/spring.md} is not where its traffic is. */
@Timeout(180)
class ActuatorPortTest {
    @Test
    void nobodyTakesLeadershipAwayByThePortOfTheTraffic() throws IOException {
        var settings = new Properties();
        try (var file = ActuatorPortTest.class.getResourceAsStream("/application.properties")) {
            settings.load(file);
        }
        assertThat(settings)
                .containsEntry("management.server.address", "127.0.0.1")
                .containsEntry(
                        "management.server.port",
                        HandOverTest.ACTUATOR.substring(HandOverTest.ACTUATOR.lastIndexOf(':') + 1));
        try (var database = Database.start();
                var leader = App.start(database.uri())) {
            leader.awaitLeading();
            for (var method : List.of("GET", "POST", "DELETE")) {
                assertThat(leader.askAsAnyClient(method, "/actuator/bellwether/billing")
                                .statusCode())
                        .as(method)
                        .isEqualTo(404);
            }
            assertThat(leader.leads()).isTrue();
            assertThat(leader.ask("DELETE", "/actuator/bellwether/biling").statusCode())
                    .as("a name that nobody stands for")
                    .isEqualTo(400);
            assertThat(leader.ask("DELETE", "/actuator/bellwether/billing").statusCode())
                    .isEqualTo(200);
        }
    }
}
