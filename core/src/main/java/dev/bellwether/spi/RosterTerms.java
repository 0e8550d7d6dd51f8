package dev.bellwether.spi;

import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import java.time.Duration;
import java.util.Optional;

/**
 * Those settings of a member that decide whether it can share a group with others: members that do not agree in them
 * could lead one role at once. A {@link RosterCarrier} compares those of each member that joins with those of the
 * members that are there, and refuses it by {@link #refusal}. Immutable.
 *
 * @param mode what is promised of the roles
 * @param holds for how long a member leads on after the last message that counts: the threshold and the clock error
 * @param waits for how long a new owner waits before it leads: the grace period
 */
public record RosterTerms(RosterMode mode, Duration holds, Duration waits) {

    /** Returns those of these settings. */
    public static RosterTerms of(RosterConfig config) {
        return new RosterTerms(config.mode(), config.threshold().plus(config.clockError()), config.gracePeriod());
    }

    /** Returns why a member with these terms cannot join a group whose members have the others; empty if it can. */
    public Optional<String> refusal(RosterTerms group) {
        if (mode != group.mode) {
            return Optional.of("this member has mode " + mode + ", and the members of its group have " + group.mode
                    + ": they would lead one role at once. This member leads nothing. Give it mode " + group.mode
                    + ", or another group; to change the mode of a group, stop all of its members first");
        }
        if (mode == RosterMode.TIMED && waits.compareTo(group.holds) < 0) {
            return Optional.of("gracePeriod is " + waits.toMillis() + " ms here, and threshold and clockError of the"
                    + " members of the group are " + group.holds.toMillis()
                    + " ms together: they could still lead when this member begins. This member leads nothing. Give all"
                    + " members the same threshold, clockError and gracePeriod");
        }
        if (mode == RosterMode.TIMED && group.waits.compareTo(holds) < 0) {
            return Optional.of("threshold and clockError are " + holds.toMillis()
                    + " ms together here, and gracePeriod of the members of the group is " + group.waits.toMillis()
                    + " ms: this member could still lead when they begin. This member leads nothing. Give all"
                    + " members the same threshold, clockError and gracePeriod");
        }
        return Optional.empty();
    }
}
