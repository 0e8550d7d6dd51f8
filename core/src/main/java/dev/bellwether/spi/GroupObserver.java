package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link RosterCarrier} tells core. Thread-safe: reports are carried to the loop, in order per calling thread.
 */
public interface GroupObserver {

    /** These partitions are ours, beside those that were. */
    void assigned(Collection<Integer> partitions);

    /**
     * These are to move on. The group waits for {@link GroupMembership#revoked} of each, for as long as the stand-down
     * budget, and meanwhile carries out what else is asked.
     */
    void revoking(Collection<Integer> partitions);

    /** These are definitely no longer ours. */
    void lost(Collection<Integer> partitions);

    /** What came of the commit of this number. */
    void committed(long number, Commit outcome);

    /**
     * A record was read: in the exclusive mode all of partition 0, in order, from the beginning; in the others what is
     * new in the partitions that are ours.
     *
     * @param writtenMillis the broker's timestamp
     */
    void read(int partition, long offset, long writtenMillis, byte[] record);

    /** In the exclusive mode: all that partition 0 held when we joined has been read. */
    void caughtUp();

    /**
     * Somebody in the group knows of a token as high as this. Told before the partitions that were assigned along with
     * it.
     */
    default void highest(long token) {}

    /**
     * What we had yet to read is gone, and the log goes on at this offset: it was deleted and created again, or forgot
     * records.
     */
    void beganAgain(long offset);

    /** An error that no retry can fix. */
    void failed(ElectionException error);

    /** We have left the group. */
    void left();

    /** The infrastructure has answered. For the log, which tells of outages. */
    default void answered() {}

    /** The infrastructure did not answer within this time, for this reason if one is known. For the log. */
    default void unanswered(Duration waited, @Nullable Throwable why) {}

    /** What became of a commit. */
    enum Commit {
        /** The group accepted it: at that instant we were a member in the present generation. */
        ACCEPTED,
        /** We have joined a rebalance that is not over. */
        REBALANCING,
        /** We may not be a member any more. */
        REFUSED,
        /** No definite answer. */
        UNANSWERED
    }
}
