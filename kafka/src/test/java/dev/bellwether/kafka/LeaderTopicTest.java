package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.LogSaid;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeConfigsResult;
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
        becomes(
                "group",
                admin,
                Map.of(
                        "min.insync.replicas", "2",
                        "message.timestamp.type", "LogAppendTime",
                        "min.compaction.lag.ms", "3600000",
                        "unclean.leader.election.enable", "false"));
    }

    @Test
    void ofTheLogItIsGivenAllOfOurSettingsAlthoughBrokersDeleteByDefault() throws Exception {
        create(3, Map.of());
        becomes(
                "log",
                admin,
                Map.of(
                        "min.insync.replicas", "2",
                        "message.timestamp.type", "LogAppendTime",
                        "retention.ms", "345600000",
                        "cleanup.policy", "delete"));
    }

    @Test
    void whatSomebodyHasSetOnItStays() throws Exception {
        create(3, Map.of("retention.ms", "864000000"));
        becomes("log", admin, Map.of("min.insync.replicas", "2", "retention.ms", "864000000"));
    }

    @Test
    void oneReplicaNeedNotWaitForASecond() throws Exception {
        create(1, Map.of());
        becomes("group", admin, Map.of("cleanup.policy", "compact", "min.insync.replicas", "1"));
    }

    @Test
    void whatIsNotKnownOfItAtFirstIsAskedAgain() throws Exception {
        create(3, Map.of());
        becomesOurs(atFirst("describeConfigs", () -> admin.describeConfigs(List.of(resource("no-such-topic")))));
    }

    @Test
    void whatCouldNotBeSetAtFirstIsSetLater() throws Exception {
        create(3, Map.of());
        becomesOurs(atFirst(
                "incrementalAlterConfigs",
                () -> admin.incrementalAlterConfigs(Map.of(resource("no-such-topic"), List.of()))));
    }

    /** So it is while not every broker has heard that the topic was deleted and made again. */
    @Test
    void aBrokerThatShowsTheSettingsOfTheOneBeforeIsNotBelieved() throws Exception {
        var before = topic + "-before";
        topic("log", before, admin).require(PATIENCE);
        create(3, Map.of());
        becomesOurs(atFirst("describeConfigs", () -> {
            var shown = admin.describeConfigs(List.of(resource(before))).all();
            return new DescribeConfigsResult(
                    Map.of(resource(topic), shown.thenApply(found -> found.get(resource(before))))) {};
        }));
    }

    @Test
    void whoIsNotToCreateItTellsOnceThatItIsGone() {
        var looks = new AtomicInteger();
        var counting = (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> {
                    looks.addAndGet(method.getName().equals("describeTopics") ? 1 : 0);
                    return method.invoke(admin, arguments);
                });
        var leaders = new LeaderTopic(
                Settings.of(Map.of(
                        "bootstrap.servers",
                        SharedCluster.get().bootstrap(),
                        "topic",
                        topic,
                        Settings.CREATE_TOPIC,
                        "false")),
                new AdminConnection(() -> counting));
        try (var log = new LogSaid()) {
            Eventually.eventually("it is looked for", PATIENCE, () -> {
                leaders.missed(new IllegalStateException("planted"));
                return looks.get() >= 4;
            });
            assertThat(log.warnings(topic)).hasSize(1);
            assertThat(log.text()).contains("--create --topic " + topic);
        }
    }

    /** The first such question of this client is answered so. */
    private Admin atFirst(String question, Supplier<Object> answer) {
        var asked = new AtomicBoolean();
        return (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(),
                new Class<?>[] {Admin.class},
                (self, method, arguments) -> method.getName().equals(question) && !asked.getAndSet(true)
                        ? answer.get()
                        : method.invoke(admin, arguments));
    }

    private void becomesOurs(Admin client) {
        becomes("log", client, Map.of("min.insync.replicas", "2", "retention.ms", "345600000"));
    }

    private LeaderTopic topic(String by, String name, Admin client) {
        return new LeaderTopic(
                Settings.of(Map.of("bootstrap.servers", SharedCluster.get().bootstrap(), "topic", name, "by", by)),
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

    /** While it is asked which topic it is, as candidates do from time to time. */
    private void becomes(String by, Admin client, Map<String, String> wanted) {
        var leaders = topic(by, topic, client);
        leaders.replaced();
        var resource = resource(topic);
        Eventually.eventually("the topic has " + wanted, PATIENCE, () -> {
            try {
                leaders.identity().toCompletableFuture().get();
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
