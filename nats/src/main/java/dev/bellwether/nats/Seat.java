package dev.bellwether.nats;

import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a record says.
 *
 * @param nonce the nonce of the claim that was granted; empty if nobody holds the seat
 * @param token the token of that grant; 0 if the record is itself the grant, so that its revision is the token. Of a vacant seat,
 *     the last token
 * @param lease for how long the seat is held from the writing of this record
 * @param since when it was granted, by the server's clock; null in the record that granted it
 * @param listed whether it was claimed since it was last deleted
 */
record Seat(
        Kind kind,
        String candidate,
        String nonce,
        long token,
        Duration lease,
        @Nullable Instant since,
        int priority,
        Map<String, String> metadata,
        boolean standDown,
        boolean ended,
        long era,
        boolean listed) {

    /** What kind of record. */
    enum Kind {
        /** Somebody holds the seat. */
        HELD,
        /** As {@link #HELD}, but not to lead before the grace of Choria's rules is over. */
        PENDING,
        /** Nobody holds it, and the last who did has let go of it. */
        VACANT,
        /** Somebody deleted the key, who was not one of us. */
        DELETED,
        /** The server dropped the key, its time being over. */
        EXPIRED,
        /** There is no record. */
        ABSENT,
        /** Something that is not a record of ours. */
        FOREIGN
    }

    static final Seat ABSENT = bare(Kind.ABSENT, "");

    /** Returns a seat of which nothing is known but this. */
    static Seat bare(Kind kind, String candidate) {
        return new Seat(
                kind, candidate, "", 0, Duration.ZERO, null, 0, Map.of(), false, false, 0, kind == Kind.FOREIGN);
    }

    /** Returns the seat as held under this claim. */
    Seat taken(Claim claim, Kind kind) {
        return new Seat(
                kind,
                claim.candidate(),
                claim.nonce(),
                0,
                claim.lease(),
                null,
                claim.priority(),
                claim.metadata(),
                false,
                false,
                era,
                true);
    }

    /** Returns the seat with its lease running anew. */
    Seat renewed(long token, @Nullable Instant since, Duration lease) {
        return new Seat(kind, candidate, nonce, token, lease, since, priority, metadata, standDown, ended, era, listed);
    }

    /** Returns the seat given up. */
    Seat vacated(long lastToken) {
        return new Seat(Kind.VACANT, "", "", lastToken, Duration.ZERO, null, 0, Map.of(), false, ended, era, listed);
    }

    /** Returns the seat with an operator's will in it. */
    Seat ordered(boolean standDown, boolean ended, long era, boolean listed) {
        return new Seat(kind, candidate, nonce, token, lease, since, priority, metadata, standDown, ended, era, listed);
    }

    boolean isHeld() {
        return kind == Kind.HELD || kind == Kind.PENDING;
    }

    /** Returns whether it is a record of ours. */
    boolean isReadable() {
        return isHeld() || kind == Kind.VACANT;
    }

    boolean isHeldUnder(String nonce) {
        return kind == Kind.HELD && this.nonce.equals(nonce);
    }

    /** Returns whether another claim of the same candidacy stands in it. */
    boolean isOfCandidacy(String nonce) {
        return !this.nonce.isEmpty() && candidacy(this.nonce).equals(candidacy(nonce));
    }

    private static String candidacy(String nonce) {
        var dash = nonce.lastIndexOf('-');
        return dash < 0 ? nonce : nonce.substring(0, dash);
    }
}
