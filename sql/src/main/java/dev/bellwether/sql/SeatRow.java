package dev.bellwether.sql;

import dev.bellwether.Candidate;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The row of an election, as the database saw it. Times are in microseconds.
 *
 * @param candidate who holds the seat; null if it was vacated or never held
 * @param remaining how much of the lease is left; zero or less if it has run out
 * @param term how long the lease was when it was granted or extended
 * @param listed whether it was claimed since it was last deleted
 * @param note what was laid over the seat; empty for nothing
 * @param topPriority the highest priority among those who stand; the least integer if nobody does
 */
record SeatRow(
        String election,
        long token,
        @Nullable String candidate,
        @Nullable String nonce,
        int priority,
        String metadata,
        long since,
        long remaining,
        long term,
        boolean standDown,
        boolean ended,
        long era,
        boolean listed,
        int topPriority,
        String note) {

    /** No lease is longer: a row that says so was not written by us, and tells nothing about how long the lease is. */
    private static final long LONGEST_TERM = TimeUnit.DAYS.toMicros(36_500);

    /** Bounds what would be too large a number to reckon with. */
    SeatRow {
        term = term < 0 || term > LONGEST_TERM ? LONGEST_TERM : term;
    }

    static SeatRow unheld(String election) {
        return new SeatRow(election, 0, null, null, 0, "", 0, 0, 0, false, false, 0, false, Integer.MIN_VALUE, "");
    }

    boolean isHeld() {
        return nonce != null && remaining > 0;
    }

    boolean isHeldUnder(String other) {
        return isHeld() && other.equals(nonce);
    }

    /**
     * Whether the database's clock was set back since the lease was given: it would last longer than was ever promised.
     */
    boolean outlastsItsTerm() {
        return isHeld() && remaining > term;
    }

    /**
     * Returns how long to wait for this lease: never longer than it was given for, whatever the database's clock did
     * meanwhile, except for the little that a standby is made to wait for the others.
     */
    long waitMicros() {
        return isHeld() ? Math.min(remaining, term + WatchRegistry.LATEST_MICROS) : 0;
    }

    SeatRow withRemaining(long micros) {
        return copy(metadata, micros, term, note);
    }

    /** Returns the row as it is when the holder has let go of it. */
    SeatRow vacated(int top, String note) {
        return new SeatRow(election, token, null, null, 0, "", since, 0, term, false, ended, era, listed, top, note);
    }

    SeatRow withNote(String note) {
        return copy(metadata, remaining, term, note);
    }

    SeatRow withMetadata(String metadata) {
        return copy(metadata, remaining, term, note);
    }

    SeatRow withTop(int top) {
        return copy(metadata, remaining, term, note, top);
    }

    /** Returns the row with its lease given again. */
    SeatRow extendedBy(long micros) {
        return copy(metadata, micros, micros, note);
    }

    /** Returns the row with what changes while one holds the seat. */
    private SeatRow copy(String metadata, long remaining, long term, String note) {
        return copy(metadata, remaining, term, note, topPriority);
    }

    private SeatRow copy(String metadata, long remaining, long term, String note, int top) {
        return new SeatRow(
                election, token, candidate, nonce, priority, metadata, since, remaining, term, standDown, ended, era,
                listed, top, note);
    }

    View view() {
        return view(List.of());
    }

    View view(List<Candidate> candidates) {
        var held = isHeld();
        return View.of(election, token)
                .heldBy(held ? Optional.of(holder()) : Optional.empty(), Duration.of(waitMicros(), ChronoUnit.MICROS))
                .orderedToStandDown(held && standDown)
                .inEra(era, ended)
                .among(topPriority, candidates)
                .noted(note);
    }

    /** Returns who holds the seat. A row that somebody else has written may not say. */
    String holderName() {
        return candidate == null || candidate.isEmpty() ? "?" : candidate;
    }

    private View.Holder holder() {
        return new View.Holder(
                holderName(),
                Objects.requireNonNull(nonce),
                Instant.EPOCH.plus(since, ChronoUnit.MICROS),
                Metadata.decode(metadata));
    }
}
