package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spi.Fields;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class SeatAssignorTest {
    private static final String TOPIC = "bellwether";
    private static final TopicPartition SEAT = new TopicPartition(TOPIC, 0);
    private final SeatAssignor assignor = new SeatAssignor();
    private final Map<String, Subscription> group = new HashMap<>();

    private static Cluster cluster(int partitions) {
        var node = new Node(1, "localhost", 9092);
        var infos = java.util.stream.IntStream.range(0, partitions)
                .mapToObj(i -> new PartitionInfo(TOPIC, i, node, new Node[] {node}, new Node[] {node}))
                .toList();
        return new Cluster("c", List.of(node), infos, java.util.Set.of(), java.util.Set.of());
    }

    private void member(String id, int priority, long stood, int held, boolean owns) {
        var told = new Membership(id, id, priority, stood, held, 5, 0, Map.of("zone", id));
        group.put(
                id,
                new Subscription(
                        List.of(TOPIC),
                        told.encoded(),
                        owns ? List.of(SEAT) : List.of(),
                        Math.max(held, 0),
                        Optional.empty()));
    }

    private String owner(int partitions) {
        var assignments = assignor.assign(cluster(partitions), new GroupSubscription(group))
                .groupAssignment();
        assertThat(assignments).hasSameSizeAs(group);
        assertThat(assignments.values().stream().flatMap(one -> one.partitions().stream()))
                .containsExactly(SEAT);
        return assignments.entrySet().stream()
                .filter(entry -> !entry.getValue().partitions().isEmpty())
                .findAny()
                .orElseThrow()
                .getKey();
    }

    @Test
    void theOwnerStaysWhenOthersJoin() {
        member("owner", 0, 200, 7, true);
        member("stronger", 100, 300, -1, false);
        member("older", 0, 100, -1, false);
        assertThat(owner(1)).isEqualTo("owner");
    }

    @Test
    void theOwnerStaysUnderTheEagerProtocolTooWhereNobodyOwnsAnythingWhileJoining() {
        member("owner", 0, 200, 7, false);
        member("former", 100, 100, 6, false);
        assertThat(owner(1)).isEqualTo("owner");
    }

    @Test
    void withoutAnOwnerPriorityDecidesThenSeniority() {
        member("young", 5, 300, -1, false);
        member("old", 5, 200, -1, false);
        member("weak", 4, 100, -1, false);
        assertThat(owner(1)).isEqualTo("old");
    }

    @Test
    void otherPartitionsOfAWiderTopicAreNobodys() {
        member("a", 0, 1, -1, false);
        member("b", 0, 2, -1, false);
        assertThat(owner(4)).isEqualTo("a");
    }

    @Test
    void aMemberWithAnotherAssignorsDataComesLast() {
        member("ours", -1000, 9_999, -1, false);
        group.put("theirs", new Subscription(List.of(TOPIC)));
        assertThat(owner(1)).isEqualTo("ours");
    }

    @Test
    void aStandbyThatWasCutOffWhileItLedDoesNotTakeTheSeatBack() {
        member("zombie", 100, 1, 3, true);
        member("owner", 0, 2, 4, true);
        assertThat(owner(1)).isEqualTo("owner");
    }

    @Test
    void theOwnerIsToldWhoStandsAndTheHighestToken() {
        member("a", 3, 1, 2, true);
        member("b", 4, 2, -1, false);
        var assignments =
                assignor.assign(cluster(1), new GroupSubscription(group)).groupAssignment();
        var told = Fields.parse(Objects.requireNonNull(assignments.get("a")).userData());
        assertThat(told.number("highest")).isEqualTo(5);
        assertThat(PresenceTracker.parse(told))
                .extracting(dev.bellwether.Candidate::id)
                .containsExactly("a", "b");
        assertThat(PresenceTracker.parse(told))
                .extracting(dev.bellwether.Candidate::priority)
                .containsExactly(3, 4);
    }
}
