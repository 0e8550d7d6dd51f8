package dev.bellwether;

import java.util.List;

/**
 * A turn in the life of a roster's member. Roles come and go by partitions: those of one event share one mandate.
 * Nothing is told of a partition that has no roles.
 *
 * <p>Every role that was {@link Gained} is, before it is gained again, {@link Revoked} or {@link Fenced} once, or first
 * the one and then the other when the stand-down overran its budget. A new subtype would break exhaustive switches and
 * is therefore a major release.
 */
public sealed interface RosterEvent {

    /** Returns the name of the roster. */
    String roster();

    /** We lead these roles. Prepare what that takes; their tasks begin after you have returned. */
    record Gained(List<Integer> roles, Mandate mandate) implements RosterEvent {
        @Override
        public String roster() {
            return rosterOf(mandate);
        }
    }

    /**
     * These roles move on in order: {@link Roster#leads} is false for them already. Finish or put away what is half
     * done, then return: in the exclusive modes the next leader waits for that, within the stand-down budget.
     * {@link Cause#ENDED} says that the number of roles became smaller.
     */
    record Revoked(List<Integer> roles, Mandate mandate, Cause cause) implements RosterEvent {
        @Override
        public String roster() {
            return rosterOf(mandate);
        }
    }

    /** It is too late: somebody else may lead these roles already, or any moment now. Stop at once, finish nothing. */
    record Fenced(List<Integer> roles, Mandate mandate, Cause cause) implements RosterEvent {
        @Override
        public String roster() {
            return rosterOf(mandate);
        }
    }

    /** An error that no retry can fix has ended our membership. */
    record Failed(String roster, ElectionException error) implements RosterEvent {}

    /**
     * Its election is the roster's name with the partition, such as {@code pricing[17]}, and with the group, unless
     * that is the default: {@code pricing[b/17]}.
     */
    private static String rosterOf(Mandate mandate) {
        var election = mandate.election();
        var partition = election.lastIndexOf('[');
        return partition < 0 ? election : election.substring(0, partition);
    }
}
