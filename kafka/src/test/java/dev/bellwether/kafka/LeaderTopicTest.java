package dev.bellwether.kafka;

import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A topic that others have created again, as brokers do by themselves: with settings of theirs. */
@Timeout(120)
class LeaderTopicTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String topic = "again-" + UUID.randomUUID();
    private final Admin admin =
            Admin.create(Map.of("bootstrap.servers", SharedCluster.get().bootstrap()));

    @AfterEach
    void close() {
        admin.close();
    }

    @Test
    void ofGroupsItIsGivenAllOfOurSettingsAlthoughBrokersCompactByDefault() throws Exception {
        create(3, Map.of("cleanup.policy", "compact"));
        topic("group").replaced();
        becomes(Map.of(
                "min.insync.replicas", "2",
                "message.timestamp.type", "LogAppendTime",
                "min.compaction.lag.ms", "3600000",
                "unclean.leader.election.enable", "false"));
    }

    @Test
    void ofTheLogItIsGivenAllOfOurSettingsAlthoughBrokersDeleteByDefault() throws Exception {
        create(3, Map.of());
        topic("log").replaced();
        becomes(Map.of(
                "min.insync.replicas", "2",
                "message.timestamp.type", "LogAppendTime",
                "retention.ms", "345600000",
                "cleanup.policy", "delete"));
    }

    @Test
    void whatSomebodyHasSetOnItStays() throws Exception {
        create(3, Map.of("retention.ms", "864000000"));
        topic("log").replaced();
        becomes(Map.of("min.insync.replicas", "2", "retention.ms", "864000000"));
    }

    @Test
    void oneReplicaNeedNotWaitForASecond() throws Exception {
        create(1, Map.of());
        topic("group").replaced();
        becomes(Map.of("cleanup.policy", "compact", "min.insync.replicas", "1"));
    }

    @Test
    void whatIsNotKnownOfItAtFirstIsAskedAgain() throws Exception {
        create(3, Map.of());
        var questions = new AtomicInteger();
        var failing = (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> {
                    var fails = method.getName().equals("describeConfigs") && questions.incrementAndGet() == 1;
                    return method.invoke(
                            admin, fails ? new Object[] {List.of(resource("there-is-no-such-topic"))} : arguments);
                });
        var leaders = topic("log", failing);
        leaders.replaced();
        Eventually.eventually("it is asked again", PATIENCE, () -> {
            leaders.identity().toCompletableFuture().join();
            return questions.get() > 1;
        });
        becomes(Map.of("min.insync.replicas", "2", "retention.ms", "345600000"));
    }

    private LeaderTopic topic(String by) {
        return topic(by, admin);
    }

    private LeaderTopic topic(String by, Admin client) {
        return new LeaderTopic(
                Settings.of(Map.of("bootstrap.servers", SharedCluster.get().bootstrap(), "topic", topic, "by", by)),
                new AdminConnection(() -> client));
    }

    private static ConfigResource resource(String name) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name);
    }

    private void create(int replicas, Map<String, String> settings) throws Exception {
        admin.createTopics(
                        List.of(new NewTopic(topic, Optional.of(1), Optional.of((short) replicas)).configs(settings)))
                .all()
                .get();
    }

    private void becomes(Map<String, String> wanted) {
        var resource = resource(topic);
        Eventually.eventually("the topic has " + wanted, PATIENCE, () -> {
            try {
                var config = Objects.requireNonNull(
                        admin.describeConfigs(List.of(resource)).all().get().get(resource));
                var found = new TreeMap<String, String>();
                wanted.keySet().forEach(name -> found.put(name, config.get(name).value()));
                return found.equals(wanted);
            } catch (ExecutionException e) {
                return false; // not every broker knows it yet
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
