package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.junit.jupiter.api.Test;

class PoisonDetectorTest {
    private static final long RETRY = 30;
    private static final long UNBOUNDED = Long.MAX_VALUE;

    private final Set<String> missing = new HashSet<>();
    private int asked;
    private long now;
    private final PoisonDetector judge = new PoisonDetector(
            (topic, partition) -> {
                asked++;
                return missing.contains(topic) ? Optional.of("topic " + topic + " does not exist") : Optional.empty();
            },
            RETRY,
            () -> now);

    private static Row row(long id, String topic) {
        return new Row(id, "e" + id, topic, new byte[] {(byte) id}, null, null, -1, -1, 0, false);
    }

    private static LineStoppedException failed(Row row, Exception cause) {
        return new LineStoppedException(row, 0, 1, cause, false);
    }

    @Test
    void topicThatWasMissingOnceIsAskedAboutAgain() {
        missing.add("t");
        assertThat(judge.failed(failed(row(1, "t"), new TimeoutException("no metadata"))))
                .isTrue();
        assertThat(judge.condemns(row(1, "t"))).isPresent();
        assertThat(judge.condemns(row(2, "t"))).isPresent();
        assertThat(asked).as("questions while the verdict holds").isEqualTo(1);
        now = RETRY;
        assertThat(judge.condemns(row(3, "t"))).isPresent();
        assertThat(judge.condemns(row(4, "t"))).isPresent();
        assertThat(asked).isEqualTo(2);
        missing.clear();
        now = 2 * RETRY;
        assertThat(judge.condemns(row(5, "t"))).isEmpty();
        assertThat(judge.condemns(row(6, "t"))).isEmpty();
    }

    @Test
    void rightThatWasWithdrawnIsTriedAgainAfterPausesThatDouble() {
        var pause = RETRY;
        for (var round = 0; round < 3; round++) {
            judge.failed(failed(row(1, "t"), new TopicAuthorizationException("t")));
            now += pause - 1;
            assertThat(judge.condemns(row(2, "t"))).as("round %s", round).isPresent();
            now++;
            assertThat(judge.condemns(row(2, "t"))).as("round %s", round).isEmpty();
            pause *= 2;
        }
    }

    @Test
    void missingTopicIsBlockedAsAWholeAndToldOnce() {
        missing.add("t");
        judge.failed(failed(row(1, "t"), new TimeoutException("no metadata")));
        assertThat(judge.block(row(1, "t"))).isTrue();
        for (var id = 2; id < 100; id++) {
            assertThat(judge.holds(row(id, "t"))).isTrue();
        }
        assertThat(judge.holds(row(100, "other"))).isFalse();
        judge.pardon();
        assertThat(judge.holdsAny()).isFalse();
    }

    @Test
    void topicThatIsRefusedIsTheOneThatBrokersNameAndNotThatOfTheRecord() {
        judge.failed(failed(row(1, "innocent"), new TopicAuthorizationException(Set.of("forbidden"))));
        assertThat(judge.condemns(row(2, "innocent"))).isEmpty();
        assertThat(judge.condemns(row(3, "forbidden"))).isPresent();
    }

    @Test
    void missingTopicIsAskedAboutWhenAllIsTriedAgainAndNotSentTo() {
        missing.add("t");
        judge.failed(failed(row(1, "t"), new TimeoutException("no metadata")));
        judge.block(row(1, "t"));
        judge.pardon();
        assertThat(judge.condemns(row(1, "t"))).contains("topic t does not exist");
        missing.clear();
        judge.pardon();
        assertThat(judge.condemns(row(1, "t"))).isEmpty();
    }

    @Test
    void blockedTopicIsToldAgainOnlyAfterItWasThere() {
        missing.add("t");
        judge.failed(failed(row(1, "t"), new TimeoutException("no metadata")));
        assertThat(judge.isNews("t")).isTrue();
        judge.pardon();
        assertThat(judge.condemns(row(1, "t"))).isPresent();
        assertThat(judge.isNews("t")).isFalse();
        missing.clear();
        judge.pardon();
        assertThat(judge.condemns(row(1, "t"))).isEmpty();
        assertThat(judge.isNews("t")).isTrue();
    }

