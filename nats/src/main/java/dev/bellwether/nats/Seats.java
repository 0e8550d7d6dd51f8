package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import io.nats.client.impl.Headers;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Takes, extends and vacates seats, each by a compare-and-set on the revision of a key. Thread-safe; nothing here waits.
 */
final class Seats {
    /*
     * Why a claim is safe. A claim is a write that the server carries out only if the key is still at revision N. We send it when we have
     * known of N for as long as the lease in record N lasts, by our own clock. The holder wrote N before we knew of it, and counts its
     * deadline from before it wrote. If it had extended its lease since, the key would be past N and our write refused; so it has not, and
     * its deadline is over. No clock of a server comes into it, no time of a message, and not whether what we read was up to date:
     * to be late in seeing N only makes us wait longer.
     *
     * Whatever is not a record of ours (a marker of deletion, a key that vanished, garbage) tells nothing of the lease that was there, and
     * he who finds it waits for as long as his own lease is, from then on.
     *
     * "Outdated" is believed only after reading what is there now: if that is ours, we go on from it (our own write, the answer to which
     * was lost, or an operator's order), and if it is what we knew already, the server contradicts itself, and the answer is unknown.
     */
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(3);
    private static final Duration AFTER_A_RIDDLE = Duration.ofMinutes(1);
    private static final int TRIES = 4;

    private final Wire wire;
    private final Format format;
    private final Sightings sightings;
    private final Bucket bucket;
    private final boolean choria;
    private final String created;
    /** The last claim of each candidacy that was sent and has no definite answer. */
    private final Map<String, CompletableFuture<?>> doubtful = new ConcurrentHashMap<>();

    Seats(Wire wire, Format format, Sightings sightings, Bucket bucket, boolean choria, String created) {
        this.wire = wire;
        this.format = format;
        this.sightings = sightings;
        this.bucket = bucket;
        this.choria = choria;
        this.created = created;
    }

    String key(String election) {
        return choria ? election : Keys.of(election);
    }

    /** Returns how long Choria's rules make a winner wait until it leads. */
    static Duration grace(Duration ttl) {
        return ttl.multipliedBy(3).dividedBy(4).plusMillis(200);
    }

    // ---------------------------------------------------------------- reading

