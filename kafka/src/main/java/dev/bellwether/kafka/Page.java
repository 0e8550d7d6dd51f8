package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the journal says of one election, up to some record of it. Immutable. Times are on the monotonic clock of the reader, and count
 * from when the reader read.
 *
 * @param highest the highest token that was ever granted; 0 if none was
 * @param base what was added to the offset of the last claim to make its token
 * @param seat who claimed last; null if nobody ever did
 * @param earlier who claimed before that and may not have stopped yet
 * @param standDownToken the mandate that was last ordered to stand down
 * @param readNanos when the last record was read
 */
record Page(
        String election,
        long highest,
        long base,
        @Nullable Taken seat,
        List<Taken> earlier,
        long standDownToken,
        boolean ended,
        boolean listed,
        long era,
        List<Candidate> candidates,
        long readNanos) {

    /**
     * Somebody's claim.
     *
     * @param untilNanos until when its candidate may lead, or work, unless another record of it says more
     */
    record Taken(
            long token,
            String nonce,
            String instance,
            String candidate,
            Instant since,
            Duration lease,
            Map<String, String> metadata,
            boolean released,
            long untilNanos) {
        boolean standsAt(long nanos) {
            return !released && nanos - untilNanos < 0;
        }

        Taken releasedNow() {
            return new Taken(token, nonce, instance, candidate, since, lease, metadata, true, untilNanos);
        }

        /** Returns the same with an earlier end; the later of two concessions does not put it off. */
        Taken sooner(long nanos) {
            return nanos - untilNanos < 0 ? until(nanos) : this;
        }

        Taken until(long nanos) {
            return new Taken(token, nonce, instance, candidate, since, lease, metadata, released, nanos);
        }
    }

    static Page blank(String election, long nanos) {
        return new Page(election, 0, 0, null, List.of(), 0, false, false, 0, List.of(), nanos);
    }

    /** Returns whether the last claim is this one. */
    boolean isTakenUnder(String nonce) {
        return seat != null && seat.nonce.equals(nonce);
    }

    /** Returns who holds the seat. */
    Optional<Taken> holderAt(long nanos) {
        return seat != null && seat.standsAt(nanos) ? Optional.of(seat) : Optional.empty();
    }

    /** Returns for how long, in nanoseconds, somebody other than this instance may still lead on an earlier claim. */
    long barredNanosAt(long nanos, String instance) {
        var barred = 0L;
        for (var taken : earlier) {
            if (!taken.instance.equals(instance)) {
                barred = Math.max(barred, taken.untilNanos - nanos);
            }
        }
        return barred;
    }

    View viewAt(long nanos) {
        var holder = holderAt(nanos);
        var stale = seat == null || nanos - seat.untilNanos > 2 * seat.lease.toNanos();
        return new View(
                election,
                highest,
                holder.map(taken -> new View.Holder(taken.candidate, taken.nonce, taken.since, taken.metadata)),
                holder.map(taken -> Duration.ofNanos(taken.untilNanos - nanos)).orElse(Duration.ZERO),
                holder.isPresent() && standDownToken == holder.get().token,
                ended,
                era,
                candidates.stream().mapToInt(Candidate::priority).max().orElse(Integer.MIN_VALUE),
                stale && holder.isEmpty()
                        ? List.of()
                        : candidates.stream()
                                .map(one -> new Candidate(
                                        one.id(),
                                        one.priority(),
                                        one.metadata(),
                                        holder.isPresent()
                                                && holder.get().candidate.equals(one.id())))
                                .toList());
    }
}
