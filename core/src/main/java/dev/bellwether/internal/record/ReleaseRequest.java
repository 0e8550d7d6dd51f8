package dev.bellwether.internal.record;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.util.function.Supplier;

/** Vacates a seat that is held. Confined to anybody who holds the lock of the memory. */
final class ReleaseRequest extends SeatRequest<Answer> {
    private final Claim claim;
    private final boolean lookFirst;
    private boolean forestalls; // what is written keeps a late claim away, and vacates nothing

    /** Looks first if a claim was under way, which may have been carried out. */
    ReleaseRequest(SeatMemory memory, Supplier<String> stamps, Claim claim, boolean lookFirst) {
        super(memory, stamps);
        this.claim = claim;
        this.lookFirst = lookFirst;
    }

    @Override
    Urgency urgency() {
        return Urgency.KEEP;
    }

    @Override
    SeatStep<Answer> begin(long nowNanos) {
        var known = memory.observed();
        if (lookFirst || known.isEmpty()) {
            return ask(false, nowNanos);
        }
        if (isOurs(known.get()) && memory.confirmed().isPresent()) {
            return looked(known.get(), nowNanos);
        }
        return memory.wrote(SeatMemory.candidacy(claim.nonce()))
                ? ask(false, nowNanos)
                : answer(false, known.get(), nowNanos);
    }

    @Override
    SeatStep<Answer> looked(ObservedRecord known, long nowNanos) {
        if (!memory.rules().mayVacate(isOurs(known))) {
            if (mayComeLate(known)) {
                return forestall(known, nowNanos);
            }
            memory.forget(claim.nonce());
            return answer(false, known, nowNanos);
        }
        forestalls = false;
        var vacated = known.record().vacated(known.token(), stamp()).withGrace(memory.grace(nowNanos));
        return write(known.revision(), vacated);
    }

    /** A claim of this candidacy was given up, and would still take the seat at this revision. */
    private boolean mayComeLate(ObservedRecord known) {
        return memory.mayBeTaken(SeatMemory.candidacy(claim.nonce()), known.revision());
    }

    /**
     * Moves a vacant seat to another revision, so that the late claim is refused. It stays the same record to anybody
     * who waits for it, as under an order. What another has written is left alone: then there is no answer.
     */
    private SeatStep<Answer> forestall(ObservedRecord known, long nowNanos) {
        forestalls = true;
        var record = known.record();
        if (record.kind() == SeatRecord.Kind.VACANT) {
            var same = record.orders().over(known.stored().origin());
            return write(known.revision(), memory.rules().ordered(record, known, same, stamp()));
        }
        if (record.kind() == SeatRecord.Kind.ABSENT && !known.suspect()) {
            return write(0, record.vacated(known.token(), stamp()).withGrace(memory.grace(nowNanos)));
        }
        return SeatStep.failed(new UnavailableException("a claim of \"" + memory.election() + "\" by \""
                + claim.candidate() + "\" has no answer, and may still be carried out. If it is, its lease runs out"));
    }

    @Override
    SeatStep<Answer> carriedOut(ObservedRecord known, long nowNanos) {
        memory.forget(claim.nonce());
        return answer(!forestalls, known, nowNanos);
    }

    private SeatStep<Answer> answer(boolean granted, ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(granted, memory.view(known, nowNanos, 0)));
    }

    private boolean isOurs(ObservedRecord known) {
        return memory.isOurPending(known.stored(), claim)
                || (known.record().isHeldUnder(claim.nonce()) && memory.isOurs(known.stored()));
    }
}
