package dev.bellwether.sql;

import dev.bellwether.spi.Claim;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Who of this process is listed as a candidate, and when to give the next sign of them; and who has left, and may be
 * listed still. Confined to the queue's thread.
 */
final class PresenceSchedule {
    private static final long FIRST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Map<Entry, Sign> signs = new LinkedHashMap<>();
    /** Those who have left, until they are struck off the list. */
    private final Map<Entry, Departure> departed = new LinkedHashMap<>();

    private record Entry(String election, String candidate) {
        static Entry of(Claim claim) {
            return new Entry(claim.election(), claim.candidate());
        }
    }

    private record Sign(Claim claim, long nextNanos) {}

    /** One that left at that time is to be struck off at this, and if that fails, again so much later. */
    private record Departure(Claim claim, long leftNanos, long dueNanos, long pauseNanos) {}

    /**
     * Returns those of the claimants that are due to give a sign, the new ones included: by the last claim of each. A
     * driver may put all signs into one statement, and no statement of PostgreSQL writes a row twice.
     */
    List<Claim> due(Collection<Claim> claims, long nowNanos) {
        var due = new LinkedHashMap<Entry, Claim>();
        for (var claim : claims) {
            var sign = signs.get(Entry.of(claim));
            if (sign == null
                    || nowNanos - sign.nextNanos >= 0
                    || !sign.claim.metadata().equals(claim.metadata())) {
                due.put(Entry.of(claim), claim);
            }
        }
        return List.copyOf(due.values());
    }

    /** Returns those already known that are due to give a sign, a group of them at most. */
    List<Claim> due(long nowNanos) {
        return signs.values().stream()
                .filter(sign -> nowNanos - sign.nextNanos >= 0)
                .limit(BatchExecutor.LARGEST_GROUP)
                .map(Sign::claim)
                .toList();
    }

    /** Notes when the next sign is to be given. */
    void next(Claim claim, long nanos) {
        signs.put(Entry.of(claim), new Sign(claim, nanos));
        departed.remove(Entry.of(claim));
    }

    /** It has left: no further sign is given, and its release should strike it off the list. */
    void leave(Claim claim) {
        signs.remove(Entry.of(claim));
    }

    /** It has left, and its release has failed: it is to be struck off later. */
    void unreleased(Claim claim, long nowNanos) {
        leave(claim);
        departed.put(Entry.of(claim), new Departure(claim, nowNanos, nowNanos + FIRST_PAUSE_NANOS, FIRST_PAUSE_NANOS));
    }

    /** It is off the list, also if a claim of it was served after it had left. */
    void struck(Claim claim) {
        signs.remove(Entry.of(claim));
        departed.remove(Entry.of(claim));
    }

    /**
     * Returns those who have left, and should have been struck off by now, a group of them at most. They are due again
     * later.
     */
    List<Claim> departed(long nowNanos) {
        var due = departed.values().stream()
                .filter(one -> nowNanos - one.dueNanos >= 0)
                .limit(BatchExecutor.LARGEST_GROUP)
                .toList();
        for (var one : due) {
            var twice = Math.min(2 * one.pauseNanos, LONGEST_PAUSE_NANOS);
            departed.put(
                    Entry.of(one.claim), new Departure(one.claim, one.leftNanos, nowNanos + one.pauseNanos, twice));
        }
        return due.stream().map(Departure::claim).toList();
    }

    /** Forgets one that has left, if that is so long ago that nobody lists it any more. */
    void forget(Claim claim, Duration presence, long nowNanos) {
        departed.computeIfPresent(
                Entry.of(claim), (same, one) -> nowNanos - one.leftNanos > presence.toNanos() ? null : one);
    }

    /** Returns the earlier of the given time and that of the next sign, or of striking somebody off. */
    long earliest(long nanos) {
        var earliest = nanos;
        for (var sign : signs.values()) {
            if (sign.nextNanos - earliest < 0) {
                earliest = sign.nextNanos;
            }
        }
        for (var one : departed.values()) {
            if (one.dueNanos - earliest < 0) {
                earliest = one.dueNanos;
            }
        }
        return earliest;
    }
}
