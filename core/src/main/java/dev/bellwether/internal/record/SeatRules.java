package dev.bellwether.internal.record;

import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.internal.record.SeatRecord.Orders;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ForeignRules;
import java.time.Duration;

/**
 * The decisions on which it rests that nobody leads beside another: each in one place. Immutable. Open only so that a
 * simulation can show what becomes of an election in which one of them is made wrongly.
 */
class SeatRules {
    /*
     * Why a claim is safe. A claim is a write that the store carries out only if the record is still at revision N. We
     * send it when we have known the record at N for as long as its lease lasts, by our own clock, and have just read
     * that it is there still. Its holder wrote N before we knew of it, and counts its deadline from before it wrote. If
     * it had extended its lease since, the record would be past N and our write refused; so it has not, and its
     * deadline is over. No clock of a server comes into it, no time of a message, and not whether what we heard was up
     * to date: to be late in seeing N only makes us wait longer.
     *
     * Anybody who may not read (in Choria's buckets only) creates the key, as Choria's candidates do, and lets the
     * grace of Choria's rules pass: the server refuses while there is anything, and drops what was there at the TTL,
     * which is longer than any lease.
     */
    /*
     * Sessions. A process that holds many seats writes one record, its session, instead of each of them. A seat that
     * names a session is kept as long as the session is, whose record obeys the rules above, but that nobody takes it:
     * anybody who has seen it unchanged for its lease writes over it that it is over, permanently. Only then may a seat
     * that names it be taken, at the revision at which it names it. Why that is safe: the deadline of its holder counts
     * from before the last write of the session that was carried out. Anybody who ended the session saw that write, or
     * a later one, a whole lease before; had there been a further one, the end would have been refused; and after the
     * end there is none. When the seat is taken does not matter then.
     *
     * A seat begins as one of its own and joins a session by a write of its holder, which is sent when the session has
     * been written since the last proof for the seat. So whichever of the two others go by, the seat or the session,
     * the mandate is over in time, also if that write comes late. The session was made, and that was answered, before
     * any seat names it: who finds no such session knows that it was removed, and leaves the seat alone for a lease
     * from there. It cannot come back, since only its first write finds nothing there; should that one be doubled and
     * late, it is a session that nobody prolongs.
     */
    /*
     * Beside others, who hold elections on the same records by rules of their own (client-go's, for one). Let c be the
     * last write of a leader of theirs, L its lease and G its grace: that leader has stopped by c + L + G, or by r + G
     * if it released at r. So there is a time until which none of ours may lead. It counts from when we saw the last
     * record of theirs; anybody who claims before writes PENDING, with what is left of that time, and renews it until
     * then, so that others stay away. Each record of ours says how much was left when it was written, or that it was
     * over. So it does not matter who of us saw the record of theirs: who sees a record of ours counts from there. A
     * record at which ours stands in between tells nothing more than ours did, since it was replaced at its revision.
     *
     * The other way round, they take a record over when they have seen it unchanged for the lease in it, or for their
     * own, by their clock from when they saw it; or, some of them, from the time that is written in it. They saw it
     * after it was sent. So our deadline is over if our lease is not longer than the shortest of theirs, less what wall
     * clocks may differ by.
     *
     * One of theirs that is frozen, and wakes, leads until it looks. No rule of ours helps there.
     */
    static final SeatRules TRUE = new SeatRules();

    /** Anybody who is configured with a longer lease than we were told leads on for less than so many tenths of it. */
    private static final int LONGEST_GRACE_TENTHS = 29;

    /** Who releases says so by a lease of a second at most. */
    private static final Duration RELEASED = Duration.ofSeconds(1);

    /**
     * Returns whether this is the same record as that one, so that anybody who has waited since they saw that one has
     * waited for this one too: the same revision and the same stamp, or an order laid over it. A revision alone does
     * not tell: a store that lost its last writes gives their revisions to others. Neither does a stamp: a doubled
     * write may be carried out again after the record was dropped.
     */
    boolean isSame(StoredRecord found, StoredRecord known) {
        return found.origin() == known.origin()
                && found.record().kind() == known.record().kind()
                && found.record().nonce().equals(known.record().nonce())
                && found.record().stamp().equals(known.record().stamp())
                && found.record().lease().equals(known.record().lease())
                && (!found.record().stamp().isEmpty() || found.isAsOldAs(known));
    }

