package dev.bellwether.testkit.sim;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A world in which something was not as it must be: which seed, which invariant, how it came about, and how to see it
 * again.
 */
public final class Violation extends AssertionError {
    /** What does not hold if anything is thrown that no check has caught. */
    static final String RUNS = "the simulation runs";

    private static final long serialVersionUID = 1;

    private final long seed;
    private final String invariant;

    Violation(
            long seed,
            String invariant,
            String detail,
            String weather,
            List<String> trace,
            long dropped,
            @Nullable Throwable cause) {
        super(
                "seed %d: \"%s\" does not hold: %s%nTo see it again: -D%s=%d%nThe world: %s%n%s%s"
                        .formatted(
                                seed,
                                invariant,
                                detail,
                                Simulation.SEED,
                                seed,
                                weather,
                                dropped == 0 ? "" : "(%d lines before that)%n".formatted(dropped),
                                String.join(System.lineSeparator(), trace)),
                cause);
        this.seed = seed;
        this.invariant = invariant;
    }

    /** What ended a world, or kept it from beginning, without an invariant that was broken. */
    static Violation ofAWorldThatCannotRun(long seed, Throwable cause) {
        return new Violation(seed, RUNS, String.valueOf(cause), "could not be made", List.of(), 0, cause);
    }

    /** Returns the seed of the world. */
    public long seed() {
        return seed;
    }

    /** Returns what should hold and did not. */
    public String invariant() {
        return invariant;
    }
}
