package dev.bellwether.kafka;

import dev.bellwether.kafka.RosterProcess.Reign;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Who led what and when, all members of a roster together. Immutable. */
final class Reigns {
    private final Map<Integer, List<Reign>> byRole = new TreeMap<>();

    /** A time during which nobody led a role. */
    record Gap(int role, long from, long to) {
        long millis() {
            return (to - from) / 1_000_000;
        }
    }

    Reigns(Collection<RosterProcess> members) {
        for (var member : members) {
            for (var reign : member.reigns()) {
                byRole.computeIfAbsent(reign.role(), role -> new ArrayList<>()).add(reign);
            }
        }
        byRole.values().forEach(list -> list.sort(Comparator.comparingLong(Reign::first)));
    }

    int count() {
        return byRole.values().stream().mapToInt(List::size).sum();
    }

    /** Returns each reign that began before another one of the same role was over, with that one. */
    List<String> overlaps() {
        var found = new ArrayList<String>();
        byRole.values().forEach(list -> {
            var latest = list.get(0);
            for (var reign : list.subList(1, list.size())) {
                if (reign.first() <= latest.last()) {
                    found.add(reign + " during " + latest);
                }
                latest = reign.last() > latest.last() ? reign : latest;
            }
        });
        return found;
    }

    /**
     * Returns each reign whose token was no higher than that of the one before, unless it was the same member's same
     * mandate.
     */
    List<String> tokensThatDidNotRise() {
        var found = new ArrayList<String>();
        byRole.values().forEach(list -> {
            for (var i = 1; i < list.size(); i++) {
                var before = list.get(i - 1);
                var now = list.get(i);
                if (now.token() < before.token()
                        || (now.token() == before.token() && !now.who().equals(before.who()))) {
                    found.add(now + " after " + before);
                }
            }
        });
        return found;
    }

    /** Returns when nobody led, between the two instants, of these roles. */
    List<Gap> gaps(int roles, long from, long to) {
        var found = new ArrayList<Gap>();
        for (var role = 0; role < roles; role++) {
            var until = from;
            for (var reign : byRole.getOrDefault(role, List.of())) {
                if (reign.last() <= until) {
                    continue;
                }
                if (reign.first() > until && until < to) {
                    found.add(new Gap(role, until, Math.min(to, reign.first())));
                }
                until = reign.last();
            }
            if (until < to) {
                found.add(new Gap(role, until, to));
            }
        }
        return found;
    }

    /** Returns who led the roles that were led by nobody more than once between the two instants, one line for each. */
    List<String> vacantTwice(int roles, long from, long to) {
        var gaps = gaps(roles, from, to).stream()
                .collect(Collectors.groupingBy(Gap::role, TreeMap::new, Collectors.toList()));
        return gaps.entrySet().stream()
                .filter(each -> each.getValue().size() > 1)
                .map(each -> byRole.getOrDefault(each.getKey(), List.of()).stream()
                                .filter(reign -> reign.last() >= from && reign.first() <= to)
                                .toList()
                        + " for " + each.getValue())
                .toList();
    }

    /** Returns who led a role at an instant. */
    Optional<Reign> at(int role, long nanos) {
        return byRole.getOrDefault(role, List.of()).stream()
                .filter(reign -> reign.first() <= nanos && reign.last() >= nanos)
                .findFirst();
    }

    /** Returns the roles that were led by different members at the two instants, and by somebody at both. */
    List<Integer> moved(int roles, long from, long to) {
        var found = new ArrayList<Integer>();
        for (var role = 0; role < roles; role++) {
            var before = at(role, from);
            var after = at(role, to);
            if (before.isPresent()
                    && after.isPresent()
                    && !before.get().who().equals(after.get().who())) {
                found.add(role);
            }
        }
        return found;
    }

    /** Returns the roles that the same member led at the two instants, and not all the time in between. */
    List<Integer> flickered(int roles, long from, long to) {
        var found = new ArrayList<Integer>();
        for (var role = 0; role < roles; role++) {
            var before = at(role, from);
            var after = at(role, to);
            if (before.isPresent()
                    && after.isPresent()
                    && before.get().who().equals(after.get().who())
                    && !before.equals(after)) {
                found.add(role);
            }
        }
        return found;
    }
}
