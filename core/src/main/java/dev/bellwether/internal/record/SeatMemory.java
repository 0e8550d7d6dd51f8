package dev.bellwether.internal.record;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What one process knows of one seat: what it saw last, the highest token it ever saw, and which records it wrote
 * itself.
 *
 * <p>Confined to whoever holds its lock. Deterministic: time is an argument.
 */
final class SeatMemory {
    /** So many claims are remembered whose answers are missing. */
    private static final int CLAIMS = 32;

    private final String election;
    private final RecordTraits traits;
    private final SeatRules rules;
    private final Map<String, Written> written = new LinkedHashMap<>(); // by nonce
    private @Nullable ObservedRecord observed;
    private long highestToken;
    private long floor; // the store has given revisions up to this one
    private Duration longestLease = Duration.ZERO;
    private Object connection = "";
    private boolean unconfirmed;

    /** What was written here under one nonce. */
    private static final class Written {
        private final Set<String> unanswered = new HashSet<>();
        private String stamp = ""; // of the last write that is known to have been carried out
        private long revision;
    }

    SeatMemory(String election, RecordTraits traits, SeatRules rules) {
        this.election = election;
        this.traits = traits;
        this.rules = rules;
    }

    /** Knows what that one knows: of a copied process. */
    SeatMemory(SeatMemory copied) {
        this(copied.election, copied.traits, copied.rules);
        observed = copied.observed;
        highestToken = copied.highestToken;
        floor = copied.floor;
        longestLease = copied.longestLease;
        copied.written.forEach((nonce, one) -> {
            var own = new Written();
            own.unanswered.addAll(one.unanswered);
            own.stamp = one.stamp;
            own.revision = one.revision;
            written.put(nonce, own);
        });
    }

    String election() {
        return election;
    }

    SeatRules rules() {
        return rules;
    }

    RecordTraits traits() {
        return traits;
    }

    /** Returns what was seen last; that there is nothing, if nothing was. */
    Optional<ObservedRecord> observed() {
        return Optional.ofNullable(observed);
    }

    /** Returns at which revision the seat was seen last. */
    long revision() {
        return observed == null ? 0 : observed.revision();
    }

    // ---------------------------------------------------------------- seeing

    /** What follows goes over this connection. */
    void over(Object connection) {
        unconfirmed |= !connection.equals(this.connection);
        this.connection = connection;
    }

    /** Returns what was seen last, if a holder may rely on it and write over it. */
    Optional<ObservedRecord> confirmed() {
        return unconfirmed && rules.readsAfterABreak() ? Optional.empty() : observed();
    }

    /** What is known has been read over the present connection. */
    void confirm() {
        unconfirmed = false;
    }

    /** Takes note of what was read, or of what was written here. */
    ObservedRecord note(StoredRecord found, long nowNanos) {
        var before = observed;
        observed = before == null
                ? ObservedRecord.first(found, traits.mayVanish(), nowNanos)
                : before.next(
                        found,
                        rules.isSame(found, before.stored()),
                        traits.mayVanish() || before.suspect() || before.revision() > 0,
                        nowNanos);
        highestToken = Math.max(highestToken, observed.token());
        floor = Math.max(floor, found.revision());
        if (found.record().isHeld() && found.record().lease().compareTo(longestLease) > 0) {
            longestLease = found.record().lease();
        }
        return observed;
    }

    /**
     * Takes note of what two readings have found one after the other: less than was there before.
     *
     * @param given up to which revision the store has given any now; 0 if it does not tell
     */
    ObservedRecord noteFall(StoredRecord found, long given, long nowNanos) {
        floor = given;
        return note(found, nowNanos);
    }

    /**
     * Takes note of what was heard, if it is not older than what is known. It is a hint: whoever acts on it reads
     * first.
     */
    void hear(StoredRecord found, long nowNanos) {
        if (observed == null || found.revision() >= observed.revision()) {
            note(found, nowNanos);
        }
    }

    /**
     * Takes note of a record of which only the revision was told, as seen just now though it may have been seen before.
     */
    ObservedRecord guess(StoredRecord found, long nowNanos) {
        var former = observed == null ? found.record() : observed.lastReadable();
        observed = new ObservedRecord(
                found, nowNanos, nowNanos + found.record().lease().toNanos(), false, former);
        highestToken = Math.max(highestToken, observed.token());
        floor = Math.max(floor, found.revision());
        return observed;
    }

