package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What becomes of what the group gives and takes, on Kafka's own mock of a consumer. */
class GroupMemberTest implements Group.Owner, JournalClient {
    private static final String TOPIC = "bellwether";
    private static final Duration NOW = Duration.ZERO;

    private final List<String> told = new ArrayList<>();
    private final List<MockConsumer<byte[], byte[]>> made = new ArrayList<>();
    private final List<Duration> polls = new ArrayList<>();
    private int lateWakeUps;
    private final GroupMember member = new GroupMember(
            new Standing("billing", "me", "me-1", CandidacyConfig.ofLease(Duration.ofSeconds(10))),
            new TopicPartition(TOPIC, 0),
            this,
            participant -> {
                made.add(new MockConsumer<>("earliest") {
                    @Override
                    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
                        polls.add(timeout);
                        return super.poll(timeout);
                    }

                    @Override
                    public synchronized void commitSync(
                            Map<TopicPartition, OffsetAndMetadata> offsets, Duration timeout) {
                        if (lateWakeUps-- > 0) {
                            throw new WakeupException();
                        }
                        super.commitSync(offsets, timeout);
                    }
                });
                return made.get(made.size() - 1);
            },
            () -> this);

    private static List<TopicPartition> partitions(int... numbers) {
        return IntStream.of(numbers)
                .mapToObj(number -> new TopicPartition(TOPIC, number))
                .toList();
    }

    private MockConsumer<byte[], byte[]> consumer() {
        return made.get(made.size() - 1);
    }

    private void assign(int... numbers) {
        member.poll(NOW);
        consumer().rebalance(partitions(numbers));
    }

    @Test
    void partitionZeroIsTheSeatAndAllOthersAreNothing() {
        member.poll(NOW);
        assertThat(member.owns()).isFalse();
        assign(0, 1, 2);
        assertThat(member.owns()).isTrue();
        member.onPartitionsRevoked(partitions(1));
        assertThat(member.owns()).isTrue();
        assertThat(told).isEmpty();
        member.onPartitionsRevoked(partitions(0, 2));
        assertThat(member.owns()).isFalse();
        assertThat(told).containsExactly("revoked");
        member.onPartitionsAssigned(partitions(1));
        assertThat(member.owns()).isFalse();
        assertThat(told).containsExactly("revoked");
    }

    @Test
    void theOwnerHearsOfARevocationWhileItOwnsAndOfALossWhenItDoesNot() {
        assign(0);
        member.onPartitionsLost(partitions(0));
        assertThat(member.owns()).isFalse();
        member.onPartitionsAssigned(partitions(0));
        member.onPartitionsLost(partitions(1));
        assertThat(member.owns()).isTrue();
        assertThat(told).containsExactly("lost");
    }

    @Test
    void whoHasLostTheSeatComesNoMoreBeforeThoseOfHigherPriority() {
        assign(0);
        member.assigned(true, 5, 0, List.of());
        assertThat(member.membership().held()).isEqualTo(5);
        member.onPartitionsLost(partitions(0));
        assertThat(member.membership().held()).isEqualTo(-1);
        member.assigned(true, 6, 0, List.of());
        member.assigned(false, 7, 0, List.of());
        assertThat(member.membership().held()).isEqualTo(-1);
    }

    /** A consumer is made within a poll, which takes a while, and has no poll to be woken from before that. */
    @Test
    void whatIsLeftForUsBeforeAPollIsNotFoundAfterIt() {
        var timeout = Duration.ofMillis(30);
        member.wake();
        member.poll(timeout);
        member.poll(timeout);
        assertThat(polls).containsExactly(Duration.ZERO, timeout);
    }

    @Test
    void whoIsAMemberByAnyAssignorIsAdmitted() {
        assertThat(member.admitted()).isFalse();
        assign();
        assertThat(member.admitted()).isTrue();
    }

    @Test
    void whatIsOwnedIsPausedSoThatThePollsFetchNothing() {
        assign(0);
        assertThat(consumer().paused()).isEqualTo(java.util.Set.copyOf(partitions(0)));
    }

    @Test
    void nobodyCommitsWhatHeDoesNotOwn() {
        member.poll(NOW);
        assertThat(member.commit()).isEqualTo(Group.Commit.REFUSED);
        assign(0);
        assertThat(member.commit()).isEqualTo(Group.Commit.ACCEPTED);
    }

    /** It was meant for a poll that was over by then: the claim came a retry interval later. */
    @Test
    void wordThatIsLeftTooLateForAPollCostsNoCommit() {
        assign(0);
        lateWakeUps = 2;
        assertThat(member.commit()).isEqualTo(Group.Commit.ACCEPTED);
        lateWakeUps = 100;
        assertThat(member.commit()).isEqualTo(Group.Commit.UNANSWERED);
    }

    @Test
    void anErrorThatMayPassKeepsTheMembershipAndADiscardedClientIsReplaced() {
        assign(0);
        consumer().setPollException(new TimeoutException("no answer"));
        org.assertj.core.api.Assertions.assertThatThrownBy(() -> member.poll(NOW))
                .isInstanceOf(TimeoutException.class);
        assertThat(member.owns()).isTrue();
        member.discard();
        assertThat(member.owns()).isFalse();
        assertThat(consumer().closed()).isTrue();
        assign(0);
        assertThat(made).hasSize(2);
        assertThat(member.owns()).isTrue();
    }

    // ---------------------------------------------------------------- owner and book

    @Override
    public void revoked() {
        told.add("revoked");
    }

    @Override
    public void lost() {
        told.add("lost");
    }

    @Override
    public void learnt(List<Candidate> candidates) {
        told.add("learnt");
    }

    @Override
    public long highestToken() {
        return 0;
    }

    @Override
    public ElectionState known(String election) {
        return ElectionState.blank(election, 0);
    }

    @Override
    public boolean isSameLog(Duration patience) {
        return true;
    }

    @Override
    public long nextOffset() {
        return 7;
    }

    @Override
    public void write(Entry entry, Consumer<@Nullable Exception> done) {
        throw new AssertionError("a member writes nothing");
    }

    @Override
    public Optional<ElectionException> refusal(Throwable error) {
        return Optional.empty();
    }
}
