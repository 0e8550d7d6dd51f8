package dev.bellwether.internal.record;

import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Makes a session, or prolongs it. Confined to anybody who holds the lock of the memory.
 */
final class SustainRequest extends SeatRequest<SustainRequest.Sustained> {
    private final Duration lease;
    private final boolean made;
    private final long left;
    private String lookedFor = "";
    private long sentNanos;

    /**
     * What became of it.
     *
     * @param lives whether it lives on; if not, it is over permanently
     * @param sentNanos when the write was sent that prolonged it
     * @param lookedFor which seat its holder is to look at, {@link SeatRecord#ALL} for each; empty for none
     */
    record Sustained(boolean lives, long sentNanos, String lookedFor) {}

    /** Makes the session, or prolongs it if it was made, and tells how many seats have left it. */
    SustainRequest(SeatMemory memory, Supplier<String> stamps, Duration lease, boolean made, long left) {
        super(memory, stamps);
        this.lease = lease;
        this.made = made;
        this.left = left;
    }

    @Override
    Urgency urgency() {
        return Urgency.KEEP;
    }

    @Override
    SeatStep<Sustained> begin(long nowNanos) {
        if (!made) {
            sentNanos = nowNanos;
            return writeOwn(0, SeatRecord.session(memory.election(), lease, left, stamp()));
        }
        var known = memory.confirmed();
        return known.isPresent() && memory.isOurs(known.get().stored())
                ? looked(known.get(), nowNanos)
                : ask(false, nowNanos);
    }

    @Override
    SeatStep<Sustained> looked(ObservedRecord known, long nowNanos) {
        if (!memory.rules().maySustain(memory.isOurs(known.stored()), known, nowNanos)) {
            return SeatStep.done(new Sustained(false, 0, ""));
        }
        note(known.record().lookedFor());
        sentNanos = nowNanos;
        // another of these may have been carried out since this was asked for, and tell more
        var most = Math.max(left, known.record().token());
        return writeOwn(known.revision(), SeatRecord.session(memory.election(), lease, most, stamp()));
    }

    /** A wish that was seen stays one, though a write of ours whose answer is lost has replaced the record. */
    private void note(String wish) {
        if (lookedFor.isEmpty() || wish.isEmpty()) {
            lookedFor += wish;
        } else if (!lookedFor.equals(wish)) {
            lookedFor = SeatRecord.ALL;
        }
    }

    @Override
    SeatStep<Sustained> carriedOut(ObservedRecord known, long nowNanos) {
        return SeatStep.done(new Sustained(true, sentNanos, lookedFor));
    }
}