    /**
     * Returns how long a claim must wait. If the record is still there after that wait, then anybody who held the seat
     * has not extended its lease since we saw it, and that is over.
     *
     * @param nonce of the claim
     * @param longest for how long to watch what does not tell whose lease it ended: the longest lease that is known
     *     here
     */
    long waitNanos(ObservedRecord known, String nonce, Duration longest, long nowNanos) {
        var watched = known.seenNanos() + longest.toNanos();
        var until = known.record().isUnclear() && watched - known.untilNanos() > 0 ? watched : known.untilNanos();
        return Math.max(0, until - nowNanos);
    }

    /**
     * Returns whether a claim must have read the record once more, when it has waited long enough for what was heard of
     * it.
     */
    boolean readsBeforeClaiming() {
        return true;
    }

    /**
     * Returns whether a holder must read its record before it writes over it when the connection is not the one over
     * which it knows it. A store that lost its last writes while it was restarted may have given the revision of our
     * last write to another's: to extend our lease there would be to write over theirs.
     */
    boolean readsAfterABreak() {
        return true;
    }

    /**
     * Returns whether a record that is nobody's must be written and watched before a claim. "Nothing" has no revision:
     * somebody may have come and gone between two looks. So to have seen nothing for a lease is not enough where there
     * was a record, or where the store may drop them.
     */
    boolean mustBeMarked(ObservedRecord known) {
        return known.suspect();
    }

    /**
     * Returns whether a lower revision, in two readings that were sent one after the other, is a fact: the store has
     * lost its last writes. The record is then seen for the first time, anybody who wrote what was lost has lost the
     * seat, and the next token is above all that were seen.
     */
    boolean believesFall() {
        return true;
    }

    /**
     * Returns whether a write of ours, which has just been answered, was written over by what we heard of before that
     * answer. To go back to it would keep us from a seat that has become vacant since, for a whole lease.
     */
    boolean isPast(StoredRecord written, ObservedRecord known) {
        return written.revision() < known.revision();
    }

    /**
     * Returns whether a record under our name is our own: the last write of ours that was carried out, or one whose
     * answer is missing; or an order lies over it. Anything else is a copy of this process, or what a store that lost
     * our later writes has left.
     *
     * @param carriedOut the stamp of the last write that is known to have been carried out
     * @param revision where that was
     * @param unanswered whether a write with the stamp of this record has no answer yet
     */
    boolean isOurs(StoredRecord found, String carriedOut, long revision, boolean unanswered) {
        return found.record().stamp().equals(carriedOut)
                ? found.origin() == revision
                : unanswered && found.origin() > revision;
    }

    /**
     * Returns the record with an order in it, which leaves holder, stamp and lease alone: nobody waits again for it.
     */
    SeatRecord ordered(SeatRecord over, ObservedRecord known, Orders orders, String stamp) {
        return over.ordered(known.token(), known.since(), orders);
    }

    /**
     * Returns whether an order that was tried before concerns this token, or this era, too: it is for one, and never
     * hits the next.
     */
    boolean isFor(long named, long present) {
        return named == present;
    }

    /**
     * Returns until when a seat is left alone that names this session.
     *
     * @param lease what the seat says that its session's is
     */
    long untilNanos(ObservedRecord session, Duration lease) {
        return switch (session.record().kind()) {
            case HELD -> session.untilNanos();
            case VACANT -> session.seenNanos();
            case PENDING, DELETED, EXPIRED, ABSENT, FOREIGN, UNKNOWN -> session.seenNanos() + lease.toNanos();
        };
    }

    /** Returns whether a session that was seen for its lease has to be ended before a seat is taken that names it. */
    boolean isUnsettled(ObservedRecord session, long nowNanos) {
        return session.record().kind() == Kind.HELD && session.untilNanos() - nowNanos <= 0;
    }

