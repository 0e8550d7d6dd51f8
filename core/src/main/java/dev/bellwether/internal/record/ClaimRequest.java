package dev.bellwether.internal.record;

import dev.bellwether.ElectionException;
import dev.bellwether.internal.record.SeatRecord.Kind;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Durations;
import java.util.function.Supplier;

/** Takes a seat if nobody holds it. Confined to anybody who holds the lock of the memory. */
final class ClaimRequest extends SeatRequest<Answer> {
    private final Claim claim;
    private final boolean lookFirst;

    /** Looks first, or trusts what was heard while that says that it is too early. */
    ClaimRequest(SeatMemory memory, Supplier<String> stamps, Claim claim, boolean lookFirst) {
        super(memory, stamps);
        this.claim = claim;
        this.lookFirst = lookFirst;
    }

    @Override
    SeatStep<Answer> begin(long nowNanos) {
        var known = memory.observed();
        if (lookFirst
                || known.isEmpty()
                || known.get().record().ended()
                || known.get().record().isHeldUnder(claim.nonce())) {
            return ask(false, nowNanos);
        }
        if (waitNanos(known.get(), nowNanos) > 0
                && !memory.isUnsettled(known.get(), nowNanos)
                && !memory.mayHaveLeft(known.get())) {
            return refuse(known.get(), nowNanos); // the watch keeps us up to date
        }
        return memory.rules().readsBeforeClaiming() ? ask(false, nowNanos) : looked(known.get(), nowNanos);
    }

    @Override
    SeatStep<Answer> looked(ObservedRecord known, long nowNanos) {
        var record = known.record();
        var others = memory.traits().others();
        if (memory.rules().isShorterThanTold(known.record(), others)) {
            return SeatStep.failed(new ElectionException("\"" + memory.election() + "\" was held by \""
                    + known.record().candidate() + "\" with a lease of "
                    + Durations.show(known.record().lease()) + ", and theirLease, the shortest of theirs, is set to "
                    + Durations.show(others.lease())
                    + ": it could lead beside us. Give in the URI what they are configured with"));
        }
        if (record.isHeldUnder(claim.nonce()) && memory.isOurs(known.stored())) {
            return SeatStep.done(new Answer(true, view(known, nowNanos))); // its answer was lost
        }
        var before = known.lastReadable();
        if (claim.isBefore(before.era())) {
            return refuse(known, nowNanos); // to take it would bring back what was deleted
        }
        if (!record.ended() && record.isShared() && !memory.isSessionOver(record)) {
            var unsettled = memory.isUnsettled(known, nowNanos);
            if ((unsettled || waitNanos(known, nowNanos) == 0) && looksAt(record.session())) {
                return SeatStep.settle(record.session(), true);
            }
            if (unsettled) {
                return refuse(known, nowNanos);
            }
        }
        if (record.ended() || waitNanos(known, nowNanos) > 0) {
            return refuse(known, nowNanos);
        }
        if (others.apply()) {
            return besideOthers(known, before, nowNanos);
        }
        if (!memory.traits().hasGrace() && memory.rules().mustBeMarked(known)) {
            var lease = memory.watchedFor(claim.lease());
            return write(0, before.nobodys(memory.highestToken(), memory.baseOfMark(before, 0), lease, stamp()));
        }
        var confirmed = memory.isOurPending(known.stored(), claim) || record.kind() == Kind.VACANT;
        var kind = memory.traits().hasGrace() && !confirmed ? Kind.PENDING : Kind.HELD;
        var over = isHidden(known) ? 0 : known.revision();
        return writeOwn(over, before.taken(claim, kind, stamp(), memory.chosen(claim), memory.base(before, over)));
    }

    /** Takes the seat; to lead at once only if none of theirs can still. */
    private SeatStep<Answer> besideOthers(ObservedRecord known, SeatRecord before, long nowNanos) {
        var grace = memory.grace(nowNanos);
        if (grace.isZero()) {
            return writeOwn(
                    known.revision(),
                    before.taken(claim, Kind.HELD, stamp(), 0, memory.base(before, known.revision())));
        }
        var pending = memory.isOurPending(known.stored(), claim)
                ? before.renewed(0, null, claim.lease(), claim.metadata(), "", stamp())
                : before.taken(claim, Kind.PENDING, stamp(), 0, memory.base(before, known.revision()));
        return writeOwn(known.revision(), pending.withGrace(grace));
    }

    @Override
    SeatStep<Answer> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(known.record().kind() == Kind.HELD, view(known, nowNanos)));
    }

    private SeatStep<Answer> refuse(ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(false, view(known, nowNanos)));
    }

    private dev.bellwether.spi.View view(ObservedRecord known, long nowNanos) {
        return memory.view(known, nowNanos, waitNanos(known, nowNanos));
    }

    private long waitNanos(ObservedRecord known, long nowNanos) {
        if (memory.isOurPending(known.stored(), claim)) {
            return memory.pendingNanos(known, nowNanos);
        }
        if (isHidden(known)) {
            var pause = known.record().kind() == Kind.FOREIGN
                    ? memory.traits().pause().toNanos()
                    : 0;
            return Math.max(0, known.seenNanos() + pause - nowNanos);
        }
        return memory.waitNanos(known, claim, nowNanos);
    }

    /** Returns whether what is there was not written here, and may not be read. */
    private boolean isHidden(ObservedRecord known) {
        return memory.traits().writeOnly() && !known.record().isReadable();
    }
}
