package dev.bellwether.spi;

import java.time.Duration;
import java.util.Map;

/**
 * One attempt to take a seat.
 *
 * @param nonce names this attempt among all attempts of all processes, so that a lost answer can be told by reading
 *     back
 * @param lease for how long the seat is asked
 * @param patience how long the claimant counts as a candidate if nothing more is heard of it
 * @param era in which the candidate stands, as {@link View#era} told it; {@link #ANY_ERA} if nothing has told it yet
 * @param least the token to grant it with, if that is above all before; else the token only rises. 0 for none; another
 *     only where the backend {@link Backend#setsTokens}
 */
public record Claim(
        String election,
        String candidate,
        String nonce,
        Duration lease,
        Duration patience,
        int priority,
        Map<String, String> metadata,
        long era,
        long least) {

    /** Of a candidate that knows no era yet, and may begin in any. */
    public static final long ANY_ERA = -1;

    /** Makes the claim of a candidate that knows no era yet, and is content with any token that rises. */
    public Claim(
            String election,
            String candidate,
            String nonce,
            Duration lease,
            Duration patience,
            int priority,
            Map<String, String> metadata) {
        this(election, candidate, nonce, lease, patience, priority, metadata, ANY_ERA, 0);
    }

    /** Returns the same of a candidate that shows this to observers. */
    public Claim showing(Map<String, String> metadata) {
        return new Claim(election, candidate, nonce, lease, patience, priority, metadata, era, least);
    }

    /** Returns the token to grant this with, over a seat whose highest one is this. */
    public long tokenAfter(long highest) {
        return Math.max(highest + 1, least);
    }

    /** Returns whether the election was deleted, or opened again, since the candidate began: its claim is void. */
    public boolean isBefore(long presentEra) {
        return era != ANY_ERA && presentEra > era;
    }
}
