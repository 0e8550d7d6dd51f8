package dev.bellwether.spi.journal;

/**
 * A claim to a seat, as its last record tells of it. Immutable. Times are on the reader's monotonic clock, and count
 * from when the record was read.
 *
 * @param id names the claim among all claims of all processes
 * @param instance who claims; empty if nobody knows
 * @param untilNanos until when its claimant may lead, or work, unless another record says more
 * @param released whether its claimant has said that its work has ended
 */
public record SeatClaim(Object id, String instance, long token, long untilNanos, boolean released) {

    /** Returns whether its claimant may still lead, or work. */
    public boolean standsAt(long nanos) {
        return !released && nanos - untilNanos < 0;
    }

    boolean is(SeatClaim other) {
        return id.equals(other.id);
    }

    SeatClaim until(long nanos) {
        return new SeatClaim(id, instance, token, nanos, released);
    }

    /** Returns the same with an earlier end; the later of two concessions does not put it off. */
    SeatClaim sooner(long nanos) {
        return nanos - untilNanos < 0 ? until(nanos) : this;
    }

    SeatClaim releasedNow() {
        return new SeatClaim(id, instance, token, untilNanos, true);
    }
}
