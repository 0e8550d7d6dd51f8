package dev.bellwether.outbox;

import java.time.Duration;

/**
 * Figures of one shard of one relay, since it was started. While it stands by, rate, lag, blocked and what is in flight
 * are 0; {@link OutboxRelay#state} has what all relays see of the table.
 *
 * @param leading whether this relay leads the shard and publishes it: not while it waits to begin again after a
 *     failure, or for the record that halts it
 * @param led whether somebody leads the shard, as far as this relay knows
 * @param published records that Kafka has confirmed
 * @param deleted rows that were deleted for it
 * @param ratePerSecond records per second since the last {@link RelayEvent.MeterRead}
 * @param inFlight records that were read and are not deleted
 * @param inFlightBytes about what they take
 * @param lag about how long the oldest row that we know of has been waiting; it grows while the relay waits to begin
 *     again
 * @param transactions transactions that were committed
 * @param lastTransaction how long the last one took
 * @param longestTransaction how long the longest one took
 * @param rewinds how often we began again while rows that had been sent were in the table: readers of uncommitted
 *     records may have seen them twice
 * @param parked records that were moved to the parking table
 * @param blocked rows that are held back for a blocked key
 * @param strays rows that appeared where none could be expected any more: their writers drew the id in an earlier
 *     transaction. Their order is not promised.
 */
public record RelayStats(
        boolean leading,
        boolean led,
        long published,
        long deleted,
        double ratePerSecond,
        int inFlight,
        long inFlightBytes,
        Duration lag,
        long transactions,
        Duration lastTransaction,
        Duration longestTransaction,
        long rewinds,
        long parked,
        long blocked,
        long strays) {}
