package dev.bellwether.internal.record;

import java.time.Instant;

/**
 * A record as a store has it, or had it. Immutable.
 *
 * @param revision where it stands; 0 if there is none
 * @param written when it was written, by the store's clock; {@link Instant#EPOCH} if that is unknown
 */
record StoredRecord(long revision, Instant written, SeatRecord record) {

    /** Returns the revision at which its writer wrote it: orders that were laid over it later do not count. */
    long origin() {
        return record.orders().origin() == 0 ? revision : record.orders().origin();
    }

    /**
     * Returns whether both were written at the same time, as far as that is known. It compares records that have no
     * stamp.
     */
    boolean isAsOldAs(StoredRecord that) {
        return written.equals(that.written) || written.equals(Instant.EPOCH) || that.written.equals(Instant.EPOCH);
    }
}
