package dev.bellwether.internal.record;

import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import java.util.function.Supplier;

/** Vacates a seat that is held. Confined to anybody who holds the lock of the memory. */
final class ReleaseRequest extends SeatRequest<Answer> {
    private final Claim claim;
    private final boolean lookFirst;

    /** Looks first if a claim was under way, which may have been carried out. */
    ReleaseRequest(SeatMemory memory, Supplier<String> stamps, Claim claim, boolean lookFirst) {
        super(memory, stamps);
        this.claim = claim;
        this.lookFirst = lookFirst;
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
        return memory.wrote(claim.nonce()) || isOurs(known.get())
                ? ask(false, nowNanos)
                : answer(false, known.get(), nowNanos);
    }

    @Override
    SeatStep<Answer> looked(ObservedRecord known, long nowNanos) {
        if (!memory.rules().mayVacate(isOurs(known))) {
            memory.forget(claim.nonce());
            return answer(false, known, nowNanos);
        }
        var vacated = known.record().vacated(known.token(), stamp()).withGrace(memory.grace(nowNanos));
        return write(known.revision(), vacated);
    }

    @Override
    SeatStep<Answer> carriedOut(ObservedRecord known, long nowNanos) {
        memory.forget(claim.nonce());
        return answer(true, known, nowNanos);
    }

    private SeatStep<Answer> answer(boolean granted, ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(granted, memory.view(known, nowNanos, 0)));
    }

    private boolean isOurs(ObservedRecord known) {
        return memory.isOurPending(known.stored(), claim)
                || (known.record().isHeldUnder(claim.nonce()) && memory.isOurs(known.stored()));
    }
}
