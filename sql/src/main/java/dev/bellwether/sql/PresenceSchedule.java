package dev.bellwether.sql;

import dev.bellwether.spi.Claim;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who of this process is listed as a candidate, and when to give the next sign of them. Confined to the queue's thread.
 */
final class PresenceSchedule {
    private final Map<Entry, Sign> signs = new LinkedHashMap<>();

    private record Entry(String election, String candidate) {
        static Entry of(Claim claim) {
            return new Entry(claim.election(), claim.candidate());
        }
    }

    private record Sign(Claim claim, long nextNanos) {}

    /** Returns those of the claimants that are due to give a sign, the new ones included. */
    List<Claim> due(Collection<Claim> claims, long nowNanos) {
        return claims.stream()
                .filter(claim -> {
                    var sign = signs.get(Entry.of(claim));
                    return sign == null
                            || nowNanos - sign.nextNanos >= 0
                            || !sign.claim.metadata().equals(claim.metadata());
                })
                .toList();
    }

    /** Returns those already known that are due to give a sign. */
    List<Claim> due(long nowNanos) {
        return signs.values().stream()
                .filter(sign -> nowNanos - sign.nextNanos >= 0)
                .map(Sign::claim)
                .toList();
    }

    /** Notes when the next sign is to be given. */
    void next(Claim claim, long nanos) {
        signs.put(Entry.of(claim), new Sign(claim, nanos));
    }

    void strike(Claim claim) {
        signs.remove(Entry.of(claim));
    }

    /** Returns the earlier of the given time and that of the next sign. */
    long earliest(long nanos) {
        var earliest = nanos;
        for (var sign : signs.values()) {
            if (sign.nextNanos - earliest < 0) {
                earliest = sign.nextNanos;
            }
        }
        return earliest;
    }
}
