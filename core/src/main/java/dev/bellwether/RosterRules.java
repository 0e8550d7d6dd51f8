package dev.bellwether;

import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What the paper about NELI asks of the settings of a roster, and what it advises: the one is refused, the other said.
 */
final class RosterRules {
    /** Members of a group with fewer partitions than this each may have shares that differ by a good deal. */
    private static final int FEW_PARTITIONS = 4;

    private RosterRules() {}

    /** Refuses what the protocol would not hold with. */
    static void check(RosterConfig config) {
        if (config.mode() == RosterMode.EXCLUSIVE) {
            return;
        }
        var threshold = config.threshold();
        if (config.mode() == RosterMode.TIMED) {
            checkTimed(config, threshold);
        }
        var broadcast = config.broadcastInterval().multipliedBy(config.groups());
        if (threshold.compareTo(broadcast.multipliedBy(2)) <= 0) {
            throw new ElectionException(
                    "threshold " + Durations.show(threshold) + " is not above twice the broadcast interval "
                            + Durations.show(config.broadcastInterval()) + " of " + config.groups()
                            + " group(s): roles would be without a leader between two messages; make the"
                            + " threshold longer, or broadcast more often");
        }
        if (config.mode() == RosterMode.OVERLAPPING
                && threshold.compareTo(config.lease().plus(broadcast.multipliedBy(2))) < 0) {
            throw new ElectionException(
                    "threshold " + Durations.show(threshold) + " is not above lease " + Durations.show(config.lease())
                            + " and two broadcasts of " + Durations.show(broadcast)
                            + ": roles would be without a leader while they move; make the threshold longer, or choose "
                            + RosterMode.EXCLUSIVE);
        }
        if (config.mode() == RosterMode.TIMED
                && threshold.plus(config.clockError()).compareTo(config.lease()) >= 0) {
            throw new ElectionException(
                    "threshold " + Durations.show(threshold) + " and clockError " + Durations.show(config.clockError())
                            + " are not less than lease " + Durations.show(config.lease())
                            + ": a former leader could outlast its session; make the threshold shorter");
        }
        var least = threshold.plus(config.clockError());
        if (config.mode() == RosterMode.TIMED && config.gracePeriod().compareTo(least) < 0) {
            throw new ElectionException("gracePeriod " + Durations.show(config.gracePeriod())
                    + " is shorter than threshold " + Durations.show(threshold)
                    + " and clockError " + Durations.show(config.clockError())
                    + " together: a former leader that learns late of a rebalance would lead beside the new one; "
                    + "make it "
                    + Durations.show(least) + ", or leave it out");
        }
    }

    /** A leader's mandate lasts as long as the threshold, of which drift and the stand-down budget are taken. */
    private static void checkTimed(RosterConfig config, Duration threshold) {
        if (threshold.compareTo(SettingChecks.SHORTEST_LEASE) < 0) {
            throw new ElectionException("threshold " + Durations.show(threshold) + " is too short for mode "
                    + RosterMode.TIMED + ": it must be at least " + Durations.show(SettingChecks.SHORTEST_LEASE));
        }
        var usable = threshold.minusNanos((long) Math.ceil(threshold.toNanos() * config.driftBound()));
        if (config.standDownBudget().compareTo(usable) >= 0) {
            throw new ElectionException("standDownBudget " + Durations.show(config.standDownBudget())
                    + " leaves nothing of threshold " + Durations.show(threshold) + ", which bounds a mandate in mode "
                    + RosterMode.TIMED + " (" + Durations.show(usable) + " may be used at driftBound "
                    + config.driftBound() + "; lease " + Durations.show(config.lease())
                    + "): make the budget shorter, or the threshold longer");
        }
        var mandate = usable.minus(config.standDownBudget());
        var broadcast = config.broadcastInterval().multipliedBy(config.groups());
        if (mandate.compareTo(broadcast.multipliedBy(2)) <= 0) {
            throw new ElectionException("standDownBudget " + Durations.show(config.standDownBudget()) + " leaves "
                    + Durations.show(mandate) + " of threshold " + Durations.show(threshold)
                    + ", which bounds a mandate in mode " + RosterMode.TIMED + ": that is not above twice the broadcast"
                    + " interval " + Durations.show(config.broadcastInterval()) + " of " + config.groups()
                    + " group(s), so roles would be without a leader between two messages; make the budget shorter, the"
                    + " threshold longer, or broadcast more often");
        }
    }

    /** Returns what is allowed and not advisable. */
    static List<String> advice(RosterConfig config) {
        var advice = new ArrayList<String>();
        if (config.partitions() > 2 * config.roles()) {
            advice.add("partitions is " + config.partitions() + " for " + config.roles()
                    + " role(s): partitions without a role still count as a share, so that some members may lead"
                    + " nothing; have no more partitions than roles");
        }
        switch (config.mode()) {
            case EXCLUSIVE -> {}
            case OVERLAPPING -> adviseOverlapping(config, advice);
            case TIMED -> adviseTimed(config, advice);
        }
        if (config.groups() > 1 && config.mode() != RosterMode.EXCLUSIVE) {
            advice.add(config.groups()
                    + " groups share the topic: where the cost of partitions allows it, a topic for each group keeps"
                    + " their failures apart");
        }
        if (config.groups() > 1 && config.group().equals("main")) {
            advice.add("groups is " + config.groups() + ", and group is the default, \"main\": if all members keep it,"
                    + " they are one group; name each, such as \"a\" and \"b\"");
        }
        return List.copyOf(advice);
    }

    private static void adviseOverlapping(RosterConfig config, List<String> advice) {
        if (config.threshold().compareTo(config.lease().multipliedBy(10)) > 0) {
            advice.add("threshold " + Durations.show(config.threshold()) + " is more than ten times lease "
                    + Durations.show(config.lease())
                    + ": a member that was cut off leads for that long beside its successor");
        }
        if (config.lease().compareTo(Duration.ofSeconds(10)) > 0 && config.groups() == 1) {
            advice.add("lease is " + Durations.show(config.lease())
                    + ": after a crash, roles are without a leader for that long; for near-"
                    + "continuous availability take the shortest that your brokers and machines tolerate, "
                    + "or a second group");
        }
    }

    private static void adviseTimed(RosterConfig config, List<String> advice) {
        var longest = config.lease().multipliedBy(4).dividedBy(5);
        if (config.threshold().plus(config.clockError()).compareTo(longest) > 0) {
            advice.add("threshold " + Durations.show(config.threshold()) + " and clockError "
                    + Durations.show(config.clockError())
                    + " are more than four fifths of lease " + Durations.show(config.lease())
                    + ": the paper wants them significantly less, because work that has begun takes time to end");
        }
    }

    /** The same, knowing how many members there are. */
    static List<String> advice(RosterConfig config, int members) {
        var advice = new ArrayList<>(advice(config));
        advice.addAll(sizing(config.partitions(), members));
        return List.copyOf(advice);
    }

    /** Returns what is to say of so many partitions for so many members. */
    static List<String> sizing(int partitions, int members) {
        if (members > partitions) {
            return List.of(members + " members share " + partitions + " partition(s): " + (members - partitions)
                    + " of them will lead nothing; have at least as many partitions as members");
        }
        if (members > 0 && partitions % members != 0 && partitions / members < FEW_PARTITIONS) {
            return List.of(members + " members share " + partitions
                    + " partitions: some lead up to twice as much as others; have several partitions for each member");
        }
        return List.of();
    }
}
