package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.UnavailableException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeConfigsResult;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is told to a member that comes while the brokers are out, or refuse: only the last is here to stay. */
class RosterTopicOutageTest {
    private static final Settings SETTINGS = Settings.of(Map.of("bootstrap.servers", "localhost:1"));
    private static final RosterConfig CONFIG =
            RosterConfig.builder().roles(20).partitions(8).build();
    private static final String TOPIC = RosterTopic.name(SETTINGS, "shop");
    private static final Node BROKER = new Node(1, "localhost", 1);

    private boolean exists = true;
    private int partitions = 8;
    private @Nullable Exception creation;
    private @Nullable Exception settings;

    private void require() {
        RosterTopic.require(SETTINGS, new AdminConnection(this::admin), "shop", CONFIG, Duration.ofSeconds(3));
    }

    @Test
    void anOutageWhileTheTopicIsCreatedIsNoMistake() {
        exists = false;
        creation = new TimeoutException("planted");
        assertThatThrownBy(this::require).isInstanceOf(UnavailableException.class);
    }

    @Test
    void whoMayNotCreateItIsToldHow() {
        exists = false;
        creation = new TopicAuthorizationException("planted");
        assertThatThrownBy(this::require)
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("kafka-topics.sh");
    }

    @Test
    void anOutageWhileItsSettingsAreAskedForIsNoMissingRight() {
        settings = new TimeoutException("planted");
        assertThatThrownBy(this::require).isInstanceOf(UnavailableException.class);
    }

    @Test
    void soItIsWhenItLacksPartitionsAndNobodySaysWhoMadeIt() {
        partitions = 1;
        settings = new TimeoutException("planted");
        assertThatThrownBy(this::require).isInstanceOf(UnavailableException.class);
    }

    @Test
    void whoMayNotAskForItsSettingsGoesOnWithoutAsDoesOneWhoseBrokerDoesNotKnowItYet() {
        settings = new TopicAuthorizationException("planted");
        assertThatCode(this::require).doesNotThrowAnyException();
        settings = new UnknownTopicOrPartitionException("planted");
        assertThatCode(this::require).doesNotThrowAnyException();
    }

    // ---------------------------------------------------------------- brokers

    private Admin admin() {
        return (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(),
                new Class<?>[] {Admin.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "describeTopics" -> described();
                    case "describeCluster" -> cluster();
                    case "createTopics" -> new CreateTopicsResult(Map.of(TOPIC, failed(creation))) {};
                    case "describeConfigs" ->
                        new DescribeConfigsResult(
                                Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC), failed(settings))) {};
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private DescribeTopicsResult described() {
        var infos = IntStream.range(0, partitions)
                .mapToObj(number -> new TopicPartitionInfo(number, BROKER, List.of(BROKER), List.of(BROKER)))
                .toList();
        KafkaFuture<TopicDescription> answer = exists
                ? KafkaFuture.completedFuture(new TopicDescription(TOPIC, false, infos, Set.of()))
                : failed(new UnknownTopicOrPartitionException("planted"));
        return new DescribeTopicsResult(null, Map.of(TOPIC, answer)) {};
    }

    private static DescribeClusterResult cluster() throws ReflectiveOperationException {
        var made = DescribeClusterResult.class.getDeclaredConstructors()[0];
        made.setAccessible(true);
        var none = failed(new TimeoutException("planted"));
        return (DescribeClusterResult) made.newInstance(KafkaFuture.completedFuture(List.of(BROKER)), none, none, none);
    }

    private static <T> KafkaFuture<T> failed(@Nullable Exception error) {
        var failed = new KafkaFutureImpl<T>();
        failed.completeExceptionally(error == null ? new IllegalStateException("not planted") : error);
        return failed;
    }
}
