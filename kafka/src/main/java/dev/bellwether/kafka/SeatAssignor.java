package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Fields;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Decides within a group who owns partition 0: its owner, for as long as that is a member; else the member of the
 * highest priority; among equals the one who has stood for longest. Nobody owns any other partition.
 *
 * <p>For Kafka's consumers, which make it by its name; of no use to applications. Confined to the thread that polls.
 */
public final class SeatAssignor implements ConsumerPartitionAssignor, Configurable {
    /** The configuration that holds the {@link Participant}. */
    static final String PARTICIPANT = "bellwether.participant";

    private static final int SEAT = 0;

    /** What the assignor and the candidacy behind its consumer have to tell each other. */
    interface Participant {
        Membership membership();

        /** Told of what the group decided, within a poll. */
        void assigned(boolean owns, int generation, long highestToken, List<Candidate> candidates);
    }

    private @Nullable Participant participant;

    /** For Kafka's consumers. */
    public SeatAssignor() {}

    @Override
    public void configure(Map<String, ?> configs) {
        if (configs.get(PARTICIPANT) instanceof Participant given) {
            participant = given;
        }
    }

    @Override
    public String name() {
        return "bellwether";
    }

    /**
     * Both, so that it can stand in one list with any of Kafka's own: alone, it is cooperative, and owners are left in
     * peace.
     */
    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return List.of(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER);
    }

    @Override
    public @Nullable ByteBuffer subscriptionUserData(Set<String> topics) {
        return participant == null ? null : participant.membership().encoded();
    }

    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription group) {
        var subscriptions = group.groupSubscription();
        var members = new HashMap<String, Membership>();
        subscriptions.forEach((id, subscription) -> members.put(id, Membership.parse(subscription.userData())));
        var assignments = new HashMap<String, Assignment>();
        subscriptions.keySet().forEach(id -> assignments.put(id, new Assignment(List.of())));
        for (var topic : topics(subscriptions, metadata)) {
            var seat = new TopicPartition(topic, SEAT);
            subscriptions.entrySet().stream()
                    .filter(entry -> entry.getValue().topics().contains(topic))
                    .max(order(seat, members))
                    .ifPresent(owner -> assignments.put(owner.getKey(), seatOf(seat, members)));
        }
        return new GroupAssignment(assignments);
    }

    private static List<String> topics(Map<String, Subscription> subscriptions, Cluster metadata) {
        return subscriptions.values().stream()
                .flatMap(subscription -> subscription.topics().stream())
                .distinct()
                .filter(topic -> metadata.partition(new TopicPartition(topic, SEAT)) != null)
                .sorted()
                .toList();
    }

    /** The greatest owns the seat. */
    private static Comparator<Map.Entry<String, Subscription>> order(
            TopicPartition seat, Map<String, Membership> members) {
        return Comparator.<Map.Entry<String, Subscription>>comparingInt(
                        entry -> ownedIn(seat, entry.getValue(), member(members, entry)))
                .thenComparingInt(entry -> member(members, entry).priority())
                .thenComparing(Comparator.comparingLong((Map.Entry<String, Subscription> entry) ->
                                member(members, entry).stoodMillis())
                        .reversed())
                .thenComparing(Map.Entry::getKey);
    }

    private static Membership member(Map<String, Membership> members, Map.Entry<String, Subscription> entry) {
        return members.getOrDefault(entry.getKey(), Membership.UNKNOWN);
    }

    /**
     * Returns the last generation in which a member owned the seat; -1 if it never did. Under the eager protocol every
     * member has given up all it had before it joins, and only its own word tells who had the seat.
     */
    private static int ownedIn(TopicPartition seat, Subscription subscription, Membership member) {
        var owned = subscription.ownedPartitions().contains(seat)
                ? subscription.generationId().orElse(0)
                : -1;
        return Math.max(owned, member.held());
    }

    private static Assignment seatOf(TopicPartition seat, Map<String, Membership> members) {
        var highest =
                members.values().stream().mapToLong(Membership::highest).max().orElse(0);
        var told = new HashMap<>(PresenceTracker.of(members.values().stream()
                        .filter(member -> !member.instance().isEmpty())
                        .map(Membership::asCandidate)
                        .toList())
                .values());
        told.put("highest", Long.toString(highest));
        return new Assignment(List.of(seat), ByteBuffer.wrap(new Fields(told).bytes()));
    }

    @Override
    public void onAssignment(@Nullable Assignment assignment, @Nullable ConsumerGroupMetadata metadata) {
        if (participant == null || assignment == null || metadata == null) {
            return;
        }
        var owns = assignment.partitions().stream().anyMatch(partition -> partition.partition() == SEAT);
        var userData = assignment.userData();
        var told = userData == null ? new Fields(Map.of()) : Fields.parse(userData);
        participant.assigned(owns, metadata.generationId(), told.number("highest"), PresenceTracker.parse(told));
    }
}
