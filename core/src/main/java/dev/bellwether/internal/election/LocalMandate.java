package dev.bellwether.internal.election;

import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A mandate. Thread-safe: written by the loop, read by anyone. */
public final class LocalMandate implements Mandate {
    private static final Logger log = LoggerFactory.getLogger(Mandate.class);

    private final String election;
    private final String candidate;
    private final long token;
    private final Clock clock;

    /** Null once the mandate is over: ended by the loop, or seen to be over by anyone. Never set again after that. */
    private final AtomicReference<@Nullable Validity> validity;

    private final AtomicBoolean warned = new AtomicBoolean();
    /** What it was at last, also once the mandate is over. Loop only. */
    private Validity last;
    /** By the loop, and not because its time is over. Loop only. */
    private boolean ended;

    LocalMandate(String election, String candidate, long token, Validity validity, Clock clock) {
        this.election = election;
        this.candidate = candidate;
        this.token = token;
        this.validity = new AtomicReference<>(validity);
        last = validity;
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
        while (true) {
            var v = validity.get();
            if (v == null) {
                return false;
            } else if (v.holds(clock)) {
                return true;
            }
            validity.compareAndSet(v, null); // if it fails, it was extended while we were held up: look again
        }
    }

    @Override
    public Duration remaining() {
        while (true) {
            var v = validity.get();
            if (v == null) {
                return Duration.ZERO;
            }
            var now = clock.now();
            if (v.holdsAt(now)) {
                return Duration.ofNanos(v.remainingNanos(now));
            } else if (!v.holds(clock)) { // else we were held up between the two clocks
                validity.compareAndSet(v, null);
            }
        }
    }

    @Override
    public void ensure(Duration atLeast) {
        var left = remaining();
        if (left.isZero()) {
            throw new NotLeaderException(describe("is over"));
        } else if (left.compareTo(atLeast) < 0) {
            var refusal = describe(
                    "holds for " + Durations.show(left) + " only, and you asked for " + Durations.show(atLeast));
            var present = validity.get();
            if (present != null && present.length().compareTo(atLeast) < 0) {
                refusal += ": the last renewal gave it no more than " + Durations.show(present.length())
                        + ". Ask for less, or make the lease longer";
                warnOnce(refusal);
            }
            throw new NotLeaderException(refusal);
        }
    }

    private String describe(String how) {
        return "mandate %d of %s in election \"%s\" %s".formatted(token, candidate, election, how);
    }

    /** A task that is refused each time would be run again and again, and nobody would know why it does nothing. */
    private void warnOnce(String refusal) {
        if (warned.compareAndSet(false, true)) {
            Quietly.run(() -> log.warn("{}", refusal));
        }
    }

    @Override
    public String toString() {
        return "mandate " + token + " of " + candidate + " in \"" + election + '"';
    }

    /** Returns until when it holds; null once it is over. */
    @Nullable
    Validity validity() {
        return validity.get();
    }

    /** Loop only. Extends it, unless it is over. Returns whether it is not. */
    boolean extend(Validity later) {
        var extended = validity.compareAndSet(last, later);
        if (extended) {
            last = later;
        }
        return extended;
    }

    /** Returns until when it held, also once it is over. Loop only. */
    Validity last() {
        return last;
    }

    /** Loop only. */
    public void end() {
        ended = true;
        validity.set(null);
    }

    /** Returns whether {@link #end} was called. Loop only. */
    boolean isEnded() {
        return ended;
    }
}