    /** Reads the seat from the leader of the stream. */
    CompletableFuture<Sighting> look(String election, Duration timeout) {
        return wire.read(key(election), timeout).thenCompose(found -> {
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
                .orElseGet(() -> sightings.note(
                        election,
                        0,
                        Instant.EPOCH,
                        bucket.ttl().isZero() ? Seat.ABSENT : Seat.bare(Seat.Kind.EXPIRED, "")));
    }

    /** A revision fell. Either this answer is an old one, or the bucket is another. */
    private CompletableFuture<Sighting> explain(String election, long revision, Sighting known) {
        return wire.overview(key(election), PATIENCE).thenApply(overview -> {
            if (!overview.created().equals(created)) {
                throw begunAnew(election, revision, known.highest());
            }
            throw new UnavailableException(wire + " answered with revision " + revision + " of \"" + election
                    + "\", though " + known.highest() + " was seen before: a server that lags behind");
        });
    }

    private ElectionException begunAnew(String election, long revision, long before) {
        return new ElectionException(
                wire + " is not the bucket that it was: it was deleted and made anew, and revision "
                        + revision + " of \"" + election + "\" is below " + before
                        + ", which was seen before. Tokens would fall. Close all candidacies, and use a bucket of another name");
    }

    // ---------------------------------------------------------------- claiming

    /** Claims, having looked first if what is known may be too old. */
    CompletableFuture<Answer> acquire(Claim claim, boolean lookFirst) {
        var timeout = patience(claim);
        var known = sightings.of(claim.election());
        if (!lookFirst && known.isPresent() && !known.get().seat().ended() && waitNanos(known.get(), claim) > 0) {
            return CompletableFuture.completedFuture(refused(known.get(), claim)); // the watch keeps us up to date
        }
        var looked = lookFirst || known.isEmpty() || known.get().seat().ended()
                ? look(claim.election(), timeout)
                : CompletableFuture.completedFuture(known.get());
        return looked.thenCompose(sighting -> attempt(sighting, claim, TRIES));
    }

    private CompletableFuture<Answer> attempt(Sighting known, Claim claim, int tries) {
        var seat = known.seat();
        if (seat.isHeldUnder(claim.nonce())) {
            return CompletableFuture.completedFuture(new Answer(true, view(known, claim))); // its answer was lost
        }
        if (seat.ended() || waitNanos(known, claim) > 0) {
            return CompletableFuture.completedFuture(refused(known, claim));
        }
        var confirmed = isOurPending(seat, claim) || seat.kind() == Seat.Kind.VACANT;
        var kind = choria && !confirmed ? Seat.Kind.PENDING : Seat.Kind.HELD;
        var next = known.lastReadable().taken(claim, kind);
        var written = write(known, next, patience(claim));
        doubtful.put(candidacy(claim), written);
        return recovering(
                written.thenApply(sighting -> {
                    doubtful.remove(candidacy(claim), written);
                    if (sighting.token() <= known.token()) {
                        throw begunAnew(claim.election(), sighting.token(), known.token());
                    }
                    return new Answer(kind == Seat.Kind.HELD, view(sighting, claim));
                }),
                outdated -> {
                    doubtful.remove(candidacy(claim), written);
                    return lookAgain(known, patience(claim), tries, outdated)
                            .thenCompose(sighting -> attempt(sighting, claim, tries - 1));
                });
    }

    private long waitNanos(Sighting known, Claim claim) {
        var now = System.nanoTime();
        return isOurPending(known.seat(), claim)
                ? known.seenNanos() + grace(bucket.ttl()).toNanos() - now
                : known.waitNanos(now, claim.nonce(), claim.lease());
    }

    private static boolean isOurPending(Seat seat, Claim claim) {
        return seat.kind() == Seat.Kind.PENDING && seat.isOfCandidacy(claim.nonce());
    }

    private Answer refused(Sighting sighting, Claim claim) {
        return new Answer(false, view(sighting, claim));
    }

    private dev.bellwether.spi.View view(Sighting sighting, Claim claim) {
        return sighting.view(System.nanoTime(), Math.max(0, waitNanos(sighting, claim)), Integer.MIN_VALUE, List.of());
    }

    // ---------------------------------------------------------------- holding

    CompletableFuture<Answer> renew(Lease lease) {
        var claim = lease.claim();
        var known = sightings
                .of(claim.election())
                .filter(sighting -> sighting.seat().isHeldUnder(claim.nonce()));
        var looked = known.isPresent()
                ? CompletableFuture.completedFuture(known.get())
                : look(claim.election(), patience(claim));
        return looked.thenCompose(sighting -> extend(sighting, lease, TRIES));
    }

    private CompletableFuture<Answer> extend(Sighting known, Lease lease, int tries) {
        var claim = lease.claim();
        if (!known.seat().isHeldUnder(claim.nonce())
                || known.token() != lease.token()
                || System.nanoTime() - known.untilNanos() >= 0) {
            return CompletableFuture.completedFuture(refused(known, claim));
        }
        var next = known.seat().renewed(known.token(), known.since(), lease.term());
        return recovering(
                write(known, next, patience(claim)).thenApply(sighting -> new Answer(true, view(sighting, claim))),
                outdated -> lookAgain(known, patience(claim), tries, outdated)
                        .thenCompose(sighting -> extend(sighting, lease, tries - 1)));
    }

    // ---------------------------------------------------------------- giving back

    /** Vacates, once a claim of the same candidacy that is under way has been answered: else it would come after. */
    CompletableFuture<Answer> release(Claim claim) {
        var underWay = doubtful.remove(candidacy(claim));
        var known = sightings.of(claim.election());
        if (underWay == null && known.isPresent() && !isOurs(known.get().seat(), claim)) {
            return CompletableFuture.completedFuture(refused(known.get(), claim));
        }
        if (underWay == null && known.isPresent()) {
            return vacate(known.get(), claim, TRIES);
        }
        CompletableFuture<?> answered =
                underWay == null ? CompletableFuture.completedFuture(true) : underWay.handle((done, error) -> true);
        return answered.thenCompose(done -> look(claim.election(), patience(claim)))
                .thenCompose(sighting -> vacate(sighting, claim, TRIES));
    }

    private CompletableFuture<Answer> vacate(Sighting known, Claim claim, int tries) {
        if (!isOurs(known.seat(), claim)) {
            return CompletableFuture.completedFuture(refused(known, claim));
        }
        return recovering(
                write(known, known.seat().vacated(known.token()), patience(claim))
                        .thenApply(sighting -> new Answer(true, view(sighting, claim))),
                outdated -> lookAgain(known, patience(claim), tries, outdated)
                        .thenCompose(sighting -> vacate(sighting, claim, tries - 1)));
    }

    private static boolean isOurs(Seat seat, Claim claim) {
        return seat.isHeldUnder(claim.nonce()) || isOurPending(seat, claim);
    }

    // ---------------------------------------------------------------- orders

    CompletableFuture<Boolean> order(String election, Order order) {
        if (choria && order != Order.STAND_DOWN) {
            return CompletableFuture.failedFuture(new ElectionException(
                    "Choria's elections neither end nor are they forgotten: \"" + election + "\" on " + wire));
        }
        return look(election, PATIENCE).thenCompose(sighting -> carryOut(sighting, order, TRIES));
    }

    private CompletableFuture<Boolean> carryOut(Sighting known, Order order, int tries) {
        var seat = known.seat();
        if (order == Order.STAND_DOWN && !known.isHeld(System.nanoTime())) {
            return CompletableFuture.completedFuture(false);
        }
        CompletableFuture<?> written;
        if (order == Order.STAND_DOWN && seat.kind() == Seat.Kind.FOREIGN) {
            var headers = new Headers();
            headers.put("KV-Operation", "DEL"); // as Choria evicts its leaders
            written = wire.write(key(known.election()), headers, new byte[0], known.revision(), PATIENCE);
        } else {
            // the token is that of the grant, not of the order
            var base = seat.isHeld()
                    ? seat.renewed(known.token(), known.since(), seat.lease())
                    : seat.isReadable() ? seat : riddle(known);
            written = write(
                    known,
                    switch (order) {
                        case STAND_DOWN -> base.ordered(true, base.ended(), base.era(), base.listed());
                        case END -> base.ordered(base.standDown(), true, base.era(), true);
                        case DELETE -> base.ordered(base.standDown(), false, base.era() + 1, false);
                    },
                    PATIENCE);
        }
        return recovering(
                written.thenApply(done -> true),
                outdated -> lookAgain(known, PATIENCE, tries, outdated)
                        .thenCompose(sighting -> carryOut(sighting, order, tries - 1)));
    }

    /** Returns a vacant seat in place of what told nothing; if somebody may have led, it is to be left alone for a while. */
    private static Seat riddle(Sighting known) {
        var vacant = known.former().vacated(known.token());
        return known.blind() ? vacant.renewed(known.token(), null, AFTER_A_RIDDLE) : vacant;
    }

    // ---------------------------------------------------------------- writing

    private CompletableFuture<Sighting> write(Sighting known, Seat next, Duration timeout) {
        var election = known.election();
        return wire.write(key(election), format.headers(next), format.body(next), known.revision(), timeout)
                .thenApply(revision -> sightings.note(election, revision, Instant.EPOCH, next));
    }

    /** Reads what is there in place of what we knew. */
    private CompletableFuture<Sighting> lookAgain(Sighting known, Duration timeout, int tries, Wire.Outdated outdated) {
        return look(known.election(), timeout).thenApply(sighting -> {
            if (sighting.revision() == known.revision() || tries <= 1) {
                throw new UnavailableException(
                        outdated.getMessage() + ", though it is: the server contradicts itself", outdated);
            }
            return sighting;
        });
    }

    private static <T> CompletableFuture<T> recovering(
            CompletableFuture<T> stage, Function<Wire.Outdated, CompletableFuture<T>> recovery) {
        return stage.exceptionallyCompose(error -> {
            var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
            return cause instanceof Wire.Outdated outdated
                    ? recovery.apply(outdated)
                    : CompletableFuture.failedFuture(cause);
        });
    }

    private static Duration patience(Claim claim) {
        var third = claim.lease().dividedBy(3);
        return third.compareTo(LONGEST_WAIT) < 0 ? third : LONGEST_WAIT;
    }

    private static String candidacy(Claim claim) {
        var nonce = claim.nonce();
        var dash = nonce.lastIndexOf('-');
        return dash < 0 ? nonce : nonce.substring(0, dash);
    }
}
