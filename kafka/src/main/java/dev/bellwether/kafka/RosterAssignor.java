package dev.bellwether.kafka;

import dev.bellwether.spi.Balance;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Deals the partitions of a roster out to the members of its group by {@link Balance}: by weight, and moving as few as can be. A partition
 * that is to move is first taken from its owner, and given in the rebalance after that; the others are not disturbed.
 *
 * <p>For Kafka's consumers, which make it by its name; of no use to applications. Confined to the thread that polls.
 */
public final class RosterAssignor implements ConsumerPartitionAssignor, Configurable {
    /** The configuration that holds the weight of a member. */
    static final String WEIGHT = "bellwether.weight";

    private int weight = 1;

    /** For Kafka's consumers. */
    public RosterAssignor() {}

    @Override
    public void configure(Map<String, ?> configs) {
        if (configs.get(WEIGHT) instanceof Integer given) {
            weight = given;
        }
    }

    @Override
    public String name() {
        return "bellwether-roster";
    }

    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return List.of(RebalanceProtocol.COOPERATIVE);
    }

    @Override
    public ByteBuffer subscriptionUserData(Set<String> topics) {
        return ByteBuffer.wrap(Fields.with("weight", weight).build().bytes());
    }

    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription group) {
        var subscriptions = new TreeMap<>(group.groupSubscription());
        var assigned = new HashMap<String, List<TopicPartition>>();
        subscriptions.keySet().forEach(member -> assigned.put(member, new ArrayList<>()));
        subscriptions.values().stream()
                .flatMap(subscription -> subscription.topics().stream())
                .distinct()
                .forEach(topic -> assign(topic, metadata, subscriptions, assigned));
        var assignments = new HashMap<String, Assignment>();
        assigned.forEach((member, partitions) -> assignments.put(member, new Assignment(partitions)));
        return new GroupAssignment(assignments);
    }

    private static void assign(
            String topic,
            Cluster metadata,
            Map<String, Subscription> subscriptions,
            Map<String, List<TopicPartition>> assigned) {
        var count = metadata.partitionCountForTopic(topic);
        if (count == null) {
            return;
        }
        var weights = new TreeMap<String, Integer>();
        var owners = new @Nullable String[count];
        var since = new int[count];
        subscriptions.forEach((member, subscription) -> {
            if (subscription.topics().contains(topic)) {
                weights.put(member, weight(subscription.userData()));
                var generation = subscription.generationId().orElse(-1);
                for (var owned : subscription.ownedPartitions()) {
                    var partition = owned.partition();
                    // who was away for a generation may still believe that he owns what was given to others
                    if (owned.topic().equals(topic)
                            && partition < count
                            && (owners[partition] == null || generation > since[partition])) {
                        owners[partition] = member;
                        since[partition] = generation;
                    }
                }
            }
        });
        var targets = Balance.assign(weights, owners);
        for (var i = 0; i < targets.length; i++) {
            if (owners[i] == null || targets[i].equals(owners[i])) {
                assigned.computeIfAbsent(targets[i], member -> new ArrayList<>())
                        .add(new TopicPartition(topic, i));
            }
        }
    }

    private static int weight(@Nullable ByteBuffer userData) {
        return userData == null || !userData.hasRemaining()
                ? 1
                : (int) Math.max(1, Math.min(1_000, Fields.parse(userData).number("weight")));
    }
}
