package dev.bellwether.internal.record;

import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Lease;
import java.util.function.Supplier;

/** Extends the lease of a seat that is held, or cuts it short. Confined to whoever holds the lock of the memory. */
final class RenewRequest extends SeatRequest<Answer> {
    private final Lease lease;

    RenewRequest(SeatMemory memory, Supplier<String> stamps, Lease lease) {
        super(memory, stamps);
        this.lease = lease;
    }

    @Override
    SeatStep<Answer> begin(long nowNanos) {
        var known = memory.confirmed();
        // since when it is held stands in the record from now on, and must be what the store says
        return known.isPresent() && isOurs(known.get()) && known.get().isDated()
                ? looked(known.get(), nowNanos)
                : ask(false, nowNanos);
    }

    @Override
    SeatStep<Answer> looked(ObservedRecord known, long nowNanos) {
        if (!isOurs(known) || known.token() != lease.token() || nowNanos - known.untilNanos() >= 0) {
            return answer(false, known, nowNanos);
        }
        return writeOwn(known.revision(), known.record().renewed(known.token(), known.since(), lease.term(), stamp()));
    }

    @Override
    SeatStep<Answer> carriedOut(ObservedRecord known, long nowNanos) {
        return answer(true, known, nowNanos);
    }

    private SeatStep<Answer> answer(boolean granted, ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(granted, memory.view(known, nowNanos, 0)));
    }

    private boolean isOurs(ObservedRecord known) {
        return known.record().isHeldUnder(lease.claim().nonce()) && memory.isOurs(known.stored());
    }
}
