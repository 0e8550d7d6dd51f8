package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import java.time.Duration;

/**
 * Makes mandates of what a group and its log tell: one for all partitions of a member. Confined to the loop.
 */
interface RosterDriver extends GroupObserver {

    /** What it reports, partition by partition. */
    interface Reports {
        void granted(int partition, long token, Proof proof);

        void proven(int partition, long token, Proof proof);

        void asked(int partition, long token, Cause cause);

        void lost(int partition, long token, Cause cause);

        /** The seat of this partition has left. */
        void left(int partition);

        void failed(ElectionException error);

        /** The member has left the group. */
        void gone();
    }

    /** Returns the seat of one partition, for its candidacy. */
    Seat seat(int partition);

    /** Time has passed, or something was asked: does what is due. */
    void act();

    /** The member has left: asks and does nothing any more. */
    void end();

    /** The member is about to resign from all partitions. Returns how long it should put that off. */
    Duration leaving();
}
