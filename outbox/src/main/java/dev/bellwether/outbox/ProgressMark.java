package dev.bellwether.outbox;

/**
 * What the row of a shard says of progress. Immutable.
 *
 * @param epoch of the last leader that kept progress, if all since {@code number} have; another one, if one has not
 * @param number of a transaction: what that one and those before it have published is gone from the table, or not to be
 *     taken for published
 */
record ProgressMark(long epoch, long number) {

    /** Returns whether every leader kept progress, up to the one of this epoch. */
    boolean isUnbroken(long present) {
        return epoch == present;
    }
}
