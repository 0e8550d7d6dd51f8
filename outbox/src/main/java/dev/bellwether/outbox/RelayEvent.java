package dev.bellwether.outbox;

/**
 * A turn in the life of a relay's shard. Told on the shard's threads, one at a time for each shard, except that {@link MeterRead} may
 * come beside others.
 */
public sealed interface RelayEvent {
    /** Returns the shard, counted from 0. */
    int shard();

    /** We lead this shard, and are about to read the table. */
    record LeaderAcquired(int shard, long token) implements RelayEvent {}

    /**
     * We begin anew with the first row that is left, behind new fences: at first, after a failure, and when a blocked key is tried
     * again.
     */
    record LeaderRefreshed(int shard, long epoch) implements RelayEvent {}

    /** We lead no more, in order: what was sent is committed and deleted. */
    record LeaderRevoked(int shard) implements RelayEvent {}

    /** We lead no more, and somebody else may already. What he finds in the table he publishes again. */
    record LeaderFenced(int shard) implements RelayEvent {}

    /** Records flowed. */
    record MeterRead(int shard, RelayStats stats) implements RelayEvent {}

    /** A record was moved to the parking table. */
    record Parked(int shard, long id, String reason) implements RelayEvent {}

    /** A record stays, and all later ones of its key with it. */
    record KeyBlocked(int shard, long id, String reason) implements RelayEvent {}

    /** A record stopped the shard. */
    record Halted(int shard, long id, String reason) implements RelayEvent {}

    /** Something failed; we try again after a while. */
    record Faulted(int shard, Exception cause) implements RelayEvent {}
}
