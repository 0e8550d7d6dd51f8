package dev.bellwether.internal.roster;

import dev.bellwether.internal.loop.GuardedLoop;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * Writes the records of one member to the journal. What is conceded, released and given back in one turn goes together:
 * many partitions, one record. Confined to the loop.
 */
final class RosterWriter {
    /** The number of a release whose writer led, under the last claim in all of the log before the release's base. */
    static final long HAD_LED = 1;

    private final RosterStanding standing;
    private final Loop loop;
    private final GroupMembership membership;
    private final LongSupplier readTo;
    private final Runnable flushed;
    private final Map<Duration, Map<Integer, Long>> conceding = new TreeMap<>();
    private final Map<Integer, Long> releasing = new TreeMap<>();
    private final Map<Integer, Long> endingTerms = new TreeMap<>();
    private final List<Integer> givingBack = new ArrayList<>();
    private boolean flushing;

    /** The last two: up to where the log has been read, and what to do when all has been written. */
    RosterWriter(
            RosterStanding standing, Loop loop, GroupMembership membership, LongSupplier readTo, Runnable flushed) {
        this.standing = standing;
        this.loop = loop;
        this.membership = membership;
        this.readTo = readTo;
        this.flushed = flushed;
    }

    void claim(long number, long base, Map<Integer, Long> tokens) {
        write(RosterRecord.What.CLAIM, number, base, standing.config().lease(), tokens);
    }

    void beat(long number, Map<Integer, Long> tokens) {
        write(RosterRecord.What.BEAT, number, 0, standing.config().lease(), tokens);
    }

    void concede(int partition, long token, Duration within) {
        conceding.computeIfAbsent(within, length -> new TreeMap<>()).put(partition, token);
        flushSoon();
    }

    void release(int partition, long token) {
        releasing.put(partition, token);
        flushSoon();
    }

    /** Releases what was led, under a claim that is still the last one. */
    void endTerm(int partition, long token) {
        endingTerms.put(partition, token);
        flushSoon();
    }

    /** The group may give this partition to another. */
    void giveBack(int partition) {
        givingBack.add(partition);
        flushSoon();
    }

    /**
     * Writes, once all that belongs together has been asked, what was conceded and released; then gives the partitions
     * back.
     */
    void flushSoon() {
        if (!flushing) {
            // whatever is thrown here, or keeps this from running: what comes next is written
            GuardedLoop.execute(loop, () -> flushing = false, () -> {
                conceding.forEach((within, tokens) -> write(RosterRecord.What.CONCEDE, 0, 0, within, tokens));
                conceding.clear();
                release(0, releasing);
                release(HAD_LED, endingTerms);
                givingBack.forEach(membership::revoked);
                givingBack.clear();
                flushed.run();
            });
            flushing = true;
        }
    }

    private void release(long number, Map<Integer, Long> tokens) {
        if (!tokens.isEmpty()) {
            write(
                    RosterRecord.What.RELEASE,
                    number,
                    readTo.getAsLong(),
                    standing.config().lease(),
                    tokens);
            tokens.clear();
        }
    }

    private void write(RosterRecord.What what, long number, long base, Duration lease, Map<Integer, Long> tokens) {
        var config = standing.config();
        membership.write(
                0,
                new RosterRecord(
                                what,
                                standing.journalGroup(),
                                config.partitions(),
                                standing.instance(),
                                standing.member(),
                                number,
                                base,
                                lease,
                                tokens)
                        .bytes());
    }
}
