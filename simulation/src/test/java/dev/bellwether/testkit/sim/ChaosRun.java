package dev.bellwether.testkit.sim;

import java.util.function.LongFunction;

/**
 * Runs chaos over whatever core this class was loaded with. Speaks in types of the JDK only, since its caller knows
 * another core.
 */
public final class ChaosRun implements LongFunction<String[]> {
    /** For reflection. */
    public ChaosRun() {}

    /** Returns the seed and the invariant of what was found, and its trace; or the report alone. */
    @Override
    public String[] apply(long seeds) {
        return run(Chaos.simulation().seeds(seeds));
    }

    static String[] run(Simulation simulation) {
        try {
            return new String[] {simulation.run().toString()};
        } catch (Violation found) {
            return new String[] {String.valueOf(found.seed()), found.invariant(), String.valueOf(found.getMessage())};
        }
    }
}
