package dev.bellwether.kafka;

import dev.bellwether.RosterMode;
import dev.bellwether.spi.Balance;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.RosterTerms;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Deals the partitions of a roster out to the members of its group by {@link Balance}: by weight, and moving as few as
 * can be. A partition that is to move is first taken from its owner, and given in the rebalance after that; the others
 * are not disturbed.
 *
 * <p>For Kafka's consumers, which make it by its name; of no use to applications. Confined to the thread that polls.
 */
public final class RosterAssignor implements ConsumerPartitionAssignor, Configurable {
    /** The configuration that holds the weight of a member. */
    static final String WEIGHT = "bellwether.weight";

    /** The configuration that holds the {@link Participant}. */
    static final String PARTICIPANT = "bellwether.roster.participant";

    /**
     * The member that the consumer belongs to. It knows of tokens: should the topic be deleted, the group is where they
     * are not forgotten. Thread-safe.
     */
    interface Participant {
        /** Returns the highest token that the member knows of. */
        long highest();

        /**
         * Told, within a poll and before what is assigned, of the highest token that any member knew of when it joined.
         */
        void highest(long token);

        /** Returns what the member's settings mean for the others. */
        RosterTerms terms();

        /** Returns whether the member was ever given a partition. */
        boolean wasGiven();

        /**
         * Told, within a poll, that the member gets nothing, and why: its settings do not go together with those of the
         * others.
         */
        void refused(String why);
    }

    private int weight = 1;
    private @Nullable Participant participant;

    /** For Kafka's consumers. */
    public RosterAssignor() {}

    @Override
    public void configure(Map<String, ?> configs) {
        if (configs.get(WEIGHT) instanceof Integer given) {
            weight = given;
        }
        if (configs.get(PARTICIPANT) instanceof Participant given) {
            participant = given;
        }
    }

    @Override
    public String name() {
        return "bellwether-roster";
    }

    /**
     * Both, so that it can stand in one list with any of Kafka's own. Under the eager one nobody owns anything in a
     * rebalance, and all partitions are dealt out again.
     */
    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return List.of(RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER);
    }

    @Override
    public ByteBuffer subscriptionUserData(Set<String> topics) {
        var fields = Fields.with("weight", weight);
        if (participant != null) {
            var terms = participant.terms();
            fields.and("highest", participant.highest())
                    .and("mode", terms.mode())
                    .and("holds", terms.holds().toNanos())
                    .and("waits", terms.waits().toNanos())
                    .and("given", participant.wasGiven() ? 1 : 0);
        }
        return ByteBuffer.wrap(fields.build().bytes());
    }

    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription group) {
        var refusals = refusals(group.groupSubscription());
        var subscriptions = new TreeMap<>(group.groupSubscription());
        subscriptions.keySet().removeAll(refusals.keySet());
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
        refusals.forEach((member, why) -> assignments.put(
                member,
                new Assignment(
                        List.of(),
                        ByteBuffer.wrap(Fields.with("refused", why).build().bytes()))));
        return new GroupAssignment(assignments);
    }

    @Override
    public void onAssignment(@Nullable Assignment assignment, @Nullable ConsumerGroupMetadata metadata) {
        if (participant != null && assignment != null) {
            var told = told(assignment.userData());
            participant.highest(told.number("highest"));
            if (!told.text("refused").isEmpty()) {
                participant.refused(told.text("refused"));
            }
        }
    }

    /**
     * Returns who cannot be a member beside the others, and why: those who own partitions stay, then those who did,
     * then any.
     */
    private static Map<String, String> refusals(Map<String, Subscription> subscriptions) {
        var order = new ArrayList<>(subscriptions.keySet());
        order.sort(Comparator.comparing((String member) -> owns(subscriptions.get(member)))
                .thenComparing(member -> given(subscriptions.get(member)))
                .reversed()
                .thenComparing(Comparator.naturalOrder()));
        var admitted = new ArrayList<RosterTerms>();
        var refusals = new TreeMap<String, String>();
        for (var member : order) {
            var terms = terms(subscriptions.get(member));
            var why = terms.flatMap(own -> admitted.stream()
                    .flatMap(others -> own.refusal(others).stream())
                    .findFirst());
            why.ifPresent(text -> refusals.put(member, text));
            if (why.isEmpty()) {
                terms.ifPresent(admitted::add);
            }
        }
        return refusals;
    }

    /** Returns the generation in which a member was given what it owns; lower than any if it owns nothing. */
    private static int owns(@Nullable Subscription subscription) {
        return subscription == null || subscription.ownedPartitions().isEmpty()
                ? Integer.MIN_VALUE
                : subscription.generationId().orElse(-1);
    }

    private static long given(@Nullable Subscription subscription) {
        return subscription == null ? 0 : told(subscription.userData()).number("given");
    }

    private static Optional<RosterTerms> terms(@Nullable Subscription subscription) {
        var told = told(subscription == null ? null : subscription.userData());
        return Stream.of(RosterMode.values())
                .filter(mode -> mode.name().equals(told.text("mode")))
                .findFirst()
                .map(mode -> new RosterTerms(
                        mode, Duration.ofNanos(told.number("holds")), Duration.ofNanos(told.number("waits"))));
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
                    // who was away for a generation may still believe that it owns what was given to others
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
