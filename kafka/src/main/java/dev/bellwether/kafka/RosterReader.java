package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.GroupObserver;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;

/**
 * Hands the journal of a roster, partition 0 of its topic, to a member, and says when all has been read that it held at
 * first.
 */
final class RosterReader implements LogTail.Follower {
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final Duration SHORT_POLL = Duration.ofMillis(200);

    private final GroupObserver observer;
    private final AccessPatience access;
    private final Runnable writesTaken;
    private final Function<ApiException, ElectionException> refusal;
    private final Runnable onCaughtUp;

    // confined to the tail's thread
    private LongSupplier ends = () -> 0;
    private long end;
    private boolean nothing;
    private boolean caughtUp;

    RosterReader(
            GroupObserver observer,
            AccessPatience access,
            Runnable writesTaken,
            Function<ApiException, ElectionException> refusal,
            Runnable onCaughtUp) {
        this.observer = observer;
        this.access = access;
        this.writesTaken = writesTaken;
        this.refusal = refusal;
        this.onCaughtUp = onCaughtUp;
    }

    @Override
    public void connected(Consumer<byte[], byte[]> reading, TopicPartition partition) {
        ends = () -> reading.endOffsets(List.of(partition)).getOrDefault(partition, 0L);
        end = ends.getAsLong();
    }

    @Override
    public void read(List<ConsumerRecord<byte[], byte[]>> records) {
        nothing = records.isEmpty();
        if (!nothing) {
            writesTaken.run();
        }
        records.forEach(each ->
                observer.read(0, each.offset(), each.timestamp(), each.value() == null ? new byte[0] : each.value()));
    }

    @Override
    public void reached(long offset) {
        access.answered();
        if (!caughtUp && offset < end && nothing) {
            end = Math.min(end, ends.getAsLong()); // there may be another topic of that name by now, which ends sooner
        }
        if (!caughtUp && offset >= end) {
            caughtUp = true;
            onCaughtUp.run();
        }
    }

    @Override
    public void beganAgain(long offset) {
        observer.beganAgain(offset);
        end = offset;
    }

    @Override
    public void failed(ApiException error) {
        var refused = refusal.apply(error);
        if (access.ends(refused, System.nanoTime())) {
            observer.failed(refused);
        }
    }

    @Override
    public Duration patience() {
        return caughtUp ? LONGEST_POLL : SHORT_POLL;
    }
}
