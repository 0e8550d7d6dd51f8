package dev.bellwether.spi;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What elections run on. There are two kinds: a {@link LeaseStore} keeps one lease per election and is asked; an
 * {@link Arbiter} decides by itself and tells us. Leases can be made of any {@link RecordStore}.
 */
public sealed interface Backend extends AutoCloseable permits LeaseStore, Arbiter {

    /** Returns what kind of infrastructure this is, and where, without secrets: for logs and messages. */
    String describe();

    /**
     * Refuses, with an {@link ElectionException} that says what would be right, a name or settings that this backend
     * cannot honour. By default everything is accepted.
     */
    default void check(String election, CandidacyConfig config) {}

    /**
     * Returns the settings of a candidacy with what its connection sets for all: in a URI, for example. What the
     * candidacy sets itself stays. By default there is nothing.
     */
    default CandidacyConfig completed(CandidacyConfig config) {
        return config;
    }

    /**
     * Returns what an operator should know who wants to hold elections here with these settings: what the
     * infrastructure grants, what is a danger, what voids a promise, and for how long a seat may be vacant. It asks the
     * infrastructure and may wait for it; never call it on the loop. By default there is nothing.
     *
     * @throws dev.bellwether.UnavailableException if the infrastructure does not answer
     */
    default List<Finding> findings(CandidacyConfig config) {
        return List.of();
    }

    /**
     * Returns how old, at most, the proof is by which a leader with these settings leads when the next proof arrives,
     * as long as all goes well. May wait for an answer of the infrastructure. By default it is the renew interval: a
     * proof arrives as soon as it is asked for.
     */
    default Duration renewal(CandidacyConfig config) {
        return config.renewInterval();
    }

    /**
     * Returns how long after the end of an outage the next proof arrives, at most and besides a round trip, if requests
     * fail at once while it lasts. What this and {@link #renewal} leave of a mandate is how long such an outage may be
     * that changes nothing. May wait for an answer of the infrastructure. By default it is the longest retry interval.
     */
    default Duration recovery(CandidacyConfig config) {
        return Finding.Term.retry(config).length();
    }

    /**
     * Returns whether a seat can be granted with a token that the claimant names, as far as it is above all before, and
     * all tokens after it are higher. Where tokens are what the infrastructure counts, they cannot: the default.
     */
    default boolean setsTokens() {
        return false;
    }

    /**
     * Returns why a seat cannot be handed over to a candidate by name here, and what to do instead; empty if it can. By
     * default it cannot.
     */
    default Optional<String> handOverObjection() {
        return Optional.of("this backend decides by itself who is next");
    }

    /**
     * Returns why a candidate cannot change its metadata while it stands, and what to do instead; empty if it can. By
     * default it cannot.
     */
    default Optional<String> proclaimObjection() {
        return Optional.of("metadata is written once here, when a candidate comes");
    }

    /** Returns whether those who stand by are listed, so that one who is not listed does not stand. */
    default boolean listsCandidates() {
        return true;
    }

    /** Returns what carries rosters here; by default nothing does. */
    default Optional<RosterCarrier> rosters() {
        return Optional.empty();
    }

    /** Lets go of what the backend holds; of a client that the user passed in, nothing. Idempotent. */
    @Override
    void close();
}
