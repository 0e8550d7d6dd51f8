package dev.bellwether.nats;

import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

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
     *
     * He who may not read (in Choria's buckets only) creates the key, as Choria's candidates do, and lets the grace of Choria's rules pass:
     * the server refuses while there is anything, and drops what was there at the TTL, which is longer than any lease.
     */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(3);
    private static final int TRIES = 4;

    private final Register register;
    private final Duration ttl;
    private final boolean choria;
    /** The last claim of each candidacy that was sent and has no definite answer. */
    private final Map<String, CompletableFuture<?>> doubtful = new ConcurrentHashMap<>();

    Seats(Register register, Duration ttl, boolean choria) {
        this.register = register;
        this.ttl = ttl;
        this.choria = choria;
    }

    /** Returns how long Choria's rules make a winner wait until it leads. */
    static Duration grace(Duration ttl) {
        return ttl.multipliedBy(3).dividedBy(4).plusMillis(200);
    }

    // ---------------------------------------------------------------- claiming

    /** Claims, having looked first if what is known may be too old. */
    CompletableFuture<Answer> acquire(Claim claim, boolean lookFirst) {
        var timeout = patience(claim);
        var known = register.known(claim.election());
        if (!lookFirst && known.isPresent() && !known.get().seat().ended() && waitNanos(known.get(), claim) > 0) {
            return CompletableFuture.completedFuture(refused(known.get(), claim)); // the watch keeps us up to date
        }
        var looked = lookFirst || known.isEmpty() || known.get().seat().ended()
                ? register.look(claim.election(), timeout)
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
        var expected = isHidden(known) ? 0 : known.revision();
        var written = register.write(claim.election(), expected, next, patience(claim));
        doubtful.put(candidacy(claim), written);
        return Register.recovering(
                written.thenApply(sighting -> {
                    doubtful.remove(candidacy(claim), written);
                    if (sighting.token() <= known.token()) {
                        throw register.begunAnew(claim.election(), sighting.token(), known.token());
                    }
                    return new Answer(kind == Seat.Kind.HELD, view(sighting, claim));
                }),
                outdated -> {
                    doubtful.remove(candidacy(claim), written);
                    return register.lookAgain(claim.election(), expected, patience(claim), tries, outdated)
                            .thenCompose(sighting -> attempt(sighting, claim, tries - 1));
                });
    }

    private long waitNanos(Sighting known, Claim claim) {
        var now = System.nanoTime();
        if (isOurPending(known.seat(), claim)) {
            return known.seenNanos() + grace(ttl).toNanos() - now;
        }
        if (isHidden(known)) {
            var pause =
                    known.seat().kind() == Seat.Kind.FOREIGN ? register.pause().toNanos() : 0;
            return known.seenNanos() + pause - now;
        }
        return known.waitNanos(now, claim.nonce(), claim.lease());
    }

    /** Returns whether what is there was not written here, and may not be read. */
    private boolean isHidden(Sighting known) {
        return register.isWriteOnly() && !known.seat().isReadable();
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
        var known = register.known(claim.election())
                .filter(sighting -> sighting.seat().isHeldUnder(claim.nonce()));
        var looked = known.isPresent()
                ? CompletableFuture.completedFuture(known.get())
                : register.look(claim.election(), patience(claim));
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
        return Register.recovering(
                register.write(claim.election(), known.revision(), next, patience(claim))
                        .thenApply(sighting -> new Answer(true, view(sighting, claim))),
                outdated -> register.lookAgain(claim.election(), known.revision(), patience(claim), tries, outdated)
                        .thenCompose(sighting -> extend(sighting, lease, tries - 1)));
    }

    // ---------------------------------------------------------------- giving back

    /** Vacates, once a claim of the same candidacy that is under way has been answered: else it would come after. */
    CompletableFuture<Answer> release(Claim claim) {
        var underWay = doubtful.remove(candidacy(claim));
        var known = register.known(claim.election());
        if (underWay == null && known.isPresent() && !isOurs(known.get().seat(), claim)) {
            return CompletableFuture.completedFuture(refused(known.get(), claim));
        }
        if (underWay == null && known.isPresent()) {
            return vacate(known.get(), claim, TRIES);
        }
        CompletableFuture<?> answered =
                underWay == null ? CompletableFuture.completedFuture(true) : underWay.handle((done, error) -> true);
        return answered.thenCompose(done -> register.look(claim.election(), patience(claim)))
                .thenCompose(sighting -> vacate(sighting, claim, TRIES));
    }

    private CompletableFuture<Answer> vacate(Sighting known, Claim claim, int tries) {
        if (!isOurs(known.seat(), claim)) {
            return CompletableFuture.completedFuture(refused(known, claim));
        }
        return Register.recovering(
                register.write(claim.election(), known.revision(), known.seat().vacated(known.token()), patience(claim))
                        .thenApply(sighting -> new Answer(true, view(sighting, claim))),
                outdated -> register.lookAgain(claim.election(), known.revision(), patience(claim), tries, outdated)
                        .thenCompose(sighting -> vacate(sighting, claim, tries - 1)));
    }

    private static boolean isOurs(Seat seat, Claim claim) {
        return seat.isHeldUnder(claim.nonce()) || isOurPending(seat, claim);
    }

    // ---------------------------------------------------------------- small things

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
