package dev.bellwether.internal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The rules of a roster's journal: what its records, read in order, make of each partition.
 *
 * <p>Confined to the loop. Times are on our monotonic clock and count from when a record was read here.
 */
final class RosterLedger {
    /*
     * As in a single election, and for each partition by itself, the order of the log decides:
     *
     * 1. A claim ends all earlier ones. A beat counts for a partition only as long as no other claim for it lies between: so whoever
     *    reads back his beat, and no foreign claim before it, knows that all who claim later will have read that beat.
     * 2. Whoever claims waits until every earlier claimant has said that his work has ended, or until the lease of his last beat has
     *    passed since it was read here. It was sent before it was read: his own count ends first.
     * 3. A claim whose token would not rise takes no effect here. Its author may know less than we do, and lead by it: so whoever claims
     *    next waits for its lease all the same. If the author knows as much, it says that it has no use for the claim.
     * 4. A holder may have claimed in records that are gone. Its beat counts as its claim, unless a higher token was read. Whoever missed
     *    records, or begins to read where the log no longer has its first, knows of no such holder until its next beat, and waits for a lease
     *    from then on; not so where somebody has said since that it led the partition and has ended, and had read all that we have not: that
     *    one had waited for all before it, and would have known of one after it.
     * 5. Whoever divides the roles by another number of partitions may lead any role of ours: its claim is one for each of our
     *    partitions, and until its lease is over, or all that it claimed is released, nobody here leads.
     */
    private final String group;
    private final Seat[] seats;
    private final Map<String, Stranger> strangers = new TreeMap<>();
    private long highest;
    private long base;
    private boolean fellBehind;
    private long nextOffset;
    private long firstOffset;
    private long longestLeaseNanos;
    private @Nullable Long missedUntilNanos;

    /** Somebody's claim for one partition. */
    record Taken(String instance, long token, long untilNanos, boolean released) {
        boolean standsAt(long nanos) {
            return !released && nanos - untilNanos < 0;
        }

        Taken until(long nanos) {
            return new Taken(instance, token, nanos, released);
        }

        /** Whether it is this one's: where a log was created again, somebody before may have had the same token. */
        boolean is(String author, long claimed) {
            return token == claimed && instance.equals(author);
        }
    }

    /** Somebody with another number of partitions, and which of those it may lead. */
    private static final class Stranger {
        private final Set<Integer> claimed = new TreeSet<>();
        private long untilNanos;
    }

    private static final class Seat {
        private @Nullable Taken last;
        private long highest;
        /** The highest token that was read since the log began, or began anew: lower ones are over for all who read it. */
        private long read;
        /** Who held it last when the log began anew has let go of it since, in order. */
        private boolean vouched;

        private final List<Taken> earlier = new ArrayList<>(1);
    }

    RosterLedger(String group, int partitions, Duration lease) {
        this.group = group;
        longestLeaseNanos = lease.toNanos();
        seats = new Seat[partitions];
        for (var i = 0; i < partitions; i++) {
            seats[i] = new Seat();
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
        if (said.what() == RosterRecord.What.CLAIM) {
            base = said.base();
        }
        longestLeaseNanos = Math.max(longestLeaseNanos, said.lease().toNanos());
        strangers.values().removeIf(stranger -> nowNanos - stranger.untilNanos >= 0);
        if (said.partitions() != seats.length) {
            readStranger(said, offset, nowNanos);
            return;
        }
        said.tokens().forEach((partition, token) -> {
            if (partition >= 0 && partition < seats.length) {
                read(said, seats[partition], token, offset, nowNanos);
            }
        });
    }

    private void read(RosterRecord said, Seat seat, long token, long offset, long nowNanos) {
        seat.earlier.removeIf(taken -> !taken.standsAt(nowNanos));
        var until = nowNanos + said.lease().toNanos();
        switch (said.what()) {
            case CLAIM -> {
                var claimed = said.base() + offset + 1;
                if (claimed > seat.highest) {
                    claimed(seat, said.instance(), claimed, until, nowNanos);
                } else {
                    believed(seat, new Taken(said.instance(), claimed, until, false));
                }
            }
            case BEAT -> {
                if (seat.last != null && seat.last.token == token) {
                    seat.last = seat.last.until(until);
                } else if (token >= seat.highest) {
                    claimed(seat, said.instance(), token, until, nowNanos); // its claim is no longer in the log
                } else if (token > seat.read) {
                    believed(seat, new Taken(said.instance(), token, until, false));
                }
            }
            case CONCEDE -> {
                if (seat.last != null && seat.last.is(said.instance(), token) && until - seat.last.untilNanos < 0) {
                    seat.last = seat.last.until(until);
                }
                seat.earlier.replaceAll(taken ->
                        taken.is(said.instance(), token) && until - taken.untilNanos < 0 ? taken.until(until) : taken);
            }
            case RELEASE -> {
                known(token);
                seat.highest = Math.max(seat.highest, token);
                seat.vouched |= said.number() == RosterWriter.HAD_LED && said.base() >= firstOffset;
                if (seat.last != null && seat.last.is(said.instance(), token)) {
                    seat.last = new Taken(seat.last.instance, token, seat.last.untilNanos, true);
                }
                seat.earlier.removeIf(taken -> taken.is(said.instance(), token));
            }
        }
    }

    private void readStranger(RosterRecord said, long offset, long nowNanos) {
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
            endAll(nowNanos);
            for (var seat : seats) {
                raise(seat, said.base() + offset + 1);
            }
        }
    }

