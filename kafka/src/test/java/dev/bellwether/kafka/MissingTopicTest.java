package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A topic that is gone while nobody holds the seat, on brokers that create none by themselves. */
@Timeout(240)
class MissingTopicTest {
    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final KafkaBrokers BROKERS = KafkaInfrastructure.warm(
            KafkaBrokers.start(1, KafkaInfrastructure.LINKS, Map.of("auto.create.topics.enable", "false")));

    @AfterAll
    static void close() {
        BROKERS.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"?topic=missing-group", "?by=log&topic=missing-log&longest.lease=6s"})
    void itIsCreatedAgainForTheNextCandidate(String query) throws Exception {
        var topic = query.replaceAll(".*topic=([^&]*).*", "$1");
        try (var stage = new Stage(new KafkaInfrastructure(BROKERS, query), "missing-topic");
                var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()))) {
            var elections = stage.client();
            var first = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
            var before = first.awaitLeads();
            var kept = settingsOf(topic, admin);
            first.candidacy().close();
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually("the topic is gone", PATIENCE, () -> isGone(topic, admin));
            var next = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
            assertThat(next.awaitLeads().token()).isGreaterThan(before.token());
            assertThat(settingsOf(topic, admin)).isEqualTo(kept);
        }
    }

    private static boolean isGone(String topic, Admin admin) {
        try {
            return !admin.listTopics().names().get().contains(topic);
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Map<String, String> settingsOf(String topic, Admin admin) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        var config = Objects.requireNonNull(
                admin.describeConfigs(List.of(resource)).all().get().get(resource));
        return Map.of(
                "cleanup.policy", config.get("cleanup.policy").value(),
                "message.timestamp.type", config.get("message.timestamp.type").value());
    }
}
