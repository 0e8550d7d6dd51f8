package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.WakeupException;
import org.jspecify.annotations.Nullable;

/**
 * A candidate as a member of its election's group: the consumer, which fetches nothing.
 *
 * <p>Confined to the thread of its {@link GroupSeat}, except {@link #wake}. A consumer is made when it is first polled,
 * and again after {@link #discard}.
 */
final class GroupMember implements Group, SeatAssignor.Participant, ConsumerRebalanceListener {

    private static final Duration CLOSE_PATIENCE = Duration.ofMillis(500);
    private static final int MOST_WAKEUPS = 3;

    private final Standing standing;
    private final TopicPartition partition;
    private final JournalClient journal;
    private final Function<SeatAssignor.Participant, Consumer<byte[], byte[]>> connector;
    private final Supplier<Owner> owner;
    private volatile @Nullable Consumer<byte[], byte[]> consumer;
    private volatile boolean polling;
    private volatile boolean woken;
    private boolean owns;
    private boolean joined;
    private boolean admitted;
    private int held = -1;
    private long stoodMillis;
    private long nudges;
    private long highestToken;
    private List<Candidate> candidates = List.of();

    GroupMember(
            Standing standing,
            TopicPartition partition,
            JournalClient journal,
            Function<SeatAssignor.Participant, Consumer<byte[], byte[]>> connector,
            Supplier<Owner> owner) {
        this.standing = standing;
        this.partition = partition;
        this.journal = journal;
        this.connector = connector;
        this.owner = owner;
    }

    /** Lets the poll return that is under way, or comes next; for any thread. */
    void wake() {
        woken = true; // also if a poll is about to begin
        var polled = consumer;
        if (polling && polled != null) {
            polled.wakeup();
        }
    }

    @Override
    public boolean owns() {
        return owns;
    }

    @Override
    public boolean joined() {
        return joined;
    }

    /** Returns whether the group has taken us in, whichever assignor it has agreed on. */
    boolean admitted() {
        return admitted;
    }

    @Override
    public long highestToken() {
        return highestToken;
    }

    void poll(Duration timeout) {
        var polled = consumer;
        if (polled == null) {
            polled = subscribe();
        }
        polling = true;
        try {
            polled.poll(woken ? Duration.ZERO : timeout);
        } catch (WakeupException e) {
            // somebody left us word
        } finally {
            polling = false;
            woken = false;
        }
    }

    private Consumer<byte[], byte[]> subscribe() {
        stoodMillis = System.currentTimeMillis();
        var made = connector.apply(this);
        consumer = made;
        made.subscribe(List.of(partition.topic()), this);
        return made;
    }

    @Override
    public Commit commit() {
        var committing = consumer;
        if (committing == null || !owns) {
            return Commit.REFUSED;
        }
        var timeout = standing.config().renewInterval().dividedBy(2);
        try {
            commit(committing, partition, new OffsetAndMetadata(journal.nextOffset(), ""), timeout);
            return Commit.ACCEPTED;
        } catch (RebalanceInProgressException e) {
            return Commit.REBALANCING;
        } catch (CommitFailedException e) {
            return Commit.REFUSED; // the next poll will tell
        } catch (RetriableException | WakeupException e) {
            return Commit.UNANSWERED;
        }
    }

    /**
     * Commits an offset. A wake-up that ends this was meant for a poll, and came too late for that: nothing is known of
     * the commit then, so it is tried again.
     */
    static void commit(
            Consumer<byte[], byte[]> committing, TopicPartition partition, OffsetAndMetadata offset, Duration timeout) {
        for (var left = MOST_WAKEUPS; ; left--) {
            try {
                committing.commitSync(Map.of(partition, offset), timeout);
                return;
            } catch (WakeupException e) {
                if (left == 1) {
                    throw e;
                }
            }
        }
    }

    @Override
    public void askToRebalance() {
        var asking = consumer;
        if (asking != null) {
            nudges++; // a member that joins again with nothing changed is sent away
            asking.enforceRebalance("the seat may be free");
        }
    }

    @Override
    public void leave() {
        close(CLOSE_PATIENCE);
    }

    /** Drops a consumer that has failed. */
    void discard() {
        close(Duration.ZERO);
    }

    // KafkaConsumer.close(CloseOptions) is younger than the oldest client we run with
    @SuppressWarnings("deprecation")
    private void close(Duration patience) {
        var closing = consumer;
        consumer = null;
        owns = false;
        joined = false;
        admitted = false;
        held = -1;
        candidates = List.of();
        if (closing != null) {
            try {
                closing.close(patience);
            } catch (RuntimeException e) {
                // a client that cannot be closed is gone anyway; its session runs out
            }
        }
    }

    // ---------------------------------------------------------------- called by the consumer, within a poll

    @Override
    public Membership membership() {
        return new Membership(
                standing.candidate(),
                standing.instance(),
                standing.config().priority(),
                stoodMillis,
                held,
                owner.get().highestToken(),
                nudges,
                standing.config().metadata());
    }

    @Override
    public void assigned(boolean nowOwns, int generation, long highest, List<Candidate> nowStanding) {
        joined = true;
        highestToken = Math.max(highestToken, highest);
        if (nowOwns) {
            held = generation;
            if (!nowStanding.isEmpty() && !nowStanding.equals(candidates)) {
                candidates = nowStanding;
                owner.get().learnt(nowStanding);
            }
        } else {
            held = -1;
            candidates = List.of();
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        admitted = true;
        var assigned = consumer;
        if (partitions.contains(partition) && assigned != null) {
            assigned.pause(List.of(partition)); // nothing is fetched: the journal is read elsewhere, by one for all
            assigned.seek(partition, 0);
            owns = true;
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        if (partitions.contains(partition)) {
            owner.get().revoked();
            owns = false;
        }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        if (partitions.contains(partition)) {
            owns = false;
            held = -1;
            owner.get().lost();
        }
    }
}
