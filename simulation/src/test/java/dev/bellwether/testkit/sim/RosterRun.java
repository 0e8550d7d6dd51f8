package dev.bellwether.testkit.sim;

import dev.bellwether.RosterMode;
import java.util.function.LongFunction;

/** Simulates rosters of one mode over whatever core this class was loaded with. Speaks in types of the JDK only. */
abstract class RosterRun implements LongFunction<String[]> {
    private final RosterMode mode;

    private RosterRun(RosterMode mode) {
        this.mode = mode;
    }

    /** Returns the seed and the invariant of what was found, and its trace; or the report alone. */
    @Override
    public String[] apply(long seeds) {
        try {
            return new String[] {RosterSimulation.of(mode).seeds(seeds).run().toString()};
        } catch (Violation found) {
            return new String[] {String.valueOf(found.seed()), found.invariant(), String.valueOf(found.getMessage())};
        }
    }

    /** Made by reflection, as are the others. */
    public static final class Exclusive extends RosterRun {
        public Exclusive() {
            super(RosterMode.EXCLUSIVE);
        }
    }

    /** The paper's own. */
    public static final class Overlapping extends RosterRun {
        public Overlapping() {
            super(RosterMode.OVERLAPPING);
        }
    }

    /** The paper's exclusive one. */
    public static final class Timed extends RosterRun {
        public Timed() {
            super(RosterMode.TIMED);
        }
    }
}