    @Test
    void topicThatIsThereAgainIsNoticedIfRowsWaitForIt() {
        var present = new HashSet<String>();
        var asking = new PoisonDetector(
                new PoisonDetector.Topics() {
                    @Override
                    public Optional<String> fault(String topic, int partition) {
                        return Optional.of("does not exist");
                    }

                    @Override
                    public Set<String> present(Set<String> asked) {
                        return present.stream().filter(asked::contains).collect(Collectors.toSet());
                    }
                },
                RETRY,
                () -> now);
        present.add("parked");
        for (var topic : List.of("waits", "parked")) {
            asking.failed(failed(row(1, topic), new TimeoutException("no metadata")));
        }
        asking.block(row(1, "waits"));
        asking.failed(failed(row(2, "forbidden"), new TopicAuthorizationException("forbidden")));
        asking.block(row(2, "forbidden"));
        present.add("forbidden");
        assertThat(asking.topicsAreBack()).as("only writing tells of a right").isFalse();
        present.add("waits");
        assertThat(asking.topicsAreBack()).isTrue();
    }

    @Test
    void rightThatWasWithdrawnAgainIsToldAgainAndTriedAgainSoon() {
        var refused = failed(row(1, "t"), new TopicAuthorizationException("t"));
        for (var round = 0; round < 2; round++) {
            judge.failed(refused);
            assertThat(judge.isNews("t")).as("round %s", round).isTrue();
            judge.pardon();
            judge.failed(refused);
            assertThat(judge.isNews("t")).as("round %s", round).isFalse();
            judge.pardon();
            judge.passed(List.of(row(1, "t")));
        }
        judge.failed(refused);
        now += RETRY;
        assertThat(judge.condemns(row(2, "t")))
                .as("pauses begin with the first again")
                .isEmpty();
    }

    @Test
    void newTopicsAreAskedAboutOnceAndWhatIsMissingIsNotSent() {
        var questions = new ArrayList<Set<String>>();
        var asking = new PoisonDetector(
                new PoisonDetector.Topics() {
                    @Override
                    public Optional<String> fault(String topic, int partition) {
                        return Optional.empty();
                    }

                    @Override
                    public Map<String, String> missing(Set<String> strangers) {
                        questions.add(strangers);
                        return strangers.contains("b") ? Map.of("b", "does not exist") : Map.of();
                    }
                },
                RETRY,
                () -> now);
        asking.meet(List.of(row(1, "a"), row(2, "b"), row(3, "a")));
        asking.meet(List.of(row(4, "b"), row(5, "c"), row(6, "a")));
        asking.meet(List.of(row(7, "c")));
        assertThat(questions).containsExactly(Set.of("a", "b"), Set.of("c"));
        assertThat(asking.condemns(row(8, "b"))).contains("does not exist");
        assertThat(asking.condemns(row(9, "a"))).isEmpty();
    }

    @Test
    void whatGoesToAPartitionWithoutALeaderWaitsAndNothingElse() {
        var without = new HashSet<>(Set.of(1));
        var stranding = new PoisonDetector(leaderless(without, Partitioning.CRC32), RETRY, () -> now);
        var there = to("t", 1);
        assertThat(stranding.failed(failed(there, new TimeoutException("expired"))))
                .isTrue();
        assertThat(stranding.holds(there)).isTrue();
        assertThat(stranding.holds(to("t", 0))).isFalse();
        assertThat(stranding.holds(to("other", 1))).isFalse();
        for (byte key = 0; key < 100; key++) {
            var row = row(key, "t");
            assertThat(stranding.holds(row)).isEqualTo(Crc32Partitioner.partition(new byte[] {key}, 3) == 1);
            assertThat(stranding.condemns(row)).as("it is no poison").isEmpty();
        }
        stranding.pardon();
        assertThat(stranding.holds(there)).isTrue();
        assertThat(stranding.leadersAreBack()).isFalse();
        without.clear();
        assertThat(stranding.leadersAreBack()).isTrue();
        assertThat(stranding.holds(there)).isFalse();
    }

