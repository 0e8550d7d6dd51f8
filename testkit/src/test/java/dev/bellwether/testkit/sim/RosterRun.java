package dev.bellwether.testkit.sim;

import dev.bellwether.RosterMode;
import java.util.function.LongFunction;

/** Simulates rosters over whatever core this class was loaded with, one mode after the other. Speaks in types of the JDK only. */
public final class RosterRun implements LongFunction<String[]> {
    /** For reflection. */
    public RosterRun() {}

    /** Returns the seed and the invariant of what was found, and its trace; or the last report alone. */
    @Override
    public String[] apply(long seeds) {
        try {
            var report = "";
            for (var mode : RosterMode.values()) {
                report = RosterSimulation.of(mode).seeds(seeds).run().toString();
            }
            return new String[] {report};
        } catch (Violation found) {
            return new String[] {String.valueOf(found.seed()), found.invariant(), String.valueOf(found.getMessage())};
        }
    }
}
