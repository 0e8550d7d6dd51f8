package dev.bellwether.testkit.sim;

import dev.bellwether.RosterMode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
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
    private static final int THREADS = 2;

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
        var next = new AtomicLong(first);
        var found = new AtomicReference<@Nullable Violation>();
        var worlds = new AtomicLong();
        var micros = new AtomicLong();
        var mandates = new AtomicLong();
        var events = new AtomicLong();
        var began = System.nanoTime();
        var threads = new Thread[last - first < 10 ? 1 : THREADS];
        for (var i = 0; i < threads.length; i++) {
            threads[i] = new Thread(
                    () -> {
                        for (var seed = next.getAndIncrement(); seed <= last; seed = next.getAndIncrement()) {
                            var violation = live(seed, false, world -> {
                                worlds.incrementAndGet();
                                micros.addAndGet(world.agenda().now() / 1_000);
                                mandates.addAndGet(world.mandates());
                                events.addAndGet(world.agenda().entered());
                            });
                            if (violation != null) {
                                found.accumulateAndGet(
                                        violation, (a, b) -> a == null || (b != null && b.seed() < a.seed()) ? b : a);
                                next.set(last + 1);
                            }
                        }
                    },
                    "roster-simulation-" + i);
            threads[i].start();
        }
        for (var thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                next.set(last + 1);
                Thread.currentThread().interrupt();
            }
        }
        var violation = found.get();
        if (violation != null) {
            throw replay(violation.seed()).orElse(violation);
        }
        return new Report(
                worlds.get(),
                Duration.ofNanos(micros.get()).multipliedBy(1_000),
                Duration.ofNanos(System.nanoTime() - began),
                mandates.get(),
                events.get());
    }

    /** Runs one seed, with a trace. Returns what was wrong, if anything was. */
    public Optional<Violation> replay(long seed) {
        return Optional.ofNullable(live(seed, true, world -> {}));
    }

    private @Nullable Violation live(long seed, boolean traced, Consumer<RosterWorld> ended) {
        try {
            var world = new RosterWorld(seed, mode, traced);
            var violation = world.run();
            ended.accept(world);
            return violation;
        } catch (Throwable e) {
            return Violation.ofAWorldThatCannotRun(seed, e);
        }
    }
}
