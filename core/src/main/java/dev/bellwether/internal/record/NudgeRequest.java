package dev.bellwether.internal.record;

import java.util.function.Supplier;

/**
 * Writes into a session that its holder is to look at a seat: it writes the seat no more, and what it hears may be
 * lost. Confined to anybody who holds the lock of the memory.
 */
final class NudgeRequest extends SeatRequest<Boolean> {
    private final String election;

    NudgeRequest(SeatMemory memory, Supplier<String> stamps, String election) {
        super(memory, stamps);
        this.election = election;
    }

    @Override
    SeatStep<Boolean> begin(long nowNanos) {
        return ask(false, nowNanos);
    }

    @Override
    SeatStep<Boolean> looked(ObservedRecord known, long nowNanos) {
        var record = known.record();
        if (!record.isHeld()) {
            return SeatStep.done(true); // it is over: nobody leads by it any more
        }
        return write(known.revision(), record.lookingAt(election, known.stored().origin()));
    }

    @Override
    SeatStep<Boolean> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(true);
    }
}
