package dev.bellwether.internal.election;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Until when a mandate holds, on both clocks. Immutable.
 *
 * @param since the readings from which the time counts: before the request was sent that proved the leadership
 * @param deadlineNanos when the mandate ends on the monotonic clock
 * @param wallDeadlineMillis the same on the wall clock, which alone runs on while the machine is suspended
 * @param endNanos when the seat may pass to another: the deadline plus the stand-down budget
 * @param endWallMillis the same on the wall clock
 * @param slackMillis how far the wall clock may fall behind the monotonic one before that is a jump
 */
record Validity(
        Moment since,
        long deadlineNanos,
        long wallDeadlineMillis,
        long endNanos,
        long endWallMillis,
        long slackMillis) {
    static final long NANOS_PER_MILLI = 1_000_000;

    /*
     * The infrastructure keeps the seat for L by its clock, from its receipt, which is later than `since`. Our clock
     * may be slow against its clock by the drift bound, so that only L * (1 - drift) of our time is sure. The
     * stand-down budget is taken off that, so that work has this long to end after the mandate has.
     *
     * A suspended machine comes back with its monotonic clock where it was, and the wall clock moved on: so the
     * deadline is kept on both. What is left is a wall clock set back; by more than the slack, it ends the mandate too,
     * since it might hide a suspension. Milliseconds are cut off, not rounded: one is taken off the wall deadline, and
     * two are given to the slack.
     */
    static Validity of(Proof proof, Duration standDownBudget, double driftBound) {
        var guarantee = proof.guarantee().toNanos();
        var drift = (long) Math.ceil(guarantee * driftBound);
        var usable = guarantee - drift - standDownBudget.toNanos();
        var since = proof.since();
        return new Validity(
                since,
                since.nanos() + usable,
                since.wallMillis() + TimeUnit.NANOSECONDS.toMillis(usable) - 1,
                since.nanos() + guarantee - drift,
                since.wallMillis() + TimeUnit.NANOSECONDS.toMillis(guarantee - drift),
                TimeUnit.NANOSECONDS.toMillis(drift) + 2);
    }

    /** Returns for how long it holds from its proof on. */
    Duration length() {
        return Duration.ofNanos(deadlineNanos - since.nanos());
    }

    boolean holds(Clock clock) {
        return holds(clock.nanos(), clock.wallMillis());
    }

    boolean holdsAt(Moment now) {
        return holds(now.nanos(), now.wallMillis());
    }

    /** Returns how long it holds from now on by either clock, if it {@linkplain #holdsAt holds} now. */
    long remainingNanos(Moment now) {
        return Math.min(
                deadlineNanos - now.nanos(), TimeUnit.MILLISECONDS.toNanos(wallDeadlineMillis - now.wallMillis()));
    }

    /** Returns whether the clocks disagree so much that the machine was suspended, or its wall clock set. */
    boolean jumpedBy(Moment now) {
        var wall = now.wallMillis() - since.wallMillis();
        var monotonic = TimeUnit.NANOSECONDS.toMillis(now.nanos() - since.nanos());
        return Math.abs(wall - monotonic) > slackMillis;
    }

    /** Returns whether its deadline is still far: if it is over nevertheless, the wall clock was set for a while. */
    boolean isLongBefore(Moment now) {
        return deadlineNanos - now.nanos() > slackMillis * NANOS_PER_MILLI;
    }

    private boolean holds(long nanos, long wallMillis) {
        return nanos - deadlineNanos < 0
                && wallMillis < wallDeadlineMillis
                && (wallMillis - since.wallMillis() + slackMillis) * NANOS_PER_MILLI >= nanos - since.nanos();
    }
}
