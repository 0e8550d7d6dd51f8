package dev.bellwether.nats;

import dev.bellwether.Candidate;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A record as it was seen here, and until when it keeps others away, by our own monotonic clock.
 *
 * @param revision the revision at which the key was seen; 0 if there was none
 * @param highest the highest revision that was ever seen of this key
 * @param written when the record was written, by the server's clock
 * @param seenNanos when this revision was first known here to exist: not before it was sent
 * @param untilNanos when the last lease that was seen of this key runs out, counted from its sighting
 * @param blind whether somebody deleted or overwrote the record without our knowing what it was: he who asks must assume a lease
 *     as long as his own
 * @param former the seat before it was deleted, or this one
 */
record Sighting(
        String election,
        long revision,
        long highest,
        Instant written,
        Seat seat,
        long seenNanos,
        long untilNanos,
        boolean blind,
        Seat former,
        long token) {

    /** Returns what is known after a first look. */
    static Sighting first(String election, long revision, Instant written, Seat seat, long nowNanos) {
        return new Sighting(
                election,
                revision,
                revision,
                written,
                seat,
                nowNanos,
                nowNanos + seat.lease().toNanos(),
                isBlind(seat),
                seat,
                token(seat, revision));
    }

    /** Returns what is known after a further look. */
    Sighting next(long nextRevision, Instant nextWritten, Seat next, long nowNanos) {
        var known = next.isReadable();
        var ofNext = nowNanos + next.lease().toNanos();
        return new Sighting(
                election,
                nextRevision,
                Math.max(highest, nextRevision),
                nextWritten,
                next,
                nowNanos,
                known ? ofNext : later(untilNanos, ofNext),
                isBlind(next) || next.kind() == Seat.Kind.ABSENT,
                known ? next : former,
                Math.max(token, token(next, nextRevision)));
    }

    /**
     * Returns how long a claim must wait. Whatever the record says, if it is still at this revision after that wait, then whoever held
     * the seat has not extended his lease since we saw it, and it is over.
     */
    long waitNanos(long nowNanos, String nonce, Duration lease) {
        if (seat.kind() == Seat.Kind.DELETED && former.isOfCandidacy(nonce) && untilNanos - seenNanos > 0) {
            return 0; // it was his own seat when it was deleted: that he claims again says that his mandate is over
        }
        var until = blind ? later(untilNanos, seenNanos + lease.toNanos()) : untilNanos;
        return Math.max(0, until - nowNanos);
    }

    boolean isHeld(long nowNanos) {
        return (seat.isHeld() || seat.kind() == Seat.Kind.FOREIGN) && untilNanos - nowNanos > 0;
    }

    /** Returns since when the seat is held, by the server's clock; roughly, in the moment before we are told. */
    Instant since() {
        var since = seat.since();
        return since != null ? since : written.equals(Instant.EPOCH) ? Instant.now() : written;
    }

    /** Returns the last thing that we could read, of which an election's era and end are taken. */
    Seat lastReadable() {
        return seat.isReadable() ? seat : former;
    }

    /** Returns whether watchers do something else if they know this than if they know what was before. */
    boolean isNewsAfter(Sighting before) {
        return token != before.token
                || seat.kind() != before.seat.kind()
                || !seat.nonce().equals(before.seat.nonce())
                || !seat.candidate().equals(before.seat.candidate())
                || seat.standDown() != before.seat.standDown()
                || seat.ended() != before.seat.ended()
                || seat.era() != before.seat.era()
                || untilNanos - before.untilNanos < -1_000_000;
    }

    /** Returns the seat as core knows it. */
    View view(long nowNanos, long waitNanos, int topPriority, List<Candidate> candidates) {
        var held = isHeld(nowNanos);
        var nonce = seat.kind() == Seat.Kind.PENDING ? "pending:" + seat.nonce() : seat.nonce();
        return new View(
                election,
                token,
                held
                        ? Optional.of(new View.Holder(seat.candidate(), nonce, since(), seat.metadata()))
                        : Optional.empty(),
                Duration.ofNanos(Math.max(waitNanos, held ? untilNanos - nowNanos : 0)),
                seat.standDown() && held,
                seat.ended(),
                seat.era(),
                topPriority,
                candidates);
    }

    /** Deletion tells nothing of what was deleted, and neither does what we cannot read. */
    private static boolean isBlind(Seat seat) {
        return seat.kind() == Seat.Kind.DELETED || seat.kind() == Seat.Kind.FOREIGN;
    }

    private static long token(Seat seat, long revision) {
        return switch (seat.kind()) {
            case HELD, PENDING -> seat.token() == 0 ? revision : seat.token();
            case VACANT -> seat.token();
            case FOREIGN -> revision;
            case DELETED, EXPIRED, ABSENT -> 0;
        };
    }

    private static long later(long oneNanos, long otherNanos) {
        return oneNanos - otherNanos > 0 ? oneNanos : otherNanos;
    }
}
