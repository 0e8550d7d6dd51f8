package dev.bellwether.testkit.sim;

import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * How bad things are in one world: drawn once, by the seed, in proportion to its lease; and whether the storm is over.
 */
final class FaultProfile {
    /** By the seed and not by chance: rare things that other seeds have found stay in their worlds. */
    private static final Set<Fault> BY_SEED = EnumSet.of(Fault.STORE_CLOCK, Fault.UNDECIDED);

    private final Set<Fault> faults;
    private final long leaseNanos;
    private final long delayNanos;
    private final long tailNanos;
    private final double tail;
    private final double loss;
    private final double duplication;
    private final double hiccups;
    private final long latenessNanos;
    private final long clientTimeoutNanos;
    private final long faultIntervalNanos;
    private int roundTrips = 1;
    private boolean uneven;
    private boolean calm;

    FaultProfile(Set<Fault> possible, long leaseNanos, Set<Fault> bySeed, SplittableRandom random) {
        this.leaseNanos = leaseNanos;
        var drawn = EnumSet.noneOf(Fault.class);
        var share = 0.15 + 0.7 * random.nextDouble();
        for (var fault : Fault.values()) {
            if (BY_SEED.contains(fault)) {
                if (bySeed.contains(fault) && possible.contains(fault)) {
                    drawn.add(fault);
                }
            } else if (random.nextDouble() < share && possible.contains(fault)) {
                drawn.add(fault);
            }
        }
        faults = drawn;
        delayNanos = logUniform(random, leaseNanos / 5_000 + 1, leaseNanos / (random.nextInt(10) == 0 ? 2 : 12));
        tailNanos = logUniform(random, 2 * delayNanos, 3 * leaseNanos + 2 * delayNanos);
        tail = drawn.contains(Fault.DELAY) ? 0.3 * square(random) : 0;
        loss = drawn.contains(Fault.LOSS) ? 0.4 * square(random) : 0;
        duplication = drawn.contains(Fault.DUPLICATION) ? 0.3 * square(random) : 0;
        hiccups = drawn.contains(Fault.STALL) ? 0.05 * square(random) : 0;
        latenessNanos = logUniform(random, 1, Math.max(2, leaseNanos / 500));
        clientTimeoutNanos =
                random.nextBoolean() ? 0 : 4 * delayNanos + logUniform(random, leaseNanos / 50, leaseNanos);
        faultIntervalNanos = logUniform(random, leaseNanos / 4, 4 * leaseNanos);
    }

    private static double square(SplittableRandom random) {
        var x = random.nextDouble();
        return x * x;
    }

    /**
     * Leases share sessions: a renewal may wait for the one before, and be refused and read because of it, before it is
     * carried out.
     */
    void leasesShare() {
        roundTrips = 3;
    }

    /**
     * Most messages are much faster than the slowest when all is well: so one may be overtaken by several that follow
     * from it.
     */
    void unevenDelays() {
        uneven = true;
    }

    /** Returns how many round trips a renewal takes at most when all is well. */
    int roundTrips() {
        return roundTrips;
    }

    /** Draws so that each order of magnitude is as likely as another. */
    static long logUniform(RandomGenerator random, long least, long most) {
        if (most <= least) {
            return least;
        }
        return (long) (least * Math.exp(random.nextDouble() * Math.log((double) most / least)));
    }

    boolean has(Fault fault) {
        return !calm && faults.contains(fault);
    }

    /** Ends the storm: from here on messages arrive within the usual time, and nothing is held up. */
    void calm() {
        calm = true;
    }

    boolean isCalm() {
        return calm;
    }

    long leaseNanos() {
        return leaseNanos;
    }

    /** The longest that a message takes, one way, when all is well. */
    long delayNanos() {
        return delayNanos;
    }

    /** The longest that any message takes. */
    long longestDelayNanos() {
        return tailNanos;
    }

    /** Draws how long a message takes. */
    long delay(RandomGenerator random) {
        if (calm && uneven) {
            return logUniform(random, delayNanos / 1_000 + 1, delayNanos);
        }
        return !calm && tail > 0 && random.nextDouble() < tail
                ? logUniform(random, delayNanos, tailNanos)
                : 1 + (long) (random.nextDouble() * (delayNanos - 1));
    }

    boolean loses(RandomGenerator random) {
        return !calm && loss > 0 && random.nextDouble() < loss;
    }

    boolean duplicates(RandomGenerator random) {
        return !calm && duplication > 0 && random.nextDouble() < duplication;
    }

    /** Draws for how long the loop is held up before a turn: mostly not at all. */
    long hiccup(RandomGenerator random) {
        return !calm && hiccups > 0 && random.nextDouble() < hiccups ? outage(random) : 0;
    }

    /** Draws how late a timer is. */
    long lateness(RandomGenerator random) {
        return (long) (random.nextDouble() * latenessNanos);
    }

    long latenessNanos() {
        return latenessNanos;
    }

    /** After how long the client gives up on an answer and says so; 0 if it never does. */
    long clientTimeoutNanos() {
        return clientTimeoutNanos;
    }

    /** Draws how long something stays broken: from a hundredth of a lease to four leases. */
    long outage(RandomGenerator random) {
        return logUniform(random, leaseNanos / 100, 4 * leaseNanos);
    }

    /** Draws how long it is until the next fault. */
    long nextFault(RandomGenerator random) {
        return 1 + (long) (-Math.log(1 - random.nextDouble()) * faultIntervalNanos);
    }

    @Override
    public String toString() {
        return ("faults %s, lease %.3f s, delay up to %.6f s (%.1f %% up to %.3f s), loss %.1f %%, doubled %.1f %%,"
                        + " hiccups %.2f %%")
                .formatted(
                        faults,
                        leaseNanos / 1e9,
                        delayNanos / 1e9,
                        tail * 100,
                        tailNanos / 1e9,
                        loss * 100,
                        duplication * 100,
                        hiccups * 100);
    }
}
