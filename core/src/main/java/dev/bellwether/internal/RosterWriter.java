package dev.bellwether.internal;

import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes the records of one member to the journal. What is conceded, released and given back in one turn goes together: many partitions, one
 * record. Confined to the loop.
 */
final class RosterWriter {
    private final RosterStanding standing;
    private final Loop loop;
    private final GroupMembership membership;
    private final Runnable flushed;
    private final Map<Duration, Map<Integer, Long>> conceding = new TreeMap<>();
    private final Map<Integer, Long> releasing = new TreeMap<>();
    private final List<Integer> givingBack = new ArrayList<>();
    private boolean flushing;

    RosterWriter(RosterStanding standing, Loop loop, GroupMembership membership, Runnable flushed) {
        this.standing = standing;
        this.loop = loop;
        this.membership = membership;
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

    /** The group may give this partition to another. */
    void giveBack(int partition) {
        givingBack.add(partition);
        flushSoon();
    }

    /** Writes, once all that belongs together has been asked, what was conceded and released; then gives the partitions back. */
    void flushSoon() {
        if (!flushing) {
            flushing = true;
            loop.execute(() -> {
                flushing = false;
                conceding.forEach((within, tokens) -> write(RosterRecord.What.CONCEDE, 0, 0, within, tokens));
                conceding.clear();
                if (!releasing.isEmpty()) {
                    write(RosterRecord.What.RELEASE, 0, 0, standing.config().lease(), releasing);
                    releasing.clear();
                }
                givingBack.forEach(membership::revoked);
                givingBack.clear();
                flushed.run();
            });
        }
    }

    private void write(RosterRecord.What what, long number, long base, Duration lease, Map<Integer, Long> tokens) {
        var config = standing.config();
        membership.write(
                0,
                new RosterRecord(
                                what,
                                config.group(),
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
