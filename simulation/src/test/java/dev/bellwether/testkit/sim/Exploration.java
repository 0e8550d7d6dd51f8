package dev.bellwether.testkit.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Tries all that can happen in a {@link Chosen} world, the shortest histories first, until so many were played. Machines
 * cannot be copied, so each history is played from its beginning; one that ends in a state that was seen is not continued.
 */
final class Exploration {
    /**
     * What came of it.
     *
     * @param depth how many steps the longest histories have of which all were played
     * @param states how many different ones were seen
     * @param histories how many were played
     * @param mandates the most that there were in one history
     * @param found what must never be, and how it came to it
     */
    record Result(int depth, int states, long histories, int mandates, Optional<String> found) {
        @Override
        public String toString() {
            return "all histories of " + depth + " steps, " + histories + " played, " + states + " states, up to "
                    + mandates + " mandates in one";
        }
    }

    private final Supplier<? extends Chosen> worlds;
    private final long most;
    private final Set<Long> seen = new HashSet<>();
    private long histories;
    private int mandates;

    Exploration(Supplier<? extends Chosen> worlds, long most) {
        this.worlds = worlds;
        this.most = most;
    }

    Result run() {
        var ends = List.of(new byte[0]);
        for (var depth = 0; ; depth++) {
            var longer = new ArrayList<byte[]>();
            for (var end : ends) {
                if (histories >= most) {
                    return new Result(depth, seen.size(), histories, mandates, Optional.empty());
                }
                var found = continueFrom(end, longer);
                if (found.isPresent()) {
                    return new Result(depth, seen.size(), histories, mandates, found);
                }
            }
            if (longer.isEmpty()) {
                return new Result(depth, seen.size(), histories, mandates, Optional.empty());
            }
            ends = longer;
        }
    }

    private Optional<String> continueFrom(byte[] history, List<byte[]> longer) {
        var choices = play(history).steps().size();
        for (var choice = 0; choice < choices; choice++) {
            var next = Arrays.copyOf(history, history.length + 1);
            next[history.length] = (byte) choice;
            var world = play(next);
            mandates = Math.max(mandates, world.mandates());
            var violation = world.violation();
            if (violation != null) {
                return Optional.of(violation + told(next));
            }
            if (seen.add(StateText.number(world.state()))) {
                longer.add(next);
            }
        }
        return Optional.empty();
    }

    private Chosen play(byte[] history) {
        histories++;
        var world = worlds.get();
        for (var choice : history) {
            world.take(world.steps().get(choice));
        }
        return world;
    }

    private String told(byte[] history) {
        var world = worlds.get();
        var lines = new StringBuilder();
        for (var choice : history) {
            var step = world.steps().get(choice);
            lines.append("\n  ").append(step.name());
            world.take(step);
        }
        return lines.toString();
    }
}
