package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One request of a candidate, an operator or an observer concerning one seat: it is told what the store answered, and
 * says what it wants next. What it decides, it decides by {@link SeatRules}.
 *
 * <p>Confined to anybody who holds the lock of the memory. Deterministic: time is an argument, and so is chance.
 */
abstract class SeatRequest<T> {
    private static final int TRIES = 4;

    /** Nobody repeats an order: it goes on while candidates write. */
    static final int TRIES_OF_AN_ORDER = 20;

    private static final int READINGS = 6;

    final SeatMemory memory;
    private final Supplier<String> stamps;
    private int refused;
    private int readings = READINGS;
    private final Set<String> lookedAt = new HashSet<>();
    private boolean confirming;
    private long revisionWhenAsked;
    private long expected = -1;
    private @Nullable SeatRecord sent;
    private boolean tracked;
    private boolean inDoubt; // a write went unanswered, and was asked for
    private boolean doubted; // what was sent is said not to have been carried out
    private boolean withdrawn;

    SeatRequest(SeatMemory memory, Supplier<String> stamps) {
        this.memory = memory;
        this.stamps = stamps;
    }

    // ---------------------------------------------------------------- told by the driver

    /** Returns what of this goes first: a lease depends on the requests of who holds a seat, or gives it back. */
    Urgency urgency() {
        return Urgency.LOOK;
    }

    /** Returns how often this writes at most, while others are faster. A candidate comes again by itself. */
    int tries() {
        return TRIES;
    }

    /** Returns what is wanted first. */
    abstract SeatStep<T> begin(long nowNanos);

    /**
     * A reading was answered.
     *
     * @param given up to which revision the store has given any, if it was asked for that: when confirming; else 0
     */
    final SeatStep<T> read(StoredRecord found, long given, long nowNanos) {
        if (found.revision() < revisionWhenAsked && !confirming) {
            return ask(true, nowNanos); // an old answer, or the store has lost its last writes
        }
        if (found.revision() >= revisionWhenAsked && found.revision() < memory.revision()) {
            return ask(false, nowNanos); // meanwhile something newer was heard, or written here
        }
        if (found.revision() < revisionWhenAsked && !memory.rules().believesFall()) {
            return SeatStep.failed(
                    new UnavailableException("\"" + memory.election() + "\" was read at an older revision"));
        }
        if (found.revision() < revisionWhenAsked) {
            memory.noteFall(found, given, nowNanos);
        } else {
            memory.note(found, nowNanos);
        }
        memory.confirm();
        settleDoubt(found.record().stamp());
        confirming = false;
        if (!memory.rules().isKnown(found.record())) {
            return SeatStep.failed(new ElectionException("the record of \"" + memory.election()
                    + "\" is in a format that this version of Bellwether does not know. This process does not take"
                    + " the seat. Run one version, or use another " + memory.scope()));
        }
        if (expected >= 0 && found.revision() == expected) {
            return SeatStep.failed(new UnavailableException("a write of \"" + memory.election()
                    + "\" was refused because the record is not at revision " + expected
                    + ", and it is: the server contradicts itself. Whether it was written is unknown"));
        }
        return looked(known(nowNanos), nowNanos);
    }

    /** A writing was carried out, at this time by the store's clock; {@link Instant#EPOCH} if that is unknown. */
    final SeatStep<T> written(long revision, Instant written, long nowNanos) {
        var record = requireSent();
        if (tracked) {
            memory.carriedOut(record.nonce(), record.stamp(), revision);
        }
        return carriedOut(memory.noteWrite(new StoredRecord(revision, written, record), nowNanos), nowNanos);
    }

    /** A writing was refused, since the record is at another revision: at this one; negative if that was not said. */
    final SeatStep<T> outdated(long revision, long nowNanos) {
        doubted = tracked;
        if (++refused == tries()) {
            return SeatStep.failed(new UnavailableException("\"" + memory.election()
                    + "\" is written faster than it is read: gave up after " + refused + " tries"));
        }
        if (memory.traits().writeOnly()) {
            settleDoubt("");
            return guess(revision, nowNanos);
        }
        readings = READINGS;
        return ask(false, nowNanos);
    }

    /** The session that was to be looked at has been: what is known of it has changed, or not. */
    final SeatStep<T> settled(long nowNanos) {
        return looked(known(nowNanos), nowNanos);
    }

    /** There was no definite answer to the last step. */
    SeatStep<T> unanswered(RuntimeException error, long nowNanos) {
        return SeatStep.failed(error);
    }

