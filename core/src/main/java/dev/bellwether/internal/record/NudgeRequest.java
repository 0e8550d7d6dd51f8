package dev.bellwether.internal.record;

import java.util.function.Supplier;

/**
 * Writes into a session that its holder is to look at a seat: it writes the seat no more, and what it hears may be
 * lost. Where that is written already, there is nothing to do: many may ask for it at a time, and what they wrote one
 * after the other would keep the holder from renewing the session. Confined to anybody who holds the lock of the
 * memory.
 */
final class NudgeRequest extends SeatRequest<Boolean> {
    private final String election;

    NudgeRequest(SeatMemory memory, Supplier<String> stamps, String election) {
        super(memory, stamps);
        this.election = election;
    }

    @Override
    int tries() {
        return TRIES_OF_AN_ORDER;
    }

    @Override
    SeatStep<Boolean> begin(long nowNanos) {
        return ask(false, nowNanos);
    }

    /** What is read here was read after the seat was written: the holder looks behind both. */
    @Override
    SeatStep<Boolean> looked(ObservedRecord known, long nowNanos) {
        var record = known.record();
        if (!record.isHeld() || record.isLookingAt(election)) {
            return SeatStep.done(true); // if it is over, nobody leads by it any more
        }
        return write(known.revision(), record.lookingAt(election, known.stored().origin()));
    }

    @Override
    SeatStep<Boolean> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(true);
    }

    @Override
    SeatStep<Boolean> unanswered(RuntimeException error, long nowNanos) {
        return askInDoubt(error, nowNanos);
    }
}
