package dev.bellwether.outbox;

import dev.bellwether.ElectionException;

/**
 * A change of a relay's shard. Sent on the shard's threads, one at a time for each shard, except that {@link MeterRead}
 * may come beside others. While a listener runs, the shard waits; do not close the relay in it.
 */
public sealed interface RelayEvent {
    /** Returns the shard, counted from 0. */
    int shard();

    /** We lead this shard, and are about to read the table. */
    record LeaderAcquired(int shard, long token) implements RelayEvent {}

    /**
     * We begin again with the first row that is left, behind new fences: at first, after a failure, and when a blocked
     * key is tried again.
     */
    record LeaderRefreshed(int shard, long epoch) implements RelayEvent {}

    /** We lead no more, in order: what was sent is committed and deleted. */
    record LeaderRevoked(int shard) implements RelayEvent {}

    /** We lead no more, and another may lead already. */
    record LeaderFenced(int shard) implements RelayEvent {}

    /**
     * These rows had been published by a leader that could not delete them any more. They are deleted, and not sent
     * again.
     */
    record Recovered(int shard, int rows) implements RelayEvent {}

    /**
     * Progress cannot be recorded, so readers of committed records may see some again after a failure, as other readers
     * do. Sent once for each mandate.
     */
    record ProgressRefused(int shard, String reason) implements RelayEvent {}

    /**
     * What earlier leaders have published is not known for certain, for this reason: so all that is in the table is
     * published, and readers of committed records may see a run of records again.
     */
    record ProgressDoubted(int shard, String reason) implements RelayEvent {}

    /** Records flowed. */
    record MeterRead(int shard, RelayStats stats) implements RelayEvent {}

    /** A record was moved to the parking table. */
    record Parked(int shard, long id, String reason) implements RelayEvent {}

    /** A record stays, and all later ones of its key with it; or of its topic, if the topic accepts none. */
    record KeyBlocked(int shard, long id, String reason) implements RelayEvent {}

    /** A record stopped the shard. */
    record Halted(int shard, long id, String reason) implements RelayEvent {}

    /**
     * We could not begin for {@linkplain RelayConfig.Builder#standDownAfter long}, and give the leadership to another
     * candidate: this relay does not reach the database, or the brokers.
     */
    record StoodDown(int shard, Exception cause) implements RelayEvent {}

    /** An operator has ended the election. This relay publishes nothing of the shard any more. */
    record ElectionEnded(int shard) implements RelayEvent {}

    /**
     * Our candidacy failed permanently. This relay publishes nothing of the shard any more: start it again when the
     * cause is fixed.
     */
    record CandidacyFailed(int shard, ElectionException cause) implements RelayEvent {}

    /**
     * We stand by, and the relay that leads has not touched our table: it serves another table under the same name, or
     * does not reach the database. Nothing is published from ours.
     */
    record NotServed(int shard, String leader) implements RelayEvent {}

    /** After {@link NotServed}: we stand by, and the relay that leads serves our table. */
    record Served(int shard, String leader) implements RelayEvent {}

    /** No election is possible, because its infrastructure does not answer; we try again after a while. */
    record Waiting(int shard, ElectionException cause) implements RelayEvent {}

    /** Something failed; we try again after a while. */
    record Faulted(int shard, Exception cause) implements RelayEvent {}
}
