package dev.bellwether.testkit.sim;

import dev.bellwether.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Looks at all candidacies after everything that happens, in true time.
 *
 * <p>Looking after each event is enough to see every overlap: time alone ends mandates and begins none, so two that
 * overlap do so from an event on. A process that is paused counts as well: it might run again now and ask.
 */
final class Invariants {
    /** Core looks at the clocks at least so often; then what has overrun its time is told. */
    private static final long SWEEP_NANOS = 500_000_000L;

    private final World world;
    private final Map<String, Seat> seats = new TreeMap<>();
    private long mandates;

    Invariants(World world) {
        this.world = world;
    }

    void joined(ObservedCandidacy candidacy) {
        var seat = seats.computeIfAbsent(candidacy.election(), name -> new Seat());
        seat.candidacies.add(candidacy);
        seat.bounds.add(candidacy.config());
    }

    /** A process has died: nothing of it counts any more. */
    void died(SimProcess process) {
        seats.values().forEach(seat -> seat.candidacies.removeIf(one -> one.process() == process));
    }

    /** A mandate was seen for the first time. */
    void began(ObservedCandidacy candidacy) {
        mandates++;
        var seat = seat(candidacy.election());
        if (candidacy.token() <= seat.topToken) {
            world.violate(
                    "tokens rise",
                    "%s leads under token %d, but %d was seen before"
                            .formatted(candidacy, candidacy.token(), seat.topToken),
                    null);
        }
        seat.topToken = candidacy.token();
    }

    void look() {
        var now = world.agenda().now();
        for (var seat : seats.values()) {
            ObservedCandidacy leader = null;
            for (var one : seat.candidacies) {
                if (one.look(now)) {
                    if (leader != null) {
                        world.violate(
                                "no two mandates of an election overlap",
                                "%s (token %d) and %s (token %d) both lead"
                                        .formatted(leader, leader.token(), one, one.token()),
                                null);
                    }
                    leader = one;
                }
            }
            seat.leader = leader;
            if (leader != null) {
                for (var other : seat.candidacies) {
                    if (other != leader && other.works()) {
                        checkWork(now, leader, other);
                    }
                }
            }
        }
    }

    /**
     * Work whose mandate has ended has the seat to itself until its budget has run out; and must then be told that it
     * has.
     */
    private void checkWork(long now, ObservedCandidacy leader, ObservedCandidacy other) {
        var budget = other.config().standDownBudget().toNanos();
        var drift = other.config().driftBound();
        var since = now - other.validUntil();
        if (since < (long) (budget * (1 - drift)) - 1) {
            world.violate(
                    "nobody leads before the predecessor's work has ended or its budget is used up",
                    ("%s leads under token %d, but work of %s under token %d is running, %s after its mandate ended;"
                                    + " its budget is %s")
                            .formatted(
                                    leader,
                                    leader.token(),
                                    other,
                                    other.token(),
                                    Duration.ofNanos(since),
                                    other.config().standDownBudget()),
                    null);
        }
        var untold = now - Math.max(other.validUntil() + budget, other.process().undisturbedSince());
        if (untold > SWEEP_NANOS * 1.2 + world.weather().latenessNanos()) {
            var phase = other.status().phase();
            if (phase == Phase.LEADING || phase == Phase.STANDING_DOWN) {
                world.violate(
                        "work that outlasts the seat is fenced",
                        "%s leads, the budget of %s was used up %s ago, but it is %s"
                                .formatted(leader, other, Duration.ofNanos(untold), phase),
                        null);
            }
        }
    }

    Map<String, Seat> seats() {
        return seats;
    }

    Seat seat(String election) {
        var seat = seats.get(election);
        if (seat == null) {
            throw new IllegalStateException("nobody ever stood for \"" + election + '"');
        }
        return seat;
    }

    long mandates() {
        return mandates;
    }

    /** What is known of one election. */
    static final class Seat {
        private final List<ObservedCandidacy> candidacies = new ArrayList<>();
        private final Bounds bounds = new Bounds();
        private long topToken;
        private @Nullable ObservedCandidacy leader;

        /** Returns the candidacies of living processes. */
        List<ObservedCandidacy> candidacies() {
            return candidacies;
        }

        /** Returns who leads at this instant. */
        @Nullable
        ObservedCandidacy leader() {
            return leader;
        }

        /** Returns the longest durations among all who ever stood. */
        Bounds bounds() {
            return bounds;
        }

        long topToken() {
            return topToken;
        }
    }
}
