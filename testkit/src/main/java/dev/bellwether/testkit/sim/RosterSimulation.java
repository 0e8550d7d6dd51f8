package dev.bellwether.testkit.sim;

import dev.bellwether.RosterMode;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Runs rosters in many simulated worlds, each drawn from a seed: the unchanged core, several members with drifting
 * clocks, and the model of a broker, {@link dev.bellwether.memory.MemoryGroups}, behind a network.
 *
 * <p>In a storm, members join, leave, crash, stand still, wholly or but for their clients, are cut off, one way or
 * both, and are thrown out of the group; messages are late and lost. Then the faults stop, every role must have one
 * leader and every member its share; then all leave. At every instant of true time: no two lead a role, and its tokens
 * rise; or, where overlap is wanted, no role is without a leader, unless one has crashed, and then for two leases at
 * most. Events come paired.
 *
 * <p>{@code -Dbellwether.seed=SEED} runs one world alone, {@code -Dbellwether.seeds=N} so many.
 */
public final class RosterSimulation {
    private final RosterMode mode;
    private long seeds = 1_000;

    private RosterSimulation(RosterMode mode) {
        this.mode = mode;
    }

    /** Simulates rosters of this mode. */
    public static RosterSimulation of(RosterMode mode) {
        return new RosterSimulation(mode);
    }

    /** Runs so many seeds, from 1 on, unless a system property says otherwise. Default: 1,000. */
    public RosterSimulation seeds(long seeds) {
        this.seeds = seeds;
        return this;
    }

    /**
     * Runs all seeds.
     *
     * @throws Violation for the lowest seed found in whose world something was wrong
     */
    public Report run() {
        var one = Long.getLong(Simulation.SEED);
        var first = one == null ? 1 : one;
        var last = one == null ? Long.getLong(Simulation.SEEDS, seeds) : first;
        var tally = new Simulation.Tally();
        return tally.run("roster-simulation-", first, last, seed -> live(seed, false, tally), this::replay);
    }

    /** Runs one seed, with a trace. Returns what was wrong, if anything was. */
    public Optional<Violation> replay(long seed) {
        return Optional.ofNullable(live(seed, true, new Simulation.Tally()));
    }

    private @Nullable Violation live(long seed, boolean traced, Simulation.Tally tally) {
        try {
            var world = new RosterWorld(seed, mode, traced);
            var violation = world.run();
            tally.add(world.agenda(), world.mandates());
            return violation;
        } catch (Throwable e) {
            return Violation.ofAWorldThatCannotRun(seed, e);
        }
    }
}
