package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;

/**
 * How long a proof takes on servers of a tick, how often one is begun, and which leases are too short for that.
 * Immutable.
 *
 * @param tick the longest {@code tickTime} of any server
 */
record ProofTiming(Duration tick) {
    /** How long a leader of the ensemble that answers requests keeps a ping back that is due: taken on trust. */
    static final long SLACK_NANOS = 100_000_000;

    /**
     * Of a mandate, this part may pass before the proof that it rests on is complete; the way through the network comes
     * on top.
     */
    private static final double LONGEST_ROUND = 2.0 / 3;

    /**
     * How long it takes until the leader owes our server a ping: half a tick, by a clock that is a tenth slower than
     * ours.
     */
    long pingNanos() {
        var half = tick.toNanos() / 2;
        return half + half / 10;
    }

    /**
     * For how long a round waits, besides the way through the network, when touches take so many hops to the leader.
     */
    Duration round(int hops) {
        return Duration.ofNanos(hops * (pingNanos() + SLACK_NANOS));
    }

    /**
     * Returns when the next round begins after this one: while it is under way, if it takes long. Three come round in
     * what is left of a mandate when the proof arrives.
     */
    Duration interval(CandidacyConfig config, int hops) {
        var spare = usable(config).minus(round(hops)).dividedBy(3);
        return spare.isNegative() || spare.isZero() || spare.compareTo(config.renewInterval()) > 0
                ? config.renewInterval()
                : spare;
    }

    /** Returns how old, at most, the newest proof is when the next arrives, as long as all goes well. */
    Duration renewal(CandidacyConfig config, int hops) {
        return round(hops).plus(interval(config, hops));
    }

    /** Returns whether a mandate of this lease outlasts a round, by half as much again at least. */
    boolean fits(CandidacyConfig config, int hops) {
        return round(hops).toNanos() <= usable(config).toNanos() * LONGEST_ROUND;
    }

    /** Returns the shortest lease that fits, with the stand-down budget that is set. */
    Duration shortestLease(CandidacyConfig config, int hops) {
        var usable = round(hops).toNanos() / LONGEST_ROUND;
        var budget = config.standDownBudget().toNanos();
        var asPart = budget == config.lease().dividedBy(5).toNanos();
        var lease = asPart ? usable / (1 - config.driftBound() - 0.2) : (usable + budget) / (1 - config.driftBound());
        return Duration.ofMillis((long) Math.ceil(lease / 1_000_000 / 10) * 10);
    }

    private static Duration usable(CandidacyConfig config) {
        var lease = config.lease().toNanos();
        return Duration.ofNanos(lease - (long) Math.ceil(lease * config.driftBound()))
                .minus(config.standDownBudget());
    }
}