    /** Returns whether a session that is over by what is known is so for certain: if that was read, not only heard. */
    boolean isOver(ObservedRecord session, boolean isHinted) {
        return session.record().kind() == Kind.VACANT && !isHinted;
    }

    /**
     * Returns whether a seat may have left its session since it was read: others have, or it. Its session lives on, so
     * anybody who did not hear of it would wait forever.
     */
    boolean mayHaveLeft(long leftWhenRead, long left) {
        return left != leftWhenRead;
    }

    /** Returns whether a session may be prolonged over this record: as long as it is ours, and nobody has ended it. */
    boolean maySustain(boolean isOurs, ObservedRecord session, long nowNanos) {
        return isOurs && session.record().kind() == Kind.HELD && session.untilNanos() - nowNanos > 0;
    }

    /** Returns whether a seat may be vacated: never that of another, who may have it since. */
    boolean mayVacate(boolean isOurs) {
        return isOurs;
    }

    /** Returns the token of a grant that the claimant chose; 0 if it did not, or that would not rise. */
    long chosen(Claim claim, long highestToken) {
        return claim.least() > highestToken ? claim.least() : 0;
    }

    /** Returns what is added to revisions so that a claim over this record has a token above all that are known. */
    long base(SeatRecord over, long highestToken, long reached) {
        return Math.max(over.base(), highestToken - reached);
    }

    /**
     * Returns the same for a record that is nobody's. It tells the highest token, so that anybody who claims over it
     * finds what that takes, beyond where the revisions are by then: where they are times, nothing. Were it to say what
     * it takes from nothing, tokens would double with each loss of all records, and fall at the first that nobody has
     * seen.
     */
    long baseOfMark(SeatRecord over, long highestToken, long reached) {
        return over.base();
    }

    /**
     * Returns for how long nobody may lead after this record was seen, since one may still who goes by the rules of
     * others.
     *
     * @param isFirst whether nothing was ever seen here before
     * @param longest the longest lease that was seen of them here
     */
    Duration grace(SeatRecord record, ForeignRules others, boolean isFirst, Duration longest) {
        return !others.apply()
                ? Duration.ZERO
                : switch (record.kind()) {
                    case HELD -> Duration.ZERO;
                    case PENDING, VACANT -> record.grace();
                    case FOREIGN -> afterForeign(record.lease(), others);
                    case ABSENT -> isFirst ? Duration.ZERO : afterLoss(others, longest);
                    case DELETED, EXPIRED, UNKNOWN -> afterLoss(others, longest);
                };
    }

    /** Returns the same for what tells nothing of who of the others wrote last. */
    final Duration afterLoss(ForeignRules others, Duration longest) {
        return !others.apply()
                ? Duration.ZERO
                : afterForeign(longest.compareTo(others.lease()) > 0 ? longest : others.lease(), others);
    }

    private static Duration afterForeign(Duration lease, ForeignRules others) {
        var ofLonger = lease.compareTo(others.lease()) > 0
                ? lease.multipliedBy(LONGEST_GRACE_TENTHS).dividedBy(10)
                : Duration.ZERO;
        return lease.plus(ofLonger.compareTo(others.grace()) > 0 ? ofLonger : others.grace());
    }

    /** Returns whether the lease of a candidate of ours is over before one of the others may take its record over. */
    boolean mayStand(Duration lease, ForeignRules others) {
        return !others.apply() || lease.compareTo(others.longestLease()) <= 0;
    }

    /** Returns whether one of the others is configured with a shorter lease than we were told. */
    final boolean isShorterThanTold(SeatRecord record, ForeignRules others) {
        return record.kind() == Kind.FOREIGN
                && others.apply()
                && record.lease().compareTo(RELEASED) > 0
                && record.lease().compareTo(others.lease()) < 0;
    }

    /** Returns whether a record may be taken at all. */
    final boolean isKnown(SeatRecord record) {
        return record.kind() != Kind.UNKNOWN;
    }
}