    /**
     * Nobody waits for this any more: it writes nothing from here on. What was sent before may still be carried out.
     */
    final void withdraw() {
        withdrawn = true;
    }

    // ---------------------------------------------------------------- what each does

    /** Looks at what is there now. */
    abstract SeatStep<T> looked(ObservedRecord known, long nowNanos);

    /** What was written stands. */
    SeatStep<T> carriedOut(ObservedRecord known, long nowNanos) {
        throw new IllegalStateException("this writes nothing");
    }

    // ---------------------------------------------------------------- what they share

    /** Returns whether the session that the seat names is to be looked at now: once in a request. */
    final boolean mustSettle(ObservedRecord known, long nowNanos) {
        return memory.isUnsettled(known, nowNanos) && looksAt(known.record().session());
    }

    /** Returns whether this session was not looked at in this request, and will be now. */
    final boolean looksAt(String session) {
        return lookedAt.add(session);
    }

    /** Reads; or, where we may not read, takes what is known. */
    final SeatStep<T> ask(boolean confirm, long nowNanos) {
        if (memory.traits().writeOnly()) {
            return looked(known(nowNanos), nowNanos);
        }
        if (--readings == 0) {
            return SeatStep.failed(new UnavailableException("what is read of \"" + memory.election()
                    + "\" is older than what is known of it: gave up after " + READINGS + " tries"));
        }
        confirming = confirm;
        revisionWhenAsked = memory.revision();
        return SeatStep.read(confirm);
    }

    /** A write went unanswered: it may have been carried out, or not. The record tells, which is asked for once. */
    final SeatStep<T> askInDoubt(RuntimeException error, long nowNanos) {
        if (inDoubt || !(error instanceof UnavailableException)) {
            return SeatStep.failed(error);
        }
        inDoubt = true;
        expected = -1; // it was not refused: if the record stands where it stood, it is to be written again
        return ask(false, nowNanos);
    }

    /** Returns whether a write of this may have been carried out: it went unanswered, or was sent twice and refused. */
    final boolean isInDoubt() {
        return inDoubt || refused > 0;
    }

    /** Writes what is a holder's own, so that it is known again if the answer is lost. */
    final SeatStep<T> writeOwn(long over, SeatRecord next) {
        if (!withdrawn) {
            memory.sending(next.nonce(), next.stamp(), over);
        }
        return write(over, next, true);
    }

    /** Writes what belongs to nobody here. */
    final SeatStep<T> write(long over, SeatRecord next) {
        return write(over, next, false);
    }

    private SeatStep<T> write(long over, SeatRecord next, boolean own) {
        if (withdrawn) {
            return SeatStep.failed(new UnavailableException(
                    "a claim of \"" + memory.election() + "\" took too long and was given up: the seat is given back"));
        }
        expected = over;
        sent = next;
        tracked = own;
        return SeatStep.write(over, next);
    }

    final String stamp() {
        return stamps.get();
    }

    /** Returns what was seen last; nothing, if nothing was. */
    final ObservedRecord known(long nowNanos) {
        return memory.observed()
                .orElseGet(() -> ObservedRecord.first(
                        new StoredRecord(0, Instant.EPOCH, SeatRecord.ABSENT),
                        memory.traits().mayVanish(),
                        nowNanos));
    }

    /** What a refusal tells one who may not read: that somebody wrote, or nobody did, and no more. */
    private SeatStep<T> guess(long revision, long nowNanos) {
        if (revision < 0) {
            return SeatStep.failed(new UnavailableException("a write of \"" + memory.election()
                    + "\" was refused, and we may not read who leads: whether somebody does is unknown"));
        }
        var record = revision == 0
                ? SeatRecord.ABSENT
                : SeatRecord.bare(SeatRecord.Kind.FOREIGN, "?")
                        .keptFor(memory.traits().pause());
        return looked(memory.guess(new StoredRecord(revision, Instant.EPOCH, record), nowNanos), nowNanos);
    }

    /** A write that is carried out twice may be refused first: what stands there tells. */
    private void settleDoubt(String stamp) {
        if (doubted && !requireSent().stamp().equals(stamp)) {
            memory.refused(requireSent().nonce(), requireSent().stamp());
        }
        doubted = false;
    }

    private SeatRecord requireSent() {
        if (sent == null) {
            throw new IllegalStateException("nothing was written");
        }
        return sent;
    }
}
