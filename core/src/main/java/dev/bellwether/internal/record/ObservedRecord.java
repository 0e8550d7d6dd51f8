package dev.bellwether.internal.record;

import java.time.Instant;

/**
 * A record as it was seen here, and until when it keeps others away, by our own monotonic clock. Immutable.
 *
 * @param seenNanos when this record was first known here to exist: not before that
 * @param untilNanos when the last lease that was seen of this seat runs out, counted from its sighting
 * @param suspect whether there is no record where there was one, or where the store may drop them: that tells nothing,
 *     and cannot be watched
 * @param former the last record that could be read: this one, or the one before
 */
record ObservedRecord(StoredRecord stored, long seenNanos, long untilNanos, boolean suspect, SeatRecord former) {

    /** Returns what is known after a first look. */
    static ObservedRecord first(StoredRecord found, boolean suspect, long nowNanos) {
        return new ObservedRecord(
                found,
                nowNanos,
                nowNanos + found.record().lease().toNanos(),
                suspect && found.revision() == 0,
                found.record());
    }

    /** Returns what is known after a further look. */
    ObservedRecord next(StoredRecord found, boolean isSame, boolean suspect, long nowNanos) {
        if (isSame) {
            return again(found);
        }
        var next = found.record();
        var until = nowNanos + next.lease().toNanos();
        return new ObservedRecord(
                found,
                nowNanos,
                next.isReadable() ? until : later(untilNanos, until),
                suspect && found.revision() == 0,
                next.isReadable() ? next : former);
    }

    /** It is the record that we knew; an order may lie over it now, or we may now know when it was written. */
    private ObservedRecord again(StoredRecord found) {
        var dated = found.written().equals(Instant.EPOCH)
                ? new StoredRecord(found.revision(), stored.written(), found.record())
                : found;
        return new ObservedRecord(
                dated, seenNanos, untilNanos, suspect, found.record().isReadable() ? found.record() : former);
    }

    SeatRecord record() {
        return stored.record();
    }

    long revision() {
        return stored.revision();
    }

    long token() {
        return record().tokenAt(stored.revision());
    }

    /** Returns since when the seat is held, by the store's clock; roughly, in the moment before we are told. */
    Instant since() {
        var since = record().since();
        return since != null ? since : isDated() ? stored.written() : Instant.now();
    }

    /** Returns whether it is known since when the seat is held. */
    boolean isDated() {
        return record().since() != null || !stored.written().equals(Instant.EPOCH);
    }

    /** Returns the last thing that we could read, of which an election's era and end are taken. */
    SeatRecord lastReadable() {
        return record().isReadable() ? record() : former;
    }

    /** Returns whether watchers do something else if they know this than if they know what was before. */
    boolean isNewsAfter(ObservedRecord before) {
        return token() != before.token()
                || record().kind() != before.record().kind()
                || !record().nonce().equals(before.record().nonce())
                || !record().candidate().equals(before.record().candidate())
                || record().orders().standDown() != before.record().orders().standDown()
                || record().ended() != before.record().ended()
                || record().era() != before.record().era()
                || !record().session().equals(before.record().session())
                || !record().orders().note().equals(before.record().orders().note())
                || !record().metadata().equals(before.record().metadata())
                || untilNanos - before.untilNanos < -1_000_000;
    }

    private static long later(long oneNanos, long otherNanos) {
        return oneNanos - otherNanos > 0 ? oneNanos : otherNanos;
    }
}
