package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import java.util.List;

/** A candidate's place in the group of its election. Confined to the thread of its {@link GroupSeat}. */
interface Group {

    /** Who is told what the group decides, within a poll. */
    interface Owner {
        /** The partition is to be given up; others wait until this returns. */
        void revoked();

        /** The partition is somebody else's, or soon will be. */
        void lost();

        /** We own the partition, and these stand. */
        void learnt(List<Candidate> candidates);

        /** Returns the highest token that the journal has shown. */
        long highestToken();
    }

    /** What became of an offset commit. */
    enum Commit {
        /** The coordinator accepted it from this member in this generation. */
        ACCEPTED,
        /** We have joined a rebalance that is not over: the client holds commits back. */
        REBALANCING,
        /** We may not be a member any more. */
        REFUSED,
        /** No definite answer. */
        UNANSWERED
    }

    /** Returns whether we own the partition. */
    boolean owns();

    /** Returns whether the group has told us what we own, since we joined. */
    boolean joined();

    /** Returns the highest token that anybody in the group knew of when we became owner. */
    long highestToken();

    /**
     * Asks the coordinator whether we are the owner still: it accepts offsets from none but members of the present
     * generation.
     */
    Commit commit();

    /** Asks the coordinator to have all members join again. */
    void askToRebalance();

    /** Leaves the group, if we are in it. */
    void leave();
}
