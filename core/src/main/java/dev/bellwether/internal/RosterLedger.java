package dev.bellwether.internal;

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
     * 3. A claim whose token would not rise is void.
     * 4. Whoever divides the roles by another number of partitions may lead any role of ours: his claim is one for each of our
     *    partitions, and until his lease is over, or all that he claimed is released, nobody here leads.
     */
    private final String group;
    private final Seat[] seats;
    private final Map<String, Stranger> strangers = new TreeMap<>();
    private long highest;
    private long base;
    private long nextOffset;

    /** Somebody's claim for one partition. */
    record Taken(String instance, long token, long untilNanos, boolean released) {
        boolean standsAt(long nanos) {
            return !released && nanos - untilNanos < 0;
        }

        Taken until(long nanos) {
            return new Taken(instance, token, nanos, released);
        }
    }

    /** Somebody with another number of partitions, and which of his he may lead. */
    private static final class Stranger {
        private final Set<Integer> claimed = new TreeSet<>();
        private long untilNanos;
    }

    private static final class Seat {
        private @Nullable Taken last;
        private long highest;
        private final List<Taken> earlier = new ArrayList<>(1);
    }

    RosterLedger(String group, int partitions) {
        this.group = group;
        seats = new Seat[partitions];
        for (var i = 0; i < partitions; i++) {
            seats[i] = new Seat();
        }
    }

    void read(RosterRecord said, long offset, long nowNanos) {
        nextOffset = offset + 1;
        if (!said.group().equals(group)) {
            return;
        }
        if (said.what() == RosterRecord.What.CLAIM) {
            base = said.base();
        }
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
            case CLAIM -> claimed(seat, said.instance(), said.base() + offset + 1, until, nowNanos);
            case BEAT -> {
                if (token > seat.highest) {
                    claimed(seat, said.instance(), token, until, nowNanos); // its claim is no longer in the log
                } else if (seat.last != null && seat.last.token == token) {
                    seat.last = seat.last.until(until);
                }
            }
            case CONCEDE -> {
                if (seat.last != null && seat.last.token == token && until - seat.last.untilNanos < 0) {
                    seat.last = seat.last.until(until);
                }
                seat.earlier.replaceAll(
                        taken -> taken.token == token && until - taken.untilNanos < 0 ? taken.until(until) : taken);
            }
            case RELEASE -> {
                raise(seat, token);
                if (seat.last != null && seat.last.token == token) {
                    seat.last = new Taken(seat.last.instance, token, seat.last.untilNanos, true);
                }
                seat.earlier.removeIf(taken -> taken.token == token);
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

    private void claimed(Seat seat, String instance, long token, long untilNanos, long nowNanos) {
        if (token <= seat.highest) {
            return;
        }
        if (seat.last != null && seat.last.standsAt(nowNanos)) {
            seat.earlier.add(seat.last);
        }
        raise(seat, token);
        seat.last = new Taken(instance, token, untilNanos, false);
    }

    private void raise(Seat seat, long token) {
        seat.highest = Math.max(seat.highest, token);
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

    /** The log begins anew: its claims are gone, but not what we know. Whoever led under one may lead until its lease is over. */
    void beganAnew(long nowNanos) {
        nextOffset = 0;
        endAll(nowNanos);
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

    /** Returns what a claim must add to its offset for its token to rise. */
    long baseOfNextClaim() {
        return base + nextOffset + 1 > highest ? base : highest;
    }
}
