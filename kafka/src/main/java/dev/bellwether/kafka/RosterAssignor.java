package dev.bellwether.kafka;

import dev.bellwether.spi.Balance;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
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

    /** The configuration that holds the {@link Desk}. */
    static final String DESK = "bellwether.roster.desk";

    /** Who knows of tokens: should the topic be deleted, the group is where they are not forgotten. Thread-safe. */
    interface Desk {
        /** Returns the highest token that the member knows of. */
        long highest();

        /** Told, within a poll and before what is assigned, of the highest token that any member knew of when it joined. */
        void highest(long token);
    }

    private int weight = 1;
    private @Nullable Desk desk;

    /** For Kafka's consumers. */
    public RosterAssignor() {}

    @Override
    public void configure(Map<String, ?> configs) {
        if (configs.get(WEIGHT) instanceof Integer given) {
            weight = given;
        }
        if (configs.get(DESK) instanceof Desk given) {
            desk = given;
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
        return ByteBuffer.wrap(Fields.with("weight", weight)
                .and("highest", desk == null ? 0 : desk.highest())
                .build()
                .bytes());
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
        var highest = subscriptions.values().stream()
                .mapToLong(subscription -> told(subscription.userData()).number("highest"))
                .max()
                .orElse(0);
        var told = ByteBuffer.wrap(Fields.with("highest", highest).build().bytes());
        assigned.forEach((member, partitions) -> assignments.put(member, new Assignment(partitions, told.duplicate())));
        return new GroupAssignment(assignments);
    }

    @Override
    public void onAssignment(@Nullable Assignment assignment, @Nullable ConsumerGroupMetadata metadata) {
        if (desk != null && assignment != null) {
            desk.highest(told(assignment.userData()).number("highest"));
        }
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
        return (int) Math.max(1, Math.min(1_000, told(userData).number("weight")));
    }

    private static Fields told(@Nullable ByteBuffer userData) {
        return userData == null || !userData.hasRemaining() ? new Fields(Map.of()) : Fields.parse(userData);
    }
}
