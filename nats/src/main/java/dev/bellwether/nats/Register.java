package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * Reads and writes the records of seats, and keeps what was seen of them. Thread-safe; nothing here waits.
 *
 * <p>It may be <em>write-only</em>: Choria's brokers let those who only stand in elections write keys, and not read them. Then it learns
 * of what others wrote only at which revision it is, from the refusal of a write.
 */
final class Register {
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final int TRIES = 3;

    private final Wire wire;
    private final Format format;
    private final Sightings sightings;
    private final Duration ttl;
    private final boolean choria;
    private final boolean writeOnly;
    private final String created;

    Register(Wire wire, NatsConfig config, Bucket bucket, Sightings sightings, boolean writeOnly) {
        this.wire = wire;
        this.sightings = sightings;
        this.writeOnly = writeOnly;
        choria = config.choria();
        ttl = bucket.ttl();
        created = bucket.created();
        format = new Format(choria, ttl);
    }

    String key(String election) {
        return choria ? election : Keys.of(election);
    }

    /** Returns whether we may write, but not read. */
    boolean isWriteOnly() {
        return writeOnly;
    }

    /** Returns what a write-only one cannot do, and why. */
    String cannotRead() {
        return wire + " may not read who leads: grant the right to publish to " + wire.rightToRead();
    }

    /** Returns how long a write-only one leaves a key alone that is somebody else's. */
    Duration pause() {
        return ttl.dividedBy(4);
    }

    Optional<Sighting> known(String election) {
        return sightings.of(election);
    }

    /** Reads the seat for somebody who only wants to know. */
    CompletableFuture<Sighting> read(String election) {
        return writeOnly && known(election).isEmpty()
                ? CompletableFuture.failedFuture(new UnavailableException("\"" + election + "\": " + cannotRead()))
                : look(election, PATIENCE);
    }

    /** Reads the seat from the leader of the stream. */
    CompletableFuture<Sighting> look(String election, Duration timeout) {
        return look(election, timeout, TRIES);
    }

    private CompletableFuture<Sighting> look(String election, Duration timeout, int tries) {
        if (writeOnly) {
            return CompletableFuture.completedFuture(known(election)
                    .orElseGet(() -> Sighting.first(election, 0, Instant.EPOCH, nothing(), System.nanoTime())));
        }
        var before = known(election);
        return wire.read(key(election), timeout).thenCompose(found -> {
            var meanwhile = known(election);
            if (found.isEmpty() && !meanwhile.equals(before) && meanwhile.isPresent() && tries > 1) {
                return look(
                        election, timeout, tries - 1); // "nothing" has no revision: it may be from before what we know
            }
            var sighting = note(election, found);
            if (found.isPresent() && found.get().revision() < sighting.highest()) {
                return explain(election, found.get().revision(), sighting);
            }
            return CompletableFuture.completedFuture(sighting);
        });
    }

    /** Takes note of what was read, or heard. */
    Sighting note(String election, Optional<Found> found) {
        return found.map(one -> sightings.note(election, one.revision(), one.time(), format.seat(one)))
                .orElseGet(() -> sightings.note(election, 0, Instant.EPOCH, nothing()));
    }

    /** Returns what it means that there is no record. */
    private Seat nothing() {
        return ttl.isZero() ? Seat.ABSENT : Seat.bare(Seat.Kind.EXPIRED, "");
    }

    /** A revision fell. Either this answer is an old one, and what we know is newer, or the bucket is another. */
    private CompletableFuture<Sighting> explain(String election, long revision, Sighting known) {
        return wire.overview(key(election), PATIENCE).thenApply(overview -> {
            if (!overview.created().equals(created)) {
                throw begunAnew(election, revision, known.highest());
            }
            return known;
        });
    }

    ElectionException begunAnew(String election, long revision, long before) {
        return new ElectionException(
                wire + " is not the bucket that it was: it was deleted and made anew, and revision "
                        + revision + " of \"" + election + "\" is below " + before
                        + ", which was seen before. Tokens would fall. Close all candidacies, and use a bucket of another name");
    }

    // ---------------------------------------------------------------- writing

    /** Writes the record if the key is at this revision. */
    CompletableFuture<Sighting> write(String election, long expected, Seat next, Duration timeout) {
        return wire.write(key(election), format.headers(next), format.body(next), expected, timeout)
                .thenApply(revision -> sightings.note(election, revision, Instant.EPOCH, next));
    }

    /** Reads what is there in place of what we expected. */
    CompletableFuture<Sighting> lookAgain(
            String election, long expected, Duration timeout, int tries, Wire.Outdated outdated) {
        var looked = writeOnly ? CompletableFuture.completedFuture(guess(election, outdated)) : look(election, timeout);
        return looked.thenApply(sighting -> {
            if (sighting.revision() == expected || tries <= 1) {
                throw new UnavailableException(
                        outdated.getMessage() + ", though it is: the server contradicts itself", outdated);
            }
            return sighting;
        });
    }

    /** What a refusal tells: that somebody wrote, or nobody did, and no more. */
    private Sighting guess(String election, Wire.Outdated outdated) {
        if (outdated.revision() < 0) {
            throw new UnavailableException(outdated.getMessage() + ", and " + cannotRead(), outdated);
        }
        return outdated.revision() == 0
                ? note(election, Optional.empty())
                : sightings.guess(
                        election,
                        outdated.revision(),
                        Seat.bare(Seat.Kind.FOREIGN, "?").renewed(0, null, pause()));
    }

    static <T> CompletableFuture<T> recovering(
            CompletableFuture<T> stage, Function<Wire.Outdated, CompletableFuture<T>> recovery) {
        return stage.exceptionallyCompose(error -> {
            var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
            return cause instanceof Wire.Outdated outdated
                    ? recovery.apply(outdated)
                    : CompletableFuture.failedFuture(cause);
        });
    }
}
