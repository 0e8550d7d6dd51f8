package dev.bellwether;

import java.time.Duration;
import java.util.Optional;

/**
 * A snapshot of a candidacy.
 *
 * @param following the leader that we wait for; empty while we lead or nobody does
 * @param followed the leader that we waited for before that
 * @param token the token of the mandate while leading, else of the last one, else 0
 * @param lastCause why the last mandate ended
 * @param sinceProof how old the last proof of leadership is; empty unless leading
 * @param failure what ended the candidacy, or is ending it; empty unless it failed
 */
public record Status(
        Phase phase,
        Optional<String> following,
        Optional<String> followed,
        long token,
        Optional<Cause> lastCause,
        Optional<Duration> sinceProof,
        Optional<ElectionException> failure) {

    /** A snapshot of a candidacy that has not failed. */
    public Status(
            Phase phase,
            Optional<String> following,
            Optional<String> followed,
            long token,
            Optional<Cause> lastCause,
            Optional<Duration> sinceProof) {
        this(phase, following, followed, token, lastCause, sinceProof, Optional.empty());
    }
}
