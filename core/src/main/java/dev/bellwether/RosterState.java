package dev.bellwether;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * A roster from outside, as its infrastructure tells: who is a member of which group, and which partitions the group
 * has given to which member. A display, not a lock: an owner leads a little later than it owns, and a former owner may
 * lead on for as long as its mode allows.
 *
 * @param partitions how many there are: role <em>j</em> belongs to partition <em>j mod partitions</em>
 */
public record RosterState(String roster, int partitions, List<Group> groups) {

    /** A group, each of which has an owner for every partition while it has a member. */
    public record Group(String group, List<Member> members) {
        public Group {
            members = List.copyOf(members);
        }

        /** Returns how many partitions are nobody's at present, of so many. */
        public int vacant(int partitions) {
            return partitions
                    - members.stream()
                            .mapToInt(member -> member.partitions().size())
                            .sum();
        }
    }

    /**
     * A member, and what it has, in rising order.
     *
     * @param host where it comes from, as the infrastructure sees it; empty if that is not known
     */
    public record Member(String member, String host, List<Integer> partitions) {
        public Member {
            partitions = partitions.stream().sorted().toList();
        }
    }

    public RosterState {
        groups = List.copyOf(groups);
    }

    /**
     * Returns what an operator should fix, a sentence each, as far as it can be told from outside: what the paper
     * about NELI advises on the number of partitions, and on keeping groups apart.
     */
    public List<String> advice() {
        var advice = new ArrayList<String>();
        for (var group : groups) {
            for (var each : RosterRules.sizing(partitions, group.members().size())) {
                advice.add("roster \"" + roster + "\", group " + group.group() + ": " + each);
            }
        }
        var hosts = new TreeMap<String, String>();
        for (var group : groups) {
            for (var member : group.members()) {
                var other = member.host().isEmpty() ? null : hosts.putIfAbsent(member.host(), group.group());
                if (other != null && !other.equals(group.group())) {
                    advice.add("roster \"" + roster + "\": groups " + other + " and " + group.group()
                            + " both have members on "
                            + member.host()
                            + ": with that machine, a role may lose all its leaders; keep the groups on"
                            + " separate machines");
                    return List.copyOf(advice);
                }
            }
        }
        return List.copyOf(advice);
    }

    /** Returns the roles of a member, in rising order, if there are so many roles in all. */
    public List<Integer> roles(Member member, int roles) {
        return IntStream.range(0, roles)
                .filter(role -> member.partitions().contains(role % partitions))
                .boxed()
                .toList();
    }
}