    /** Somebody may lead by this, though it has no effect here. */
    private static void believed(Seat seat, Taken taken) {
        seat.earlier.removeIf(
                other -> other.token == taken.token && other.instance.equals(taken.instance)); // its earlier beats
        seat.earlier.add(taken);
    }

    private void claimed(Seat seat, String instance, long token, long untilNanos, long nowNanos) {
        if (missedUntilNanos != null && missedUntilNanos - nowNanos > 0 && !seat.vouched) {
            seat.earlier.add(new Taken("", 0, missedUntilNanos, false)); // whoever it is
        }
        if (seat.last != null && seat.last.standsAt(nowNanos)) {
            seat.earlier.add(seat.last);
        }
        raise(seat, token);
        seat.last = new Taken(instance, token, untilNanos, false);
    }

    private void raise(Seat seat, long token) {
        seat.highest = Math.max(seat.highest, token);
        seat.read = Math.max(seat.read, token);
        known(token);
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
     * The log goes on at another offset than it should: it was created again, or some of it is gone. What we know remains; whoever led may lead
     * until its lease is over, and so may one of whom we have not read.
     */
    void beganAnew(long offset, long nowNanos) {
        nextOffset = offset;
        firstOffset = offset;
        missedUntilNanos = nowNanos + longestLeaseNanos;
        endAll(nowNanos);
        for (var seat : seats) {
            seat.read = 0;
            seat.vouched = false;
        }
    }

    /** No claim counts any more. */
    private void endAll(long nowNanos) {
        for (var seat : seats) {
            if (seat.last != null && seat.last.standsAt(nowNanos)) {
                seat.earlier.add(seat.last);
            }
            seat.last = null;
        }
    }

    /** Returns the token of the claim that counts now, if it is of this instance; else 0. */
    long tokenOf(String instance, int partition) {
        var last = seats[partition].last;
        return last != null && last.instance.equals(instance) ? last.token : 0;
    }

    /** Returns for how long, in nanoseconds, somebody other than this instance may still lead on an earlier claim; zero or less if nobody. */
    long barredNanosAt(long nanos, String instance, int partition) {
        var barred = 0L;
        for (var taken : seats[partition].earlier) {
            if (!taken.instance.equals(instance)) {
                barred = Math.max(barred, taken.untilNanos - nanos);
            }
        }
        for (var stranger : strangers.values()) {
            barred = Math.max(barred, stranger.untilNanos - nanos);
        }
        return barred;
    }

    /**
     * A claim of ours was read. If its token is no higher than one that we knew when we wrote it, the log has fewer records than it should:
     * it was created again.
     */
    void ownClaimRead(boolean rises) {
        fellBehind = !rises;
    }

    /**
     * Returns what a claim must add to its offset for its token to rise. Who knows of a higher token than the log has offsets may not have
     * read all of it, so that it adds nothing before a claim of its own has shown the log's end: where records are forgotten, and all who
     * read them, a token above the log is forgotten with them, and an offset is not.
     */
    long baseOfNextClaim() {
        return fellBehind && base + nextOffset + 1 <= highest ? highest : base;
    }
}