    /** Returns how long this claim must leave the seat alone. */
    long waitNanos(ObservedRecord known, Claim claim, long nowNanos) {
        return rules.waitNanos(known, claim.nonce(), riddle(claim.lease()), nowNanos);
    }

    /**
     * Returns for how long to watch what does not tell whose lease it ended: the longest lease that we know of here.
     */
    Duration riddle(Duration lease) {
        return lease.compareTo(longestLease) > 0 ? lease : longestLease;
    }

    /**
     * Returns the base with which a record that is written over this revision has a token above all that were seen
     * here.
     */
    long base(SeatRecord record, long expected) {
        return rules.base(record, highestToken, Math.max(expected, floor));
    }

    long highestToken() {
        return highestToken;
    }

    // ---------------------------------------------------------------- what was written here

    /** A record with this stamp is about to be sent. */
    void sending(String nonce, String stamp) {
        written.computeIfAbsent(nonce, absent -> new Written()).unanswered.add(stamp);
        if (written.size() > CLAIMS) {
            var present = observed == null ? "" : observed.record().nonce();
            written.keySet().stream()
                    .filter(other -> !other.equals(present))
                    .findFirst()
                    .ifPresent(written::remove);
        }
    }

    /** The record with this stamp was carried out at this revision; whatever was sent before it is past. */
    void carriedOut(String nonce, String stamp, long revision) {
        written.keySet().retainAll(Set.of(nonce));
        var one = written.computeIfAbsent(nonce, absent -> new Written());
        one.unanswered.clear();
        one.stamp = stamp;
        one.revision = revision;
    }

    /** The record with this stamp was not carried out. */
    void refused(String nonce, String stamp) {
        var one = written.get(nonce);
        if (one != null) {
            one.unanswered.remove(stamp);
            if (one.unanswered.isEmpty() && one.stamp.isEmpty()) {
                written.remove(nonce);
            }
        }
    }

    /** Nothing under this nonce is of interest any more. */
    void forget(String nonce) {
        written.remove(nonce);
    }

    /** Returns whether anything was written here under this nonce that may stand. */
    boolean wrote(String nonce) {
        return written.containsKey(nonce);
    }

    /** Returns whether somebody here may hold the seat. */
    boolean isInUse() {
        return !written.isEmpty();
    }

    /** Returns whether this record is a write of ours. */
    boolean isOurs(StoredRecord found) {
        var one = written.get(found.record().nonce());
        return one != null
                && !found.record().stamp().isEmpty()
                && rules.isOurs(
                        found,
                        one.stamp,
                        one.revision,
                        one.unanswered.contains(found.record().stamp()));
    }

    // ---------------------------------------------------------------- telling

    /** Returns the seat as core knows it. */
    View view(ObservedRecord known, long nowNanos, long waitNanos) {
        var held = known.isHeld(nowNanos);
        var record = known.record();
        var token = held ? known.token() : Math.max(highestToken, known.token());
        var holder = new View.Holder(record.candidate(), shownNonce(known.stored()), known.since(), record.metadata());
        return View.of(election, token)
                .heldBy(
                        held ? Optional.of(holder) : Optional.empty(),
                        Duration.ofNanos(Math.max(waitNanos, held ? known.untilNanos() - nowNanos : 0)))
                .orderedToStandDown(held && record.orders().standDown() == token)
                .inEra(record.era(), record.ended());
    }

    /** Nobody is to take a seat for theirs that is not to be led yet, or that a copy of theirs holds. */
    private String shownNonce(StoredRecord stored) {
        var nonce = stored.record().nonce();
        return stored.record().kind() == SeatRecord.Kind.PENDING
                ? "pending:" + nonce
                : isOurs(stored) ? nonce : "other:" + nonce;
    }

    /** Returns whether another claim of the same candidacy stands in this record, to be confirmed. */
    boolean isOurPending(StoredRecord stored, Claim claim) {
        return stored.record().kind() == SeatRecord.Kind.PENDING
                && candidacy(stored.record().nonce()).equals(candidacy(claim.nonce()))
                && isOurs(stored);
    }

    /** Returns what the nonces of a candidacy have in common. */
    static String candidacy(String nonce) {
        var dash = nonce.lastIndexOf('-');
        return dash < 0 ? nonce : nonce.substring(0, dash);
    }
}
