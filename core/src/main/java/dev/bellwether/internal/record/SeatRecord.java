package dev.bellwether.internal.record;

import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the record of a seat says. Immutable.
 *
 * @param nonce names the claim that was granted; empty if nobody holds the seat
 * @param stamp names this one write of the holder, or of nobody; random, drawn when the write was sent. An operator's
 *     order leaves it alone
 * @param token the token of that grant; 0 if the record is itself the grant, and nobody chose its token, so that it is
 *     base plus revision.
 *     Of a vacant seat, the last token. Of a session, how many seats have left it
 * @param base what is added to a revision to make a token of it: more than 0 since revisions have fallen
 * @param lease for how long the record keeps others away from when they see it
 * @param grace for how long, from when it is seen, nobody may lead, because one may still who goes by {@linkplain
 *     dev.bellwether.spi.ForeignRules other rules}
 * @param since when it was granted, by the store's clock; null in the record that granted it
 * @param session the record whose lease this seat shares, its own being meant for when that record is gone; empty if it
 *     shares none
 * @param orders what operators have written into it
 */
record SeatRecord(
        Kind kind,
        String candidate,
        String nonce,
        String stamp,
        long token,
        long base,
        Duration lease,
        Duration grace,
        @Nullable Instant since,
        int priority,
        Map<String, String> metadata,
        String session,
        Orders orders) {

    /** What kind of record. */
    enum Kind {
        /** Somebody holds the seat. */
        HELD,
        /** As {@link #HELD}, but not to lead before the grace is over that the rules of others demand. */
        PENDING,
        /**
         * Nobody holds it. With a lease: somebody may believe to hold it, and the record is there to be watched for so
         * long.
         */
        VACANT,
        /** Somebody deleted the record, who was not one of us. */
        DELETED,
        /** The store dropped the record, its time being over. */
        EXPIRED,
        /** There is no record. */
        ABSENT,
        /** Something that is not a record of ours. */
        FOREIGN,
        /** A record of a Bellwether that writes another format. */
        UNKNOWN
    }

    /**
     * What operators have written.
     *
     * @param standDown the token whose holder is to stand down; 0 for none
     * @param ended whether the election has ended
     * @param era how many times it was deleted
     * @param listed whether it was claimed since it was last deleted
     * @param origin the revision of the record over which the order was laid; 0 if this record is itself what its
     *     writer wrote
     * @param note of a hand-over, for the holder or the last one; empty for none
     */
    record Orders(long standDown, boolean ended, long era, boolean listed, long origin, String note) {
        static final Orders NONE = new Orders(0, false, 0, false, 0, "");

        /** Returns the same, laid over a record that was written at this revision. */
        Orders over(long origin) {
            return new Orders(standDown, ended, era, listed, origin, note);
        }

        /** Returns these, with the order to the holder of this token to stand down. */
        Orders standDown(long token) {
            return new Orders(token, ended, era, listed, origin, note);
        }

        /** Returns these, with the end of the election. */
        Orders end() {
            return new Orders(standDown, true, era, true, origin, note);
        }

        /** Returns these, with the end undone: another era begins. */
        Orders reopen() {
            return new Orders(standDown, false, era + 1, true, origin, note);
        }

        /** Returns these, with the election forgotten: another era begins. */
        Orders delete() {
            return new Orders(standDown, false, era + 1, false, origin, note);
        }

        /** Returns these, with this note. */
        Orders noted(String note) {
            return new Orders(standDown, ended, era, listed, origin, note);
        }
    }

    private static final String LOOK = "look";
    /** All seats of a session. An election of this name has the same effect, and does no harm. */
    static final String ALL = "*";

    static final SeatRecord ABSENT = bare(Kind.ABSENT, "");

    /** Returns a record of which nothing is known but this. */
    static SeatRecord bare(Kind kind, String candidate) {
        var orders = kind == Kind.FOREIGN ? new Orders(0, false, 0, true, 0, "") : Orders.NONE;
        return new SeatRecord(
                kind, candidate, "", "", 0, 0, Duration.ZERO, Duration.ZERO, null, 0, Map.of(), "", orders);
    }

    /** Returns the seat as held under this claim. */
    SeatRecord taken(Claim claim, Kind kind, String stamp, long token, long base) {
        return new SeatRecord(
                kind,
                claim.candidate(),
                claim.nonce(),
                stamp,
                token,
                base,
                claim.lease(),
                Duration.ZERO,
                null,
                claim.priority(),
                claim.metadata(),
                "",
                new Orders(0, false, era(), true, 0, ""));
    }

    /**
     * Returns the seat with its lease running again, by a further write of its holder.
     *
     * @param session the record whose lease it shares from now on; empty for none
     */
    SeatRecord renewed(
            long token,
            @Nullable Instant since,
            Duration lease,
            Map<String, String> metadata,
            String session,
            String stamp) {
        var same = orders.over(0);
        return new SeatRecord(
                kind, candidate, nonce, stamp, token, base, lease, grace, since, priority, metadata, session, same);
    }

    /** Returns the seat given up. */
    SeatRecord vacated(long lastToken, String stamp) {
        return nobodys(lastToken, base, Duration.ZERO, stamp);
    }

    /** Returns a record that is nobody's, which others must have watched for this lease before they claim. */
    SeatRecord nobodys(long lastToken, long base, Duration lease, String stamp) {
        var kept = orders.standDown(0).over(0);
        return new SeatRecord(
                Kind.VACANT, "", "", stamp, lastToken, base, lease, Duration.ZERO, null, 0, Map.of(), "", kept);
    }

    /**
     * Returns the record with an operator's will in it. Whose it is, its stamp and its lease stay: it is the same
     * record to who waits.
     */
    SeatRecord ordered(long token, @Nullable Instant since, Orders orders) {
        return new SeatRecord(
                kind,
                candidate,
                nonce,
                stamp,
                isHeld() ? token : this.token,
                base,
                lease,
                grace,
                isHeld() ? since : this.since,
                priority,
                metadata,
                session,
                orders);
    }

    /** Returns a session that so many seats have left. */
    static SeatRecord session(String id, Duration lease, long left, String stamp) {
        return new SeatRecord(
                Kind.HELD, "", id, stamp, left, 0, lease, Duration.ZERO, null, 0, Map.of(), "", Orders.NONE);
    }

    /** Returns the session with the wish that its holder look at this seat; at all of them, if it is to at another. */
    SeatRecord lookingAt(String election, long origin) {
        var other = lookedFor();
        var wish = Map.of(LOOK, other.isEmpty() || other.equals(election) ? election : ALL);
        return new SeatRecord(
                kind,
                candidate,
                nonce,
                stamp,
                token,
                base,
                lease,
                grace,
                since,
                priority,
                wish,
                "",
                orders.over(origin));
    }

    /** Returns whether the holder of this session is to look at this seat already. */
    boolean isLookingAt(String election) {
        return lookedFor().equals(election) || lookedFor().equals(ALL);
    }

    /** Returns which seat the holder of this session is to look at, {@link #ALL} for each; empty for none. */
    String lookedFor() {
        return metadata.getOrDefault(LOOK, "");
    }

    /** Returns a record of something unreadable that keeps others away for so long. */
    SeatRecord keptFor(Duration lease) {
        return new SeatRecord(
                kind, candidate, nonce, stamp, token, base, lease, grace, since, priority, metadata, session, orders);
    }

    /** Returns the same, under which nobody may lead for so long. */
    SeatRecord withGrace(Duration grace) {
        return new SeatRecord(
                kind, candidate, nonce, stamp, token, base, lease, grace, since, priority, metadata, session, orders);
    }

    boolean ended() {
        return orders.ended;
    }

    long era() {
        return orders.era;
    }

    boolean isHeld() {
        return kind == Kind.HELD || kind == Kind.PENDING;
    }

    /** Returns whether it shares the lease of a session. */
    boolean isShared() {
        return isHeld() && !session.isEmpty();
    }

    /** Returns whether it is a record of ours. */
    boolean isReadable() {
        return isHeld() || kind == Kind.VACANT;
    }

    boolean isHeldUnder(String nonce) {
        return kind == Kind.HELD && this.nonce.equals(nonce);
    }

    /** Returns whether it tells nothing of who may have held the seat, or says itself that somebody may have. */
    boolean isUnclear() {
        return switch (kind) {
            case DELETED, FOREIGN -> true;
            case VACANT -> !lease.isZero();
            case HELD, PENDING, EXPIRED, ABSENT, UNKNOWN -> false;
        };
    }

    /** Returns the token of the grant in this record, if it stands at this revision. */
    long tokenAt(long revision) {
        return switch (kind) {
            case HELD, PENDING -> token == 0 ? base + revision : token;
            case VACANT -> token;
            case FOREIGN -> revision;
            case DELETED, EXPIRED, ABSENT, UNKNOWN -> 0;
        };
    }
}
