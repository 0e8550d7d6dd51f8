package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Stage;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A topic that forgets, and one that becomes another, while somebody reads nothing. The stage fails each fact in which
 * two lead at once.
 */
class RetentionFaultsTest {
    private static final Duration LEASE = Duration.ofSeconds(6);

    private final String topic = "forgetful-" + UUID.randomUUID();
    private final Stage stage =
            new Stage(new KafkaInfrastructure(SharedBroker.get(), "?topic=" + topic), "retention-faults");
    private final Admin admin =
            Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()));

    @BeforeEach
    void makeTopic() throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty())
                        .configs(Map.of("cleanup.policy", "delete", "message.timestamp.type", "LogAppendTime"))))
                .all()
                .get();
    }

    @AfterEach
    void close() {
        stage.close();
        admin.close();
    }

    private void forgetAll() throws Exception {
        var partition = new TopicPartition(topic, 0);
        var end = admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                .partitionResult(partition)
                .get()
                .offset();
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(end)))
                .all()
                .get();
    }

    @Test
    void aReaderThatMissedWhatRetentionTookWaitsForTheHolderThatItKnew() throws Exception {
        var firstLink = stage.linkedClient();
        var first = stage.stand(firstLink.elections(), new EventLog(), settings -> settings.lease(LEASE));
        first.awaitLeads();
        var secondLink = stage.linkedClient();
        var second = stage.stand(secondLink.elections(), new EventLog(), settings -> settings.lease(LEASE));
        second.awaitFollows(first);
        secondLink.link().cut();
        first.awaitProven();
        forgetAll();
        first.awaitProven();
        secondLink.link().heal();
        var seen = secondLink.elections().election(stage.election());
        stage.eventually(
                "the reader knows the holder again",
                () -> seen.leader()
                        .filter(leader -> leader.candidate().equals(first.id()))
                        .isPresent());
        firstLink.link().cut();
        admin.removeMembersFromConsumerGroup(
                        topic + "." + stage.election(), new RemoveMembersFromConsumerGroupOptions())
                .all()
                .get();
        second.awaitLeads(); // and the stage looks whether both lead
        assertThat(first.isLeader()).isFalse();
    }

    @Test
    void aTopicThatBrokersMadeAgainByThemselvesIsGivenOurSettings() throws Exception {
        var leader = stage.stand(stage.client(), new EventLog(), settings -> settings.lease(LEASE));
        var before = leader.awaitLeads();
        admin.deleteTopics(List.of(topic)).all().get();
        leader.awaitHears(LeadershipEvent.Fenced.class);
        var after = leader.awaitLeads();
        assertThat(after.token()).isGreaterThan(before.token());
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        stage.eventually("it is compacted", () -> {
            try {
                var config =
                        admin.describeConfigs(List.of(resource)).all().get().get(resource);
                return config != null
                        && "compact".equals(config.get("cleanup.policy").value());
            } catch (InterruptedException | java.util.concurrent.ExecutionException e) {
                return false;
            }
        });
    }
}
