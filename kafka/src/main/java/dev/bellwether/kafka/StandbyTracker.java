package dev.bellwether.kafka;

import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Optional;

/**
 * What one who stands by makes of the journal: which candidate it follows, and when the seat may have become free
 * before the group knows.
 *
 * <p>Confined to the thread of its {@link GroupSeat}.
 */
final class StandbyTracker {
    private final Standing standing;
    private final Claimant claimant;
    private final Duration lease;
    private Optional<String> following = Optional.empty();
    private boolean told;
    private long nudgedToken;
    private long nudgedNanos;

    StandbyTracker(Standing standing, Claimant claimant) {
        this.standing = standing;
        this.claimant = claimant;
        lease = standing.config().lease();
    }

    /** We lead, and follow nobody. */
    void lead() {
        following = Optional.empty();
        forget();
    }

    /** What we told may not have been heard. */
    void forget() {
        told = false;
    }

    void follow(ElectionState page, long nowNanos) {
        var ours = page.seat() != null && page.seat().instance().equals(standing.instance());
        var leader = ours ? Optional.<String>empty() : page.holderAt(nowNanos).map(ElectionState.Author::candidate);
        if (!told || !leader.equals(following)) {
            following = leader;
            told = true;
            claimant.following(leader);
        }
    }

    /** Returns when to ask for a rebalance: when the seat is free, and then once a lease for as long as it is. */
    long nudgeAtNanos(ElectionState page, long nowNanos) {
        var taken = page.seat();
        if (taken == null) {
            return nowNanos + lease.toNanos();
        }
        var free = taken.released() ? page.readNanos() : taken.untilNanos();
        return nudgedToken == taken.token() ? Math.max(free, nudgedNanos + lease.toNanos()) : free;
    }

    /** Notes that we ask now; returns whether there is a reason to. */
    boolean nudges(ElectionState page, long nowNanos) {
        var taken = page.seat();
        if (taken != null) {
            nudgedToken = taken.token();
            nudgedNanos = nowNanos;
        }
        return taken != null;
    }
}
