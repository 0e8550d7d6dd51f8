package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several rosters with role sets of their own on one topic, as in the paper. */
@Timeout(240)
class SharedTopicTest {
    private static final int PARTITIONS = 4;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String topic = "shared-" + UUID.randomUUID();
    private final List<Elections> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Elections::close);
    }

    private Roster join(String roster, RosterConfig.Builder config) {
        var elections = Elections.connect(SharedBroker.uri());
        open.add(elections);
        return elections.roster(roster, config.build());
    }

    private RosterConfig.Builder config(int roles) {
        return RosterConfig.builder()
                .topic(topic)
                .roles(roles)
                .partitions(PARTITIONS)
                .lease(Duration.ofSeconds(3));
    }

    @Test
    void twoRostersShareATopicAndNoRoles() throws InterruptedException {
        var prices = List.of(join("prices", config(10)), join("prices", config(10)));
        var feeds = join("feeds", config(7));
        assertThat(feeds.await(7, PATIENCE)).isTrue();
        Eventually.eventually(
                "each leads half of the ten",
                PATIENCE,
                () -> prices.stream().allMatch(member -> member.roles().size() >= 4)
                        && prices.stream()
                                        .mapToInt(member -> member.roles().size())
                                        .sum()
                                == 10);
        var token = feeds.mandate(3).orElseThrow().token();
        prices.get(0).close();
        assertThat(prices.get(1).await(10, PATIENCE)).isTrue();
        assertThat(feeds.mandate(3).orElseThrow().token())
                .as("the other roster is undisturbed")
                .isEqualTo(token);
        assertThat(feeds.roles()).hasSize(7);
        var observer = Elections.connect(SharedBroker.uri());
        open.add(observer);
        var state = observer.rosterState("feeds").orElseThrow();
        assertThat(state.partitions()).isEqualTo(PARTITIONS);
        assertThat(state.groups())
                .singleElement()
                .satisfies(group -> assertThat(group.members())
                        .singleElement()
                        .satisfies(member -> assertThat(state.roles(member, 7)).hasSize(7)));
    }

    @Test
    void aSharedTopicWithAnotherNumberOfPartitionsIsRefused() throws InterruptedException {
        assertThat(join("prices", config(4)).await(4, PATIENCE)).isTrue();
        assertThatThrownBy(() -> join("feeds", config(4).partitions(8)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(topic)
                .hasMessageContaining("partitions");
    }

    /** The paper: where n groups share the partitions, each broadcasts with a frequency of F/n. */
    @Test
    @Tag("full")
    void nGroupsOnATopicTogetherBroadcastAsOftenAsOneAlone() throws InterruptedException {
        var interval = Duration.ofMillis(100);
        var alone = new HashMap<String, Double>();
        for (var groups : List.of(1, 2)) {
            for (var i = 0; i < groups; i++) {
                var config = config(PARTITIONS)
                        .topic(topic + '-' + groups)
                        .mode(RosterMode.OVERLAPPING)
                        .lease(Duration.ofSeconds(6))
                        .broadcastInterval(interval)
                        .group("g" + i)
                        .groups(groups);
                assertThat(join(i == 0 ? "prices" : "feeds", config).await(PARTITIONS, PATIENCE))
                        .isTrue();
            }
            alone.put(topic + '-' + groups, perSecond(topic + '-' + groups, 40));
        }
        var expected = 1e9 / interval.toNanos();
        assertThat(alone.values())
                .as(
                        "messages a second in each partition, of one group and of two: at most F, and not much less: %s",
                        alone)
                .allSatisfy(rate -> assertThat(rate).isBetween(expected * 0.6, expected * 1.15));
    }

    /**
     * Returns how many messages a second each partition gets, by the broker's own time-stamps, until there are so many.
     */
    private static double perSecond(String topic, int messages) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", SharedBroker.get().bootstrap()),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            var partition = new TopicPartition(topic, 1);
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            var stamps = new ArrayList<Long>();
            var until = System.nanoTime() + PATIENCE.toNanos();
            while (stamps.size() < messages && System.nanoTime() - until < 0) {
                consumer.poll(Duration.ofMillis(200)).forEach(message -> stamps.add(message.timestamp()));
            }
            assertThat(stamps).hasSizeGreaterThanOrEqualTo(messages);
            return (stamps.size() - 1) * 1_000.0 / (stamps.get(stamps.size() - 1) - stamps.get(0));
        }
    }
}
