package dev.bellwether.internal.roster;

import dev.bellwether.spi.journal.JournalSeat;
import dev.bellwether.spi.journal.SeatClaim;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A roster's journal: what its records, read in order, make of each partition. The rules are those of {@link
 * JournalSeat}.
 *
 * <p>Confined to the loop. Times are on our monotonic clock and count from when a record was read here.
 */
final class RosterLedger {
    /*
     * Each partition is a seat by itself. Beyond its rules:
     *
     * 1. Anybody who divides the roles by another number of partitions may lead any role of ours: its claim is one for
     *    each of our partitions, and until its lease is over, or all that it claimed is released, nobody here leads.
     * 2. Anybody who begins to read where the log no longer has its first record has missed records, too.
     */
    private final String group;
    private final JournalSeat[] seats;
    private final Map<String, Stranger> strangers = new TreeMap<>();
    private long highest;
    private long base;
    private boolean fellBehind;
    private long nextOffset;
    private long firstOffset;
    private long longestLeaseNanos;

    /** Names a claim: where a log was created again, somebody before may have had the same token. */
    private record ClaimId(String instance, long token) {}

    /** Somebody with another number of partitions, and which of those it may lead. */
    private static final class Stranger {
        private final Set<Integer> claimed = new TreeSet<>();
        private long untilNanos;
    }

    RosterLedger(String group, int partitions, Duration lease) {
        this.group = group;
        longestLeaseNanos = lease.toNanos();
        seats = new JournalSeat[partitions];
        for (var i = 0; i < partitions; i++) {
            seats[i] = new JournalSeat();
        }
    }

    /** Returns the offset up to which the log has been read. */
    long nextOffset() {
        return nextOffset;
    }

    /** Returns whether records before this offset were there, and will not be read. */
    boolean missedBefore(long offset) {
        return offset != nextOffset;
    }

    /** A record that is none of ours. */
    void skip(long offset) {
        nextOffset = offset + 1;
    }

    void read(RosterRecord said, long offset, long nowNanos) {
        nextOffset = offset + 1;
        if (!said.group().equals(group)) {
            return;
        }
        var claimed = said.base() + offset + 1;
        if (said.what() == RosterRecord.What.CLAIM) {
            base = said.base();
        }
        longestLeaseNanos = Math.max(longestLeaseNanos, said.lease().toNanos());
        strangers.values().removeIf(stranger -> nowNanos - stranger.untilNanos >= 0);
        if (said.partitions() != seats.length) {
            readStranger(said, claimed, nowNanos);
            return;
        }
        said.tokens().forEach((partition, told) -> {
            if (partition >= 0 && partition < seats.length) {
                var token = said.what() == RosterRecord.What.CLAIM ? claimed : told;
                read(said, seats[partition], token, nowNanos);
            }
        });
    }

    private void read(RosterRecord said, JournalSeat seat, long token, long nowNanos) {
        var until = nowNanos + said.lease().toNanos();
        var claim = new SeatClaim(new ClaimId(said.instance(), token), said.instance(), token, until, false);
        switch (said.what()) {
            case CLAIM -> seat.claimed(claim, nowNanos);
            case BEAT -> seat.held(claim, nowNanos);
            case CONCEDE -> seat.conceded(claim, nowNanos);
            case RELEASE -> {
                seat.released(claim, nowNanos);
                if (said.number() == RosterWriter.HAD_LED && said.base() >= firstOffset) {
                    seat.nobodyUnseen();
                }
            }
        }
        known(seat.highest());
    }

    private void readStranger(RosterRecord said, long claimed, long nowNanos) {
        var stranger = strangers.computeIfAbsent(said.instance(), instance -> new Stranger());
        switch (said.what()) {
            case CLAIM, BEAT -> {
                stranger.claimed.addAll(said.tokens().keySet());
                stranger.untilNanos = nowNanos + said.lease().toNanos();
            }
            case CONCEDE -> {}
            case RELEASE -> stranger.claimed.removeAll(said.tokens().keySet());
        }
        if (stranger.claimed.isEmpty()) {
            strangers.remove(said.instance());
        }
        said.tokens().values().forEach(this::known);
        if (said.what() == RosterRecord.What.CLAIM) {
            known(claimed);
            for (var seat : seats) {
                seat.overruled(claimed, nowNanos);
            }
        }
    }

    /** Somebody knows of a token as high as this: that of our next claim will be higher. */
    void known(long token) {
        highest = Math.max(highest, token);
    }

    /** Returns the highest token that is known. */
    long highest() {
        return highest;
    }

    /**
     * The log goes on at another offset than it should: it was created again, or some of it is gone. What we know
     * remains; anybody who led may lead until its lease is over, and so may a member that we have not read of.
     */
    void beganAgain(long offset, long nowNanos) {
        nextOffset = offset;
        firstOffset = offset;
        for (var seat : seats) {
            seat.beganAgain(nowNanos, nowNanos + longestLeaseNanos);
        }
    }

    /** Returns the token of the claim that counts now, if it is of this instance; else 0. */
    long tokenOf(String instance, int partition) {
        var last = seats[partition].last();
        return last != null && last.instance().equals(instance) ? last.token() : 0;
    }

    /**
     * Returns for how long, in nanoseconds, somebody other than this instance may still lead on an earlier claim; zero
     * or less if nobody.
     */
    long barredNanosAt(long nanos, String instance, int partition) {
        var barred = seats[partition].state().barredNanosAt(nanos, instance);
        for (var stranger : strangers.values()) {
            barred = Math.max(barred, stranger.untilNanos - nanos);
        }
        return barred;
    }

    /**
     * A claim of ours was read. If its token is no higher than one that we knew when we wrote it, the log has fewer
     * records than it should: it was created again.
     */
    void ownClaimRead(boolean rises) {
        fellBehind = !rises;
    }

    /**
     * Returns what a claim must add to its offset for its token to rise. A member that knows of a higher token than the
     * log has offsets may not have read all of it, so it adds nothing before a claim of its own has shown the log's
     * end: where records are forgotten, and all who read them, a token above the log is forgotten with them, and an
     * offset is not.
     */
    long baseOfNextClaim() {
        return fellBehind && base + nextOffset + 1 <= highest ? highest : base;
    }
}
