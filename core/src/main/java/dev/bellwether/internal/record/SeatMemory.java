package dev.bellwether.internal.record;

import dev.bellwether.spi.Claim;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What one process knows of one seat: what it saw last, the highest token it ever saw, and which records it wrote
 * itself.
 *
 * <p>Confined to anybody who holds its lock. Deterministic: time is an argument.
 */
final class SeatMemory {
    /** So many claims are remembered whose answers are missing. */
    private static final int CLAIMS = 32;

    private final String election;
    private final RecordTraits traits;
    private final SeatRules rules;
    private final String scope;
    private final Function<String, Optional<SeenSession>> sessions;
    private final Map<String, Written> written = new LinkedHashMap<>(); // by nonce
    private @Nullable ObservedRecord observed;
    private long highestToken;
    private long floor; // the store has given revisions up to this one
    private Duration longestLease = Duration.ZERO;
    private Duration longestForeign = Duration.ZERO;
    private long graceUntilNanos; // nobody may lead before, if there are others
    private Object connection = "";
    private boolean unconfirmed;
    private long confirmedRevision; // what was read last
    private long readRevision; // what was read, or written here, last
    private long heardRevision; // the highest of which was only heard
    private long leftWhenRead = -1; // how many seats had left the session that the seat named then
    private boolean wanted;

    /**
     * What is known of a session.
     *
     * @param isHinted whether that was only heard
     */
    record SeenSession(ObservedRecord record, boolean isHinted) {}

    /** What was written here under one nonce. */
    private static final class Written {
        private final Map<String, Long> unanswered = new HashMap<>(); // by stamp, over which revision
        private String stamp = ""; // of the last write that is known to have been carried out
        private long revision;

        /** Returns whether none of it can stand any more that this was written over. */
        private boolean isPast(long over) {
            return unanswered.isEmpty() && revision < over;
        }
    }

    SeatMemory(String election, RecordTraits traits, SeatRules rules) {
        this(election, traits, rules, "prefix", session -> Optional.empty());
    }

    /**
     * Knows nothing yet.
     *
     * @param scope what keeps the records apart from others, in the store's word
     * @param sessions what is known of the sessions that the seat may name; one that is asked for has been named, and
     *     so was made before
     */
    SeatMemory(
            String election,
            RecordTraits traits,
            SeatRules rules,
            String scope,
            Function<String, Optional<SeenSession>> sessions) {
        this.election = election;
        this.traits = traits;
        this.rules = rules;
        this.scope = scope;
        this.sessions = sessions;
    }

