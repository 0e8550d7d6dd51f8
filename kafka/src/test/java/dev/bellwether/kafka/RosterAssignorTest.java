package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.spi.RosterTerms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RosterAssignorTest {
    private static final String TOPIC = "bellwether.roster.pricing";
    private static final int PARTITIONS = 64;

    /** A group as its coordinator sees it, rebalance after rebalance. */
    private final Map<String, Integer> weights = new TreeMap<>();

    private final Map<String, List<Integer>> owned = new TreeMap<>();
    private int generation;

    private static Cluster cluster() {
        var node = new Node(1, "localhost", 9092);
        var infos = IntStream.range(0, PARTITIONS)
                .mapToObj(i -> new PartitionInfo(TOPIC, i, node, new Node[] {node}, new Node[] {node}))
                .toList();
        return new Cluster("c", List.of(node), infos, Set.of(), Set.of());
    }

    private static Subscription subscription(int weight, List<Integer> owned, int generation) {
        var assignor = new RosterAssignor();
        assignor.configure(Map.of(RosterAssignor.WEIGHT, weight));
        return new Subscription(
                List.of(TOPIC),
                assignor.subscriptionUserData(Set.of(TOPIC)),
                owned.stream().map(i -> new TopicPartition(TOPIC, i)).toList(),
                generation,
                Optional.empty());
    }

    private static Map<String, List<Integer>> assign(Map<String, Subscription> group) {
        var assigned = new TreeMap<String, List<Integer>>();
        new RosterAssignor()
                .assign(cluster(), new GroupSubscription(group))
                .groupAssignment()
                .forEach((member, assignment) -> assigned.put(
                        member,
                        assignment.partitions().stream()
                                .map(TopicPartition::partition)
                                .sorted()
                                .toList()));
        return assigned;
    }

    private void join(String member, int weight) {
        weights.put(member, weight);
        owned.put(member, List.of());
    }

    private void leave(String member) {
        weights.remove(member);
        owned.remove(member);
    }

    /**
     * Rebalances until nothing changes any more, as a cooperative group does; returns how many partitions were taken
     * from somebody.
     */
    private int rebalance() {
        var taken = 0;
        for (var again = true; again; ) {
            var group = new HashMap<String, Subscription>();
            weights.forEach((member, weight) ->
                    group.put(member, subscription(weight, owned.getOrDefault(member, List.of()), generation)));
            var assigned = assign(group);
            generation++;
            assertThat(assigned.values().stream().flatMap(List::stream))
                    .as("nobody's partition is given to another while its owner has it")
                    .doesNotHaveDuplicates();
            again = !assigned.equals(owned);
            for (var member : weights.keySet()) {
                var lost = new ArrayList<>(owned.getOrDefault(member, List.of()));
                lost.removeAll(assigned.getOrDefault(member, List.of()));
                taken += lost.size();
            }
            owned.putAll(assigned);
        }
        assertThat(owned.values().stream().mapToInt(List::size).sum())
                .as("every partition has an owner")
                .isEqualTo(PARTITIONS);
        return taken;
    }

    private int share(String member) {
        return owned.getOrDefault(member, List.of()).size();
    }

    private void assertBalanced() {
        var total = weights.values().stream().mapToInt(Integer::intValue).sum();
        weights.forEach((member, weight) -> assertThat((double) share(member))
                .as("the share of %s", member)
                .isBetween(
                        Math.floor((double) PARTITIONS * weight / total),
                        Math.ceil((double) PARTITIONS * weight / total)));
    }

    @Test
    void theNameAndTheProtocolAreWhatGroupsAgreeOn() {
        var assignor = new RosterAssignor();
        assertThat(assignor.name()).isEqualTo("bellwether-roster");
        assertThat(assignor.supportedProtocols())
                .as("alone it is cooperative, beside an eager one it is eager")
                .containsExactly(
                        ConsumerPartitionAssignor.RebalanceProtocol.COOPERATIVE,
                        ConsumerPartitionAssignor.RebalanceProtocol.EAGER);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 7, 63, 64, 65, 100})
    void membersDifferByOnePartitionAtMost(int members) {
        for (var i = 0; i < members; i++) {
            join("m" + i, 1);
        }
        assertThat(rebalance()).isZero();
        assertBalanced();
    }

    /** One who joins takes about M/(P+1), one who leaves gives M/P, and nothing moves between the others. */
    @Test
    void aJoinAndALeaveMoveTheFewest() {
        for (var members = 1; members < 9; members++) {
            var before = new TreeMap<>(owned);
            join("m" + members, 1);
            assertThat(rebalance())
                    .as("taken when member %s joins", members)
                    .isLessThanOrEqualTo(members == 1 ? 0 : (PARTITIONS + members - 1) / members);
            assertBalanced();
            before.forEach((member, partitions) -> assertThat(partitions)
                    .as("%s gets nothing of others", member)
                    .containsAll(owned.getOrDefault(member, List.of())));
        }
        while (weights.size() > 1) {
            var before = new TreeMap<>(owned);
            var leaver = weights.keySet().iterator().next();
            leave(leaver);
            before.remove(leaver);
            assertThat(rebalance()).as("taken when %s leaves", leaver).isZero();
            assertBalanced();
            before.forEach((member, partitions) ->
                    assertThat(owned.getOrDefault(member, List.of())).containsAll(partitions));
        }
    }

    @Test
    void sharesFollowWeights() {
        join("light", 1);
        join("heavy", 3);
        rebalance();
        assertThat(share("light")).isEqualTo(16);
        assertThat(share("heavy")).isEqualTo(48);
        join("heaviest", 4);
        assertThat(rebalance()).isEqualTo(32);
        assertThat(List.of(share("light"), share("heavy"), share("heaviest"))).containsExactly(8, 24, 32);
    }

    /** The group's leader may be anybody, and hears of the members in any order. */
    @Test
    void theOrderInWhichMembersAreHeardOfIsOfNoImportance() {
        var random = new Random(11);
        for (var round = 0; round < 50; round++) {
            var members = new ArrayList<String>();
            var group = new HashMap<String, Subscription>();
            for (var i = 0; i < 6; i++) {
                var first = i * 10;
                members.add("m" + i);
                group.put(
                        "m" + i,
                        subscription(
                                1 + random.nextInt(3),
                                IntStream.range(first, first + random.nextInt(11))
                                        .boxed()
                                        .toList(),
                                4));
            }
            var expected = assign(group);
            java.util.Collections.shuffle(members, random);
            var shuffled = new LinkedHashMap<String, Subscription>();
            members.forEach(member ->
                    shuffled.put(member, Optional.ofNullable(group.get(member)).orElseThrow()));
            assertThat(assign(shuffled)).isEqualTo(expected);
        }
    }

    @Test
    void whatIsToMoveIsGivenToNobodyUntilItsOwnerHasLetGo() {
        var everything = IntStream.range(0, PARTITIONS).boxed().toList();
        var group = Map.of("old", subscription(1, everything, 3), "new", subscription(1, List.of(), -1));
        var assigned = assign(group);
        assertThat(assigned.get("old")).hasSize(32);
        assertThat(assigned.get("new")).isEmpty();
    }

    /** Who was away for a generation may still believe that he owns what was given to others. */
    @Test
    void theYoungerGenerationIsBelieved() {
        var everything = IntStream.range(0, PARTITIONS).boxed().toList();
        var group = Map.of("zombie", subscription(1, everything, 3), "owner", subscription(1, everything, 4));
        assertThat(assign(group).get("owner")).hasSize(32);
        assertThat(assign(group).get("zombie")).isEmpty();
    }

    @Test
    void aMemberThatTellsNothingHasTheWeightOfOne() {
        var group = Map.of("silent", new Subscription(List.of(TOPIC)), "told", subscription(3, List.of(), -1));
        assertThat(assign(group).get("silent")).hasSize(16);
    }

    /** Should the topic be deleted, whoever claims next must know where tokens had come to. */
    @Test
    void everybodyIsToldTheHighestTokenThatAnybodyKnows() {
        var told = new AtomicLong();
        var group = new HashMap<String, Subscription>();
        for (var known : List.of(7L, 4_711L, 0L)) {
            var member = new RosterAssignor();
            member.configure(Map.of(RosterAssignor.PARTICIPANT, participant(known, told)));
            group.put(
                    "knows " + known,
                    new Subscription(List.of(TOPIC), member.subscriptionUserData(Set.of(TOPIC)), List.of()));
        }
        var assigned = new RosterAssignor()
                .assign(cluster(), new GroupSubscription(group))
                .groupAssignment();
        var newcomer = new RosterAssignor();
        newcomer.configure(Map.of(RosterAssignor.PARTICIPANT, participant(0, told)));
        newcomer.onAssignment(assigned.get("knows 0"), null);
        assertThat(told).hasValue(4_711);
    }

    private static RosterConfig.Builder config(RosterMode mode) {
        return RosterConfig.builder().mode(mode).roles(PARTITIONS).partitions(PARTITIONS);
    }

    private static Subscription subscription(RosterConfig config, List<Integer> owned, int generation) {
        var assignor = new RosterAssignor();
        assignor.configure(Map.of(
                RosterAssignor.PARTICIPANT,
                participant(0, new AtomicLong(), RosterTerms.of(config), new AtomicReference<>())));
        return new Subscription(
                List.of(TOPIC),
                assignor.subscriptionUserData(Set.of(TOPIC)),
                owned.stream().map(i -> new TopicPartition(TOPIC, i)).toList(),
                generation,
                Optional.empty());
    }

    @Test
    void aMemberOfAnotherModeGetsNothingAndIsToldWhy() {
        var group = Map.of(
                "z owns",
                subscription(config(RosterMode.OVERLAPPING).build(), List.of(1, 2), 7),
                "a comes",
                subscription(config(RosterMode.EXCLUSIVE).build(), List.of(), -1),
                "b comes",
                subscription(config(RosterMode.OVERLAPPING).build(), List.of(), -1));
        var assigned = new RosterAssignor()
                .assign(cluster(), new GroupSubscription(group))
                .groupAssignment();
        assertThat(assign(group).get("a comes")).isEmpty();
        assertThat(assign(group).get("b comes")).isNotEmpty();
        var why = new AtomicReference<>("");
        var refused = new RosterAssignor();
        refused.configure(Map.of(
                RosterAssignor.PARTICIPANT,
                participant(
                        0,
                        new AtomicLong(),
                        RosterTerms.of(config(RosterMode.EXCLUSIVE).build()),
                        why)));
        refused.onAssignment(assigned.get("b comes"), null);
        assertThat(why).hasValue("");
        refused.onAssignment(assigned.get("a comes"), null);
        assertThat(why.get()).contains("mode EXCLUSIVE").contains("OVERLAPPING").contains("stop all of its members");
    }

    @Test
    void timedMembersOneOfWhomLeadsOnForLongerThanTheOtherWaitsAreNotOfOneGroup() {
        var long1 = config(RosterMode.TIMED).threshold(Duration.ofSeconds(8)).build();
        var short1 = config(RosterMode.TIMED).threshold(Duration.ofSeconds(3)).build();
        assertThat(assign(Map.of("a", subscription(short1, List.of(), 1), "z", subscription(long1, List.of(3), 1)))
                        .get("a"))
                .isEmpty();
        assertThat(assign(Map.of("a", subscription(long1, List.of(), 1), "z", subscription(short1, List.of(3), 1)))
                        .get("a"))
                .isEmpty();
    }

    @Test
    void exclusiveMembersOfDifferentThresholdsShareAGroupSinceTheyHaveNoUseForThem() {
        var one = config(RosterMode.EXCLUSIVE).threshold(Duration.ofSeconds(8)).build();
        var other = config(RosterMode.EXCLUSIVE).build();
        assertThat(assign(Map.of("a", subscription(one, List.of(), 1), "b", subscription(other, List.of(), 1))))
                .allSatisfy((member, partitions) -> assertThat(partitions).isNotEmpty());
    }

    private static RosterAssignor.Participant participant(long known, AtomicLong told) {
        return participant(
                known, told, RosterTerms.of(config(RosterMode.EXCLUSIVE).build()), new AtomicReference<>());
    }

    private static RosterAssignor.Participant participant(
            long known, AtomicLong told, RosterTerms terms, AtomicReference<String> why) {
        return new RosterAssignor.Participant() {
            @Override
            public RosterTerms terms() {
                return terms;
            }

            @Override
            public boolean wasGiven() {
                return false;
            }

            @Override
            public void refused(String text) {
                why.set(text);
            }

            @Override
            public long highest() {
                return known;
            }

            @Override
            public void highest(long token) {
                told.set(token);
            }
        };
    }
}
