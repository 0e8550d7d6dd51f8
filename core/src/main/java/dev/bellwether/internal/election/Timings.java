package dev.bellwether.internal.election;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.random.RandomGenerator;

/** How long a seat waits for what. Arithmetic and chance only; confined to the loop. */
final class Timings {
    private static final long LONGEST_WAIT_FOR_ANSWER_NANOS = 5_000_000_000L;
    /**
     * Renewals are due at multiples of this fraction of the interval, so that those of many elections go out together.
     */
    private static final int SLOTS_PER_INTERVAL = 4;

    private final CandidacyConfig config;
    private final RandomGenerator random;

    Timings(CandidacyConfig config, RandomGenerator random) {
        this.config = config;
        this.random = random;
    }

    /** After so long a request has gone unanswered, though its answer may still come. */
    long answerNanos() {
        return Math.min(config.renewInterval().toNanos(), LONGEST_WAIT_FOR_ANSWER_NANOS);
    }

    /** Returns a retry interval, give or take a fifth. */
    long retryNanos() {
        return jittered(config.retryInterval().toNanos());
    }

    /** By so much a candidate of lower priority lets the others go first. */
    long courtesyNanos() {
        return config.retryInterval().toNanos();
    }

    /**
     * Returns how long to wait for a seat that is held: until its lease should have run out, but no longer than a lease
     * of ours, since a store whose clock is set tells of leases that last for hours; or longer than that if we back
     * off.
     */
    long standbyNanos(View view, int refusals) {
        var remaining = view.remaining().compareTo(config.lease()) < 0 ? view.remaining() : config.lease();
        var wait = remaining.isZero() ? retryNanos() : remaining.toNanos() + 1_000_000;
        var backoff = config.standbyBackoff();
        if (backoff.isEmpty()) {
            return wait;
        }
        var retry = config.retryInterval().toNanos();
        var longest = backoff.get().toNanos() / 6 * 5; // chance lengthens it by up to a fifth
        var doublings = Math.min(refusals, 20);
        return Math.max(wait, jittered(retry > longest >> doublings ? longest : retry << doublings));
    }

    /** When the renewal after one that was sent then is due: the last slot within a renew interval. */
    long renewalAfter(long sentNanos) {
        var interval = config.renewInterval().toNanos();
        var width = Math.max(1, interval / SLOTS_PER_INTERVAL);
        return Math.floorDiv(sentNanos + interval, width) * width;
    }

    /**
     * Returns how long we count as a candidate if nothing more is heard of us: we are, once a lease, or once a
     * back-off.
     */
    Duration patience() {
        return config.lease()
                .plus(config.standbyBackoff().orElse(config.lease()))
                .multipliedBy(2);
    }

    private long jittered(long nanos) {
        return nanos + (long) (nanos * 0.2 * (2 * random.nextDouble() - 1));
    }
}
