package dev.bellwether.internal.record;

/** Finds out what is there. Confined to anybody who holds the lock of the memory. */
final class LookRequest extends SeatRequest<ObservedRecord> {

    LookRequest(SeatMemory memory) {
        super(memory, () -> "");
    }

    @Override
    SeatStep<ObservedRecord> begin(long nowNanos) {
        return ask(false, nowNanos);
    }

    @Override
    SeatStep<ObservedRecord> looked(ObservedRecord known, long nowNanos) {
        return mustSettle(known, nowNanos) ? SeatStep.settle(known.record().session(), false) : SeatStep.done(known);
    }
}