    /** Knows what that one knows: of a copied process. */
    SeatMemory(SeatMemory copied) {
        this(copied.election, copied.traits, copied.rules, copied.scope, copied.sessions);
        observed = copied.observed;
        highestToken = copied.highestToken;
        floor = copied.floor;
        longestLease = copied.longestLease;
        longestForeign = copied.longestForeign;
        graceUntilNanos = copied.graceUntilNanos;
        copied.written.forEach((nonce, one) -> {
            var own = new Written();
            own.unanswered.putAll(one.unanswered);
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

    String scope() {
        return scope;
    }

    RecordTraits traits() {
        return traits;
    }

    /** Returns what was seen last; that there is nothing, if nothing was. */
    Optional<ObservedRecord> observed() {
        return Optional.ofNullable(observed);
    }

    /** Returns the same, for the seats that name this session. */
    Optional<SeenSession> seen() {
        return observed().map(record -> new SeenSession(record, isHinted()));
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
        wanted = false;
        readRevision = revision();
        heardRevision = revision();
        confirmedRevision = revision();
        leftWhenRead = observed().map(this::left).orElse(-1L);
        observed().ifPresent(known -> forgetPast(known.stored()));
    }

    /** What was to be written over an older record than was read is past, unless it is what was read. */
    private void forgetPast(StoredRecord found) {
        var standing = isOurs(found) ? found.record() : SeatRecord.ABSENT;
        for (var one : written.values()) {
            one.unanswered
                    .entrySet()
                    .removeIf(each ->
                            each.getValue() < found.revision() && !each.getKey().equals(standing.stamp()));
        }
        written.entrySet()
                .removeIf(each -> each.getValue().isPast(found.revision())
                        && !each.getKey().equals(standing.nonce()));
    }

    private long left(ObservedRecord known) {
        return known.record().isShared()
                ? sessions.apply(known.record().session())
                        .map(session -> session.record.record().token())
                        .orElse(-1L)
                : -1;
    }

    /**
     * Returns whether the seat may have left the session that it named when it was read, which we may not have heard.
     */
    boolean mayHaveLeft(ObservedRecord known) {
        return rules.mayHaveLeft(leftWhenRead, left(known));
    }

    /**
     * Takes note of what was written here, and returns it. Anybody may have written over it since: if we heard of that
     * before the answer, that is what we know.
     */
    ObservedRecord noteWrite(StoredRecord written, long nowNanos) {
        readRevision = written.revision();
        if (observed == null || !rules.isPast(written, observed)) {
            return note(written, nowNanos);
        }
        var past = ObservedRecord.first(written, false, nowNanos);
        highestToken = Math.max(highestToken, past.token());
        return past;
    }

    /** Something may be written there that is not known here. */
    void hint() {
        wanted = true;
    }

    /** Returns whether what is known was only heard, or there may be more: anybody who acts on it has to read it. */
    boolean isHinted() {
        return wanted || heardRevision > readRevision;
    }

    /** Takes note of what was read. */
    ObservedRecord note(StoredRecord found, long nowNanos) {
        var before = observed;
        var isSame = before != null && rules.isSame(found, before.stored());
        observed = before == null
                ? ObservedRecord.first(found, traits.mayVanish(), nowNanos)
                : before.next(found, isSame, traits.mayVanish() || before.suspect() || before.revision() > 0, nowNanos);
        if (!isSame) {
            noteGrace(found, before == null, nowNanos);
        }
        highestToken = Math.max(highestToken, observed.token());
        floor = Math.max(floor, found.revision());
        if (found.record().isHeld() && found.record().lease().compareTo(longestLease) > 0) {
            longestLease = found.record().lease();
        }
        return observed;
    }

    private void noteGrace(StoredRecord found, boolean isFirst, long nowNanos) {
        var record = found.record();
        if (record.kind() == SeatRecord.Kind.FOREIGN && record.lease().compareTo(longestForeign) > 0) {
            longestForeign = record.lease();
        }
        var continued = record.kind() == SeatRecord.Kind.PENDING && isOurs(found);
        if (isFirst || !continued) { // what we wrote ourselves was written over what we count from
            graceUntilNanos = nowNanos
                    + rules.grace(record, traits.others(), isFirst, longestForeign)
                            .toNanos();
        }
    }

    /** Returns for how long nobody may lead yet, because one may still who goes by the rules of others. */
    Duration grace(long nowNanos) {
        return traits.others().apply() ? Duration.ofNanos(Math.max(0, graceUntilNanos - nowNanos)) : Duration.ZERO;
    }

    /** Returns how long to wait until our own claim that is to be confirmed can be, or has to be written again. */
    long pendingNanos(ObservedRecord known, long nowNanos) {
        if (!traits.others().apply()) {
            return Math.max(0, known.seenNanos() + traits.grace().toNanos() - nowNanos);
        }
        var renewal = known.seenNanos() + known.record().lease().toNanos() / 3 - nowNanos;
        return Math.max(0, Math.min(grace(nowNanos).toNanos(), renewal));
    }

    /**
     * Takes note of what two readings have found one after the other: less than was there before.
     *
     * @param given up to which revision the store has given any now; 0 if it does not tell
     */
    ObservedRecord noteFall(StoredRecord found, long given, long nowNanos) {
        floor = given;
        var noted = note(found, nowNanos);
        graceUntilNanos =
                nowNanos + rules.afterLoss(traits.others(), longestForeign).toNanos();
        return noted;
    }

    /**
     * Takes note of what was heard, if it is not older than what is known. It is a hint: anybody who acts on it reads
     * first.
     */
    void hear(StoredRecord found, long nowNanos) {
        if (observed == null || found.revision() >= observed.revision()) {
            heardRevision = Math.max(heardRevision, found.revision());
            note(found, nowNanos);
        }
    }

    /**
     * Takes note of a record of which only the revision was told, as seen at the moment though it may have been seen
     * before.
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
        return known.record().isShared()
                ? Math.max(0, untilNanos(known, nowNanos) - nowNanos)
                : rules.waitNanos(
                        known, claim.nonce(), isOfOthers(known) ? Duration.ZERO : watchedFor(claim.lease()), nowNanos);
    }

    /**
     * Returns until when a record keeps others away: the last lease that was seen of it, or of the session that it
     * names.
     */
    long untilNanos(ObservedRecord known, long nowNanos) {
        if (!known.record().isShared()) {
            return known.untilNanos();
        }
        var lease = known.record().lease();
        return sessions.apply(known.record().session())
                .map(session -> rules.untilNanos(session.record, lease))
                .orElse(nowNanos + lease.toNanos());
    }

    /** Returns whether somebody holds the seat, as far as is known here. */
    boolean isHeld(ObservedRecord known, long nowNanos) {
        return (known.record().isHeld() || isHeldByOthers(known.record()))
                && untilNanos(known, nowNanos) - nowNanos > 0;
    }

    /** Returns whether it is a record of others that says itself for how long it keeps us away. */
    private boolean isOfOthers(ObservedRecord known) {
        return traits.others().apply() && known.record().kind() == SeatRecord.Kind.FOREIGN;
    }

    private boolean isHeldByOthers(SeatRecord record) {
        return record.kind() == SeatRecord.Kind.FOREIGN
                && !(traits.others().apply() && record.lease().isZero());
    }

    /** Returns whether the session that this seat names is over, for certain. */
    boolean isSessionOver(SeatRecord seat) {
        return sessions.apply(seat.session())
                .filter(session -> rules.isOver(session.record, session.isHinted))
                .isPresent();
    }

    /**
     * Returns whether the session that the seat names has to be looked at before anybody can say who holds the seat.
     */
    boolean isUnsettled(ObservedRecord known, long nowNanos) {
        return known.record().isShared()
                && sessions.apply(known.record().session())
                        .map(session -> rules.isUnsettled(session.record, nowNanos))
                        .orElse(true);
    }

    /**
     * Returns for how long to watch what does not tell whose lease it ended: the longest lease that we know of here.
     */
    Duration watchedFor(Duration lease) {
        return lease.compareTo(longestLease) > 0 ? lease : longestLease;
    }

    /**
     * Returns the base with which a record that is written over this revision has a token above all that were seen
     * here.
     */
    long base(SeatRecord record, long expected) {
        return rules.base(record, highestToken, Math.max(expected, floor));
    }

    /** Returns the same for a record that is nobody's. */
    long baseOfMark(SeatRecord record, long expected) {
        return rules.baseOfMark(record, highestToken, Math.max(expected, floor));
    }

    /** Returns the token that the claimant chose, if it is above all that were seen here; else 0. */
    long chosen(Claim claim) {
        return rules.chosen(claim, highestToken);
    }

    long highestToken() {
        return highestToken;
    }

    // ---------------------------------------------------------------- what was written here

    /** A record with this stamp is about to be sent, to be written over this revision. */
    void sending(String nonce, String stamp, long over) {
        written.computeIfAbsent(nonce, absent -> new Written()).unanswered.put(stamp, over);
        if (written.size() > CLAIMS) {
            var present = observed == null ? "" : observed.record().nonce();
            written.keySet().stream()
                    .filter(other -> !other.equals(present))
                    .findFirst()
                    .ifPresent(written::remove);
        }
    }

    /**
     * The record with this stamp was carried out at this revision. What was to be written over an older one is past; a
     * later write may be under way, if this answer comes late.
     */
    void carriedOut(String nonce, String stamp, long revision) {
        if (revision < confirmedRevision && !written.containsKey(nonce)) {
            return; // what was read since has shown that it was written over
        }
        var one = written.computeIfAbsent(nonce, absent -> new Written());
        if (revision > one.revision) {
            one.stamp = stamp;
            one.revision = revision;
        }
        written.values().forEach(each -> each.unanswered.values().removeIf(over -> over < revision));
        written.values().removeIf(each -> !each.equals(one) && each.isPast(revision));
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

    /**
     * Returns whether a write of ours has no answer that may be carried out over this revision, or was: it may take the
     * seat out of its session, which nobody would notice who does not write.
     */
    boolean mayBeOverwritten(String nonce, long revision) {
        var one = written.get(nonce);
        return one != null && one.unanswered.values().stream().anyMatch(over -> over >= revision);
    }

    /** Returns whether a write of this candidacy has no answer that may be carried out over this revision, or was. */
    boolean mayBeTaken(String candidacy, long revision) {
        return written.keySet().stream()
                .anyMatch(nonce -> candidacy(nonce).equals(candidacy) && mayBeOverwritten(nonce, revision));
    }

    /** Returns whether anything was written here for this candidacy that may stand. */
    boolean wrote(String candidacy) {
        return written.keySet().stream().anyMatch(nonce -> candidacy(nonce).equals(candidacy));
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
                        one.unanswered.containsKey(found.record().stamp()));
    }

    // ---------------------------------------------------------------- telling

    /** Returns the seat as core knows it. */
    View view(ObservedRecord known, long nowNanos, long waitNanos) {
        var held = isHeld(known, nowNanos);
        var record = known.record();
        // what is past knows nothing of a grant that came after it: it would look as if that were over
        var past = observed != null && rules.isPast(known.stored(), observed);
        var token = held || past ? known.token() : Math.max(highestToken, known.token());
        var holder = new View.Holder(record.candidate(), shownNonce(known.stored()), known.since(), record.metadata());
        var remaining = Math.max(
                waitNanos,
                !held
                        ? 0
                        : isOurPending(known.stored())
                                ? pendingNanos(known, nowNanos)
                                : untilNanos(known, nowNanos) - nowNanos);
        return View.of(election, token)
                .heldBy(held ? Optional.of(holder) : Optional.empty(), Duration.ofNanos(remaining))
                .orderedToStandDown(held && record.orders().standDown() == token)
                .inEra(record.era(), record.ended())
                .noted(record.orders().note());
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
        return isOurPending(stored) && candidacy(stored.record().nonce()).equals(candidacy(claim.nonce()));
    }

    private boolean isOurPending(StoredRecord stored) {
        return stored.record().kind() == SeatRecord.Kind.PENDING && isOurs(stored);
    }

    /** Returns what the nonces of a candidacy have in common. */
    static String candidacy(String nonce) {
        var dash = nonce.lastIndexOf('-');
        return dash < 0 ? nonce : nonce.substring(0, dash);
    }
}
