package dev.bellwether.testkit.sim;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;

/** The longest settings of several candidacies, in nanoseconds. */
final class Bounds {
    /** So many messages one after the other a hand-over takes at most, twice over. */
    private static final int COURTESY_DELAYS = 40;

    private long lease;
    private long renew;
    private long retry;
    private long backoff;
    private long budget;
    private double drift;
    /** The least time for an answer, among all: before it is given up, or before the mandate ends. */
    private long leastRoundTrip = Long.MAX_VALUE;

    private long leastRetry = Long.MAX_VALUE;

    void add(CandidacyConfig config) {
        lease = Math.max(lease, config.lease().toNanos());
        renew = Math.max(renew, config.renewInterval().toNanos());
        retry = Math.max(retry, config.retryInterval().toNanos());
        leastRetry = Math.min(leastRetry, config.retryInterval().toNanos());
        backoff =
                Math.max(backoff, config.standbyBackoff().map(Duration::toNanos).orElse(0L));
        budget = Math.max(budget, config.standDownBudget().toNanos());
        drift = Math.max(drift, config.driftBound());
        var interval = config.renewInterval().toNanos();
        var usable = config.lease().toNanos() * (1 - config.driftBound())
                - config.standDownBudget().toNanos();
        leastRoundTrip = Math.min(leastRoundTrip, Math.min(interval, (long) (usable - interval * (1 + drift))));
    }

    static Bounds of(CandidacyConfig config) {
        var bounds = new Bounds();
        bounds.add(config);
        return bounds;
    }

    /** In true time: a clock within the drift bound counts so much in no longer than this. */
    private long stretched(long nanos) {
        return (long) (nanos * (1 + drift));
    }

    /**
     * How long it may take, once all is well, until somebody leads: what is still on its way arrives and takes or
     * extends the seat (longest delay, then a lease); one who was ordered to stand down holds back (a lease); a claim
     * that got lost is given up, read back and tried again (two renew intervals and a retry), after a back-off if there
     * is one; work of an old mandate ends; one way or another a few round trips.
     */
    long recovery(FaultProfile weather, long longestWork) {
        return weather.longestDelayNanos()
                + weather.clientTimeoutNanos()
                + stretched(2 * lease + 3 * renew + 4 * retry + 3 * backoff + budget)
                + longestWork
                + 10 * weather.delayNanos()
                + slack(weather);
    }

    /**
     * How long it may take until another leads when the leader, whose lease this is, is killed: its last renewal is on
     * its way; then the lease; then the standby's claim and what answers it. A standby that reckons by a faster clock
     * asks too early, once or twice.
     */
    long failover(FaultProfile weather, long leaseOfTheDead) {
        return stretched(leaseOfTheDead + 2 * retry + 3 * backoff) + 8 * weather.delayNanos() + slack(weather);
    }

    /** How long it may take to end a candidacy in order, when all is well. */
    long closing(FaultProfile weather, long longestWork) {
        return stretched(budget + 3 * renew) + longestWork + 8 * weather.delayNanos() + slack(weather);
    }

    /**
     * For how long a leader surely rides through an outage: two renewals may have to be missed on either side of it.
     */
    long outage(FaultProfile weather) {
        return (long) (lease * (1 - drift))
                - budget
                - stretched(2 * renew + 3 * retry)
                - 4 * weather.delayNanos()
                - slack(weather);
    }

    /** Whether messages are fast enough, against these settings, for leadership to be had and kept. */
    boolean feasible(FaultProfile weather) {
        return leastRoundTrip > (long) (2.2 * weather.delayNanos() * weather.roundTrips()) + slack(weather);
    }

    /**
     * Whether others hold back for a successor for long enough, against what messages take: they do so for a retry
     * interval from when they hear that it is ready, and again from when they hear that the seat is vacant. In the
     * first the leader reads, stands down and releases; in the second the successor hears of it and claims.
     */
    boolean keepsCourtesy(FaultProfile weather) {
        return feasible(weather) && leastRetry > COURTESY_DELAYS * weather.delayNanos() + slack(weather);
    }

    /** Timers are late; and a standby adds a millisecond. */
    private static long slack(FaultProfile weather) {
        return 10 * weather.latenessNanos() + 5_000_000;
    }

    long lease() {
        return lease;
    }

    /** How long a candidate counts as one when it is heard of no more. */
    long patience() {
        return stretched(2 * (2 * lease + backoff));
    }
}