    /** Else a shard would begin again at once and say nothing, as long as the other partition has no leader. */
    @Test
    void whatFailsBesideAPartitionWithoutALeaderFailsLikeAnythingElse() {
        var stranding = new PoisonDetector(leaderless(Set.of(0), Partitioning.CRC32), RETRY, () -> now);
        for (var round = 0; round < 2; round++) {
            assertThat(stranding.failed(failed(to("t", 1), new TimeoutException("expired"))))
                    .as("round %s", round)
                    .isFalse();
        }
        assertThat(stranding.holds(to("t", 0))).isTrue();
        assertThat(stranding.holds(to("t", 1))).isFalse();
    }

    @Test
    void recordWithoutAKeyIsSentAgainAtOnceOnlyWhenItIsNewsWhichPartitionsHaveNoLeader() {
        var stranding = new PoisonDetector(leaderless(Set.of(0), Partitioning.CRC32), RETRY, () -> now);
        var anywhere = to("t", -1);
        assertThat(stranding.failed(failed(anywhere, new TimeoutException("expired"))))
                .isTrue();
        assertThat(stranding.failed(failed(anywhere, new TimeoutException("expired"))))
                .isFalse();
    }

    /** A question that nobody answers says nothing: what is known holds. */
    @Test
    void whileNobodyTellsWhatGoesToAPartitionWithoutALeaderWaitsOn() {
        var without = new HashSet<>(Set.of(1));
        var silent = new AtomicBoolean();
        var answering = leaderless(without, Partitioning.CRC32);
        var stranding = new PoisonDetector(
                new PoisonDetector.Topics() {
                    @Override
                    public Optional<String> fault(String topic, int partition) {
                        return Optional.empty();
                    }

                    @Override
                    public Map<String, Optional<Stranded>> stranded(Set<String> asked) {
                        return silent.get() ? Map.of() : answering.stranded(asked);
                    }
                },
                RETRY,
                () -> now);
        var there = to("t", 1);
        stranding.failed(failed(there, new TimeoutException("expired")));
        silent.set(true);
        assertThat(stranding.leadersAreBack()).isFalse();
        assertThat(stranding.holds(there)).isTrue();
        silent.set(false);
        without.clear();
        assertThat(stranding.leadersAreBack()).isTrue();
        assertThat(stranding.holds(there)).isFalse();
    }

    /** The client throws before it asks anybody: nobody tells, and the shard goes on to what tells of it. */
    @Test
    void brokersWhoseNamesDoNotResolveTellNothing() {
        var config = RelayConfig.named("unresolved")
                .producer(Map.of("bootstrap.servers", "broker.invalid:9092"))
                .build();
        var topics = new KafkaTopics(config);
        assertThat(topics.stranded(Set.of("t"))).isEmpty();
        assertThat(topics.missing(Set.of("t"))).isEmpty();
        assertThat(topics.fault("t", -1)).isEmpty();
        assertThat(topics.rules("t")).isEmpty();
    }

    private static Row to(String topic, int partition) {
        return new Row(1, "e", topic, null, null, null, partition, -1, 0, false);
    }

    @Test
    void transactionIsBoundedByBytesAndARecordLargerThanThatGoesAlone() {
        var waiting = new ArrayDeque<>(List.of(large(1), large(2), large(3), large(4)));
        var each = large(1).weight();
        assertThat(judge.slice(waiting, 10, 2 * each)).hasSize(2);
        assertThat(judge.slice(waiting, 10, each - 1)).hasSize(1);
        assertThat(judge.slice(waiting, 10, UNBOUNDED)).hasSize(1);
    }

    @Test
    void rulesThatWereFixedBeforeARowWasReadDoNotCondemnIt() {
        var largest = new AtomicLong(10);
        var strict = strict(largest);
        var waiting = new ArrayDeque<>(List.of(large(1), large(2), large(3)));
        strict.slice(waiting, 1, UNBOUNDED);
        strict.failed(failed(large(1), new RecordTooLargeException()));
        assertThat(strict.slice(waiting, 2, UNBOUNDED))
                .allMatch(row -> strict.condemns(row).isPresent());
        assertThat(asked).as("questions: one when it failed, one for a slice").isEqualTo(2);
        largest.set(1_000);
        waiting.add(large(4));
        assertThat(strict.slice(waiting, 1, UNBOUNDED))
                .allMatch(row -> strict.condemns(row).isEmpty());
    }

