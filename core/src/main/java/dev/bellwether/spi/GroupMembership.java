package dev.bellwether.spi;

import java.time.Duration;

/** What core asks of a {@link RosterCarrier} for one member. Called on the loop; must not block. */
public interface GroupMembership {

    /**
     * Asks the group whether we are a member of it still; {@link GroupObserver#committed} answers. Of several that
     * wait, only the last needs an answer.
     */
    void commit(long number);

    /** Appends a record, after those before it, or not at all. Nothing is told: it is known by reading. */
    void write(int partition, byte[] record);

    /** What {@link GroupObserver#revoking} asked for has ended: the partition may be given to another. */
    void revoked(int partition);

    /** We own partitions and cannot write or read: leave them to others, and join again after this time. */
    void standAside(Duration time);

    /** No token is known that is higher than this: worth telling others in the group, should the log be lost. */
    default void highest(long token) {}

    /** Leaves the group, then reports {@link GroupObserver#left}. Records may still be written after it. */
    void leave();

    /** Lets go of everything. */
    void close();
}
