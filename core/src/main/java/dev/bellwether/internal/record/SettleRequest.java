package dev.bellwether.internal.record;

import java.util.function.Supplier;

/**
 * Looks at the session of another, and may end it if it was seen unchanged for its lease. Confined to anybody who holds
 * the lock of the memory.
 */
final class SettleRequest extends SeatRequest<ObservedRecord> {
    private final boolean ending;

    SettleRequest(SeatMemory memory, Supplier<String> stamps, boolean ending) {
        super(memory, stamps);
        this.ending = ending;
    }

    @Override
    SeatStep<ObservedRecord> begin(long nowNanos) {
        return ask(false, nowNanos);
    }

    @Override
    SeatStep<ObservedRecord> looked(ObservedRecord known, long nowNanos) {
        return ending && memory.rules().isUnsettled(known, nowNanos)
                ? write(known.revision(), known.record().vacated(0, stamp()))
                : SeatStep.done(known);
    }

    @Override
    SeatStep<ObservedRecord> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(known);
    }
}