    @Test
    void pardonForgetsTheRulesSoThatARecordIsSentOnceMore() {
        var strict = strict(new AtomicLong(10));
        strict.failed(failed(large(1), new RecordTooLargeException()));
        assertThat(strict.condemns(large(2))).isPresent();
        strict.pardon();
        assertThat(strict.condemns(large(1))).isEmpty();
        assertThat(strict.condemns(large(2))).isEmpty();
    }

    @Test
    void whatRulesCondemnIsNotRememberedSinceTheyDecideAgain() {
        var largest = new AtomicLong(10);
        var strict = strict(largest);
        strict.failed(failed(large(1), new RecordTooLargeException()));
        assertThat(strict.condemns(large(2))).isPresent();
        largest.set(1_000);
        var waiting = new ArrayDeque<>(List.of(large(2)));
        assertThat(strict.slice(waiting, 1, UNBOUNDED))
                .allMatch(row -> strict.condemns(row).isEmpty());
    }

    @Test
    void aParkedRecordIsForgotten() {
        judge.failed(failed(row(1, "t"), new RecordTooLargeException()));
        assertThat(judge.condemns(row(1, "t"))).isPresent();
        judge.parked(1);
        assertThat(judge.condemns(row(1, "t"))).isEmpty();
    }

    @Test
    void aSuspectWhomTheRulesCondemnUnsentIsTheCulprit() {
        var strict = strict(new AtomicLong(10));
        strict.failed(new LineStoppedException(large(1), 0, 5, new InvalidRecordException("no key"), false));
        assertThat(strict.searches()).isTrue();
        var waiting = new ArrayDeque<>(List.of(large(1), row(2, "t"), row(3, "t")));
        assertThat(strict.slice(waiting, 5, UNBOUNDED)).extracting(Row::id).containsExactly(1L);
        assertThat(strict.condemns(large(1))).isPresent();
        strict.parked(1);

        assertThat(strict.searches()).isFalse();
        assertThat(strict.slice(waiting, 5, UNBOUNDED)).hasSize(2);
    }

    @Test
    void aSuspectThatIsGoneIsSearchedForNoLonger() {
        judge.failed(new LineStoppedException(row(1, "t"), 4, 5, new InvalidRecordException("no key"), false));
        assertThat(judge.searches()).isTrue();
        var waiting = new ArrayDeque<>(List.of(row(2, "t"), row(3, "t")));

        judge.passed(judge.slice(waiting, 5, UNBOUNDED));

        assertThat(judge.searches()).isFalse();
    }

    @Test
    void pardonEndsTheSearch() {
        judge.failed(new LineStoppedException(row(1, "t"), 0, 5, new InvalidRecordException("no key"), false));
        judge.pardon();
        assertThat(judge.searches()).isFalse();
    }

    private PoisonDetector strict(AtomicLong largest) {
        return new PoisonDetector(
                new PoisonDetector.Topics() {
                    @Override
                    public Optional<String> fault(String topic, int partition) {
                        return Optional.empty();
                    }

                    @Override
                    public Optional<TopicRules> rules(String topic) {
                        asked++;
                        return Optional.of(new TopicRules(1, false, largest.get()));
                    }
                },
                RETRY,
                () -> now);
    }

    private static Row large(long id) {
        return new Row(id, "e" + id, "t", null, new byte[500], null, -1, -1, 500, false);
    }

    /** Topics of three partitions, of which these have no leader as long as they are in the set. */
    static PoisonDetector.Topics leaderless(Set<Integer> without, Partitioning partitioning) {
        return new PoisonDetector.Topics() {
            @Override
            public Optional<String> fault(String topic, int partition) {
                return Optional.empty();
            }

            @Override
            public Map<String, Optional<Stranded>> stranded(Set<String> asked) {
                var each = Optional.of(new Stranded(3, without, partitioning))
                        .filter(stranded -> !stranded.without().isEmpty());
                return asked.stream().collect(Collectors.toMap(topic -> topic, topic -> each));
            }
        };
    }
}
