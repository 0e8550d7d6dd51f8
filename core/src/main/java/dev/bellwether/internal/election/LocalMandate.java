package dev.bellwether.internal.election;

import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A mandate. Thread-safe: written by the loop, read by anyone. */
public final class LocalMandate implements Mandate {
    private final String election;
    private final String candidate;
    private final long token;
    private final Clock clock;

    /** Null once the mandate is over; never set again after that. */
    private volatile @Nullable Validity validity;
    /** When the seat may pass to another, also once the mandate is over. Loop only. */
    private long endNanos;
    /** The same on the wall clock. */
    private long endWallMillis;

    LocalMandate(String election, String candidate, long token, Validity validity, Clock clock) {
        this.election = election;
        this.candidate = candidate;
        this.token = token;
        this.validity = validity;
        endNanos = validity.endNanos();
        endWallMillis = validity.endWallMillis();
        this.clock = clock;
    }

    @Override
    public String election() {
        return election;
    }

    @Override
    public String candidate() {
        return candidate;
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public boolean isValid() {
        var v = validity;
        return v != null && v.holds(clock);
    }

    @Override
    public Duration remaining() {
        var v = validity;
        return v == null ? Duration.ZERO : Duration.ofNanos(v.remainingNanos(clock.now()));
    }

    @Override
    public void ensure(Duration atLeast) {
        var left = remaining();
        if (left.isZero() || left.compareTo(atLeast) < 0) {
            throw new NotLeaderException("mandate %d of %s in election \"%s\" %s"
                    .formatted(
                            token,
                            candidate,
                            election,
                            left.isZero()
                                    ? "is over"
                                    : "holds for " + Durations.show(left) + " only, and you asked for "
                                            + Durations.show(atLeast)));
        }
    }

    @Override
    public String toString() {
        return "mandate " + token + " of " + candidate + " in \"" + election + '"';
    }

    @Nullable
    Validity validity() {
        return validity;
    }

    /** Loop only. */
    void extend(Validity later) {
        validity = later;
        endNanos = later.endNanos();
        endWallMillis = later.endWallMillis();
    }

    /** Returns when the seat may pass to another, also once the mandate is over. Loop only. */
    long endNanos() {
        return endNanos;
    }

    /** Returns the same on the wall clock. Loop only. */
    long endWallMillis() {
        return endWallMillis;
    }

    /** Loop only. */
    public void end() {
        validity = null;
    }
}
