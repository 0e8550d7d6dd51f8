package dev.bellwether.internal.record;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Extends the lease of a seat that is held, or cuts it short; or finds that it shares a session, whose renewal it needs
 * not more than. Confined to anybody who holds the lock of the memory. */
final class RenewRequest extends SeatRequest<Answer> {
    private final Lease lease;
    private final String session;
    private final BooleanSupplier mayJoin;

    /**
     * Renews a lease.
     *
     * @param session the session that the seat is to share, having been renewed since this was asked; empty for none
     * @param mayJoin whether a seat that does not share it yet is to, asked when that is sent: not any more if there
     *     may be a later proof for the seat than for the session
     */
    RenewRequest(SeatMemory memory, Supplier<String> stamps, Lease lease, String session, BooleanSupplier mayJoin) {
        super(memory, stamps);
        this.lease = lease;
        this.session = session;
        this.mayJoin = mayJoin;
    }

    /** Renews the lease of a seat that is to share none. */
    RenewRequest(SeatMemory memory, Supplier<String> stamps, Lease lease) {
        this(memory, stamps, lease, "", () -> false);
    }

    @Override
    Urgency urgency() {
        return Urgency.KEEP;
    }

    @Override
    SeatStep<Answer> begin(long nowNanos) {
        var known = memory.confirmed();
        // since when it is held stands in the record from now on, and must be what the store says
        return known.isPresent()
                        && isOurs(known.get())
                        && known.get().isDated()
                        && !(isIn(known.get()) && memory.isHinted())
                ? looked(known.get(), nowNanos)
                : ask(false, nowNanos);
    }

    @Override
    SeatStep<Answer> looked(ObservedRecord known, long nowNanos) {
        if (!isOurs(known) || known.token() != lease.token() || nowNanos - memory.untilNanos(known, nowNanos) >= 0) {
            return answer(false, known, nowNanos);
        }
        if (known.record().lease().compareTo(lease.term()) < 0) { // this is late, and what came after it stays
            return SeatStep.failed(new UnavailableException("the lease of \"" + memory.election()
                    + "\" was cut short meanwhile, since its holder stands down"));
        }
        if (isIn(known) && !memory.mayBeOverwritten(lease.claim().nonce(), known.revision())) {
            return answer(true, known, nowNanos); // the session was renewed for all of its seats
        }
        var joined = mayJoin.getAsBoolean() ? session : "";
        var next = known.record()
                .renewed(
                        known.token(),
                        known.since(),
                        lease.term(),
                        lease.claim().metadata(),
                        joined,
                        stamp());
        return writeOwn(known.revision(), next);
    }

    @Override
    SeatStep<Answer> carriedOut(ObservedRecord known, long nowNanos) {
        return answer(true, known, nowNanos);
    }

    private SeatStep<Answer> answer(boolean granted, ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Answer(granted, memory.view(known, nowNanos, 0)));
    }

    /** Returns whether it shares the session already, and shows what it is to show. */
    private boolean isIn(ObservedRecord known) {
        return known.record().isShared()
                && known.record().session().equals(session)
                && known.record().metadata().equals(lease.claim().metadata());
    }

    private boolean isOurs(ObservedRecord known) {
        return known.record().isHeldUnder(lease.claim().nonce()) && memory.isOurs(known.stored());
    }
}
