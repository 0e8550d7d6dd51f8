package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.time.Duration;

/**
 * By what rules others, who know nothing of us, hold elections on the same records. They take a record over when they
 * have seen it unchanged for a lease, as we do; but one of theirs that cannot reach the store may lead on for a while
 * after that. So a winner of ours waits until that is over. Immutable.
 *
 * @param lease the shortest lease that one of them is configured with; zero if there are no others
 * @param grace for how long one of them may lead on after its lease is over, or after it was seen to release it
 * @param clockError by how much their clocks may differ from ours; zero if they do not go by what a record says of time
 */
public record ForeignRules(Duration lease, Duration grace, Duration clockError) {
    /** There are no others. */
    public static final ForeignRules NONE = new ForeignRules(Duration.ZERO, Duration.ZERO, Duration.ZERO);

    /** Checks the values. */
    public ForeignRules {
        if (lease.isNegative() || grace.isNegative() || clockError.isNegative()) {
            throw new ElectionException("lease " + Durations.show(lease) + ", grace " + Durations.show(grace)
                    + " or clockError " + Durations.show(clockError) + " is below zero");
        }
    }

    /** Returns whether there are others. */
    public boolean apply() {
        return !lease.isZero();
    }

    /** Returns the longest lease that a candidate of ours may hold beside them. */
    public Duration longestLease() {
        return lease.minus(clockError);
    }
}
