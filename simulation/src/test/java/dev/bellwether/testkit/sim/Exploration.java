package dev.bellwether.testkit.sim;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Tries all that can happen in a {@link Chosen} world, the shortest histories first, to a depth or until so many were
 * played. Machines cannot be copied, so each history is played from its beginning; one that ends in a state that was seen
 * is not continued.
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

    /** A history that ends in a state that was not seen before, and how many things can happen next. */
    private static final class End {
        private final byte[] history;
        private final int choices;

        private End(byte[] history, int choices) {
            this.history = history;
            this.choices = choices;
        }
    }

    private final Supplier<? extends Chosen> worlds;
    private final int deepest;
    private final long most;
    private final Set<Long> seen = new HashSet<>();
    private long histories;
    private int mandates;
    private Optional<String> found = Optional.empty();

    Exploration(Supplier<? extends Chosen> worlds, int deepest, long most) {
        this.worlds = worlds;
        this.deepest = deepest;
        this.most = most;
    }

    Result run() {
        var ends = new ArrayList<End>();
        tryOne(new byte[0], ends);
        var depth = 0;
        while (depth < deepest && !ends.isEmpty() && found.isEmpty()) {
            var longer = new ArrayList<End>();
            for (var end : ends) {
                if (!tryAllAfter(end, longer)) {
                    return result(depth);
                }
            }
            ends = longer;
            depth++;
        }
        return result(depth);
    }

    private Result result(int depth) {
        return new Result(depth, seen.size(), histories, mandates, found);
    }

    /** Returns false when there is nothing more to do. */
    private boolean tryAllAfter(End end, List<End> longer) {
        for (var choice = 0; choice < end.choices; choice++) {
            var next = Arrays.copyOf(end.history, end.history.length + 1);
            next[end.history.length] = (byte) choice;
            tryOne(next, longer);
            if (found.isPresent() || histories >= most) {
                return false;
            }
        }
        return true;
    }

    private void tryOne(byte[] history, List<End> ends) {
        histories++;
        var world = worlds.get();
        for (var choice : history) {
            world.take(world.steps().get(choice));
        }
        mandates = Math.max(mandates, world.mandates());
        var violation = world.violation();
        if (violation != null) {
            found = Optional.of(violation + told(history));
        } else if (seen.add(StateText.number(world.state()))) {
            ends.add(new End(history, world.steps().size()));
        }
    }

    private String told(byte[] history) {
        var world = worlds.get();
        var lines = new StringBuilder();
        world.begun().forEach(step -> lines.append("\n  before: ").append(step));
        for (var choice : history) {
            var step = world.steps().get(choice);
            lines.append("\n  ").append(step.name().get());
            world.take(step);
        }
        return lines.toString();
    }
}
