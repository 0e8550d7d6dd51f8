package dev.bellwether.nats;

import java.time.Duration;

/**
 * What a store is like, as far as seats depend on it. Immutable.
 *
 * @param mayVanish whether the store drops records by itself, so that "none" does not mean "never held"
 * @param writeOnly whether we may write records and not read them, so that we learn of others' by being refused only
 * @param grace how long a winner waits before it leads, where others hold elections by Choria's rules; zero where nobody does
 * @param pause how long one who may not read leaves alone what somebody else wrote
 */
record SeatTraits(boolean mayVanish, boolean writeOnly, Duration grace, Duration pause) {
    static final SeatTraits PLAIN = new SeatTraits(false, false, Duration.ZERO, Duration.ZERO);

    /** Returns what a bucket of ours is like. */
    static SeatTraits of(Duration ttl) {
        return new SeatTraits(!ttl.isZero(), false, Duration.ZERO, Duration.ZERO);
    }

    /** Returns what a bucket of Choria's is like. A winner waits there, so that nobody else needs to. */
    static SeatTraits ofChoria(Duration ttl, boolean writeOnly) {
        return new SeatTraits(false, writeOnly, grace(ttl), ttl.dividedBy(4));
    }

    /** Returns how long Choria's rules make a winner wait until it leads. */
    static Duration grace(Duration ttl) {
        return ttl.multipliedBy(3).dividedBy(4).plusMillis(200);
    }

    boolean choria() {
        return !grace.isZero();
    }
}
