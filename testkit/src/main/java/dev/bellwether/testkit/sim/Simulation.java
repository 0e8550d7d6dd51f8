package dev.bellwether.testkit.sim;

import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Runs an {@link Application} in many simulated worlds, each drawn from a seed, and looks for one in which a promise is
 * broken.
 *
 * <pre>{@code
 * var report = Simulation.of(() -> process -> process.elections()
 *                 .stand("billing", CandidacyConfig.ofLease(process.lease()))
 *                 .whileLeading(mandate -> process.sleep(Duration.ofMillis(20)))) // where the real code works
 *         .seeds(20)
 *         .run(); // throws a Violation, which names its seed
 * }</pre>
 *
 * <p>A world has several processes, one store and a network, all in virtual time. Core runs in it unchanged. At first
 * everything goes wrong that the {@link Fault}s allow; then the faults stop, and somebody has to lead; then all leave,
 * and nothing may remain. After everything that happens, in true time, the invariants are checked, and whatever
 * {@link SimProcess#check} or an assertion of the application says.
 *
 * <p>A seed decides everything, so a failure can be seen again: it names its seed, and {@code -Dbellwether.seed=SEED}
 * runs that one alone. {@code -Dbellwether.seeds=N} changes how many are run. An application must take all chance and
 * all time from its process, and share nothing between worlds.
 *
 * <p>Not thread-safe; {@link #run} uses two threads.
 */
public final class Simulation {
    /** The system property that names the one seed to run. */
    public static final String SEED = "bellwether.seed";
    /** The system property that says how many seeds to run. */
    public static final String SEEDS = "bellwether.seeds";

    private static final int THREADS = 2;

    private final Supplier<? extends Application> applications;
    private final Set<Fault> faults = EnumSet.allOf(Fault.class);
    private Function<Clock, LeaseStore> stores = MemoryLeaseStore::new;
    private long seeds = 1_000;
    private int leastProcesses = 2;
    private int mostProcesses = 4;
    private Duration leastLease = Duration.ofSeconds(3);
    private Duration mostLease = Duration.ofSeconds(3);
    private double[] driftBounds = {0.01};
    private double leases = 20;
    private double longestWork = 2;
    private boolean atOnce;
    private boolean steady;
    private boolean handingOver;
    private boolean alone;
    private Optional<RecordTraits> records = Optional.empty();
    private Duration pace = Duration.ZERO;
    private int underWay = Integer.MAX_VALUE;

    private Simulation(Supplier<? extends Application> applications) {
        this.applications = applications;
    }

    /**
     * Simulates an application. It is asked for again for each world, so that what its processes share, such as the
     * resource that leadership protects, is new as well.
     */
    public static Simulation of(Supplier<? extends Application> applications) {
        return new Simulation(applications);
    }

    /** Runs so many seeds, from 1 on, unless a system property says otherwise. Default: 1,000. */
    public Simulation seeds(long seeds) {
        this.seeds = seeds;
        return this;
    }

    /** Begins each world with so many processes. Default: 2 to 4. */
    public Simulation processes(int least, int most) {
        leastProcesses = least;
        mostProcesses = most;
        return this;
    }

    /** Sizes delays, pauses and outages by this lease, which {@link SimProcess#lease} returns. Default: 3 s. */
    public Simulation lease(Duration lease) {
        return lease(lease, lease);
    }

    /** Sizes delays, pauses and outages by a lease that is drawn between these. */
    public Simulation lease(Duration least, Duration most) {
        leastLease = least;
        mostLease = most;
        return this;
    }

    /**
     * Lets the rates of any two clocks of a world differ by up to one of these fractions. Default: 0.01, as core
     * assumes by default.
     */
    public Simulation driftBounds(double... driftBounds) {
        this.driftBounds = driftBounds.clone();
        return this;
    }

    /** Lets the storm last so many leases. Default: 20. */
    public Simulation storm(double leases) {
        this.leases = leases;
        return this;
    }

    /**
     * Says how many leases a listener or a step of a task takes at most: after the storm, one that still runs is waited
     * for. Default: 2.
     */
    public Simulation longestWork(double leases) {
        longestWork = leases;
        return this;
    }

    /** Leaves some faults out. */
    public Simulation without(Fault... left) {
        faults.removeAll(Set.of(left));
        return this;
    }

    /**
     * Runs over this kind of store, given the clock of its machine; it must answer at once. Default:
     * {@link MemoryLeaseStore}.
     */
    public Simulation over(Function<Clock, LeaseStore> stores) {
        this.stores = stores;
        return this;
    }

    /**
     * Runs over a store that has records and no leases: each process has a record engine of its own, which reaches the
     * records through the network. There are no copies of processes then.
     */
    public Simulation overRecords() {
        return overRecords(RecordTraits.PLAIN);
    }

    /** Runs over a store of records that is like this. */
    public Simulation overRecords(RecordTraits traits) {
        records = Optional.of(traits);
        return without(Fault.CLONE);
    }

    /**
     * Lets a store of records carry out one request after the other, each in so long, and a process have so many under
     * way at a time. The rest waits in it, by urgency, for as long as core lets it.
     */
    Simulation slowly(Duration pace, int underWay) {
        this.pace = pace;
        this.underWay = underWay;
        return this;
    }

    /** Runs code of processes without threads: it must not sleep, only say how long it is busy. */
    Simulation atOnce() {
        atOnce = true;
        return this;
    }

    /**
     * Demands that leaders go on to lead when all is well: the application neither resigns nor fails of its own will.
     */
    Simulation steady() {
        steady = true;
        return this;
    }

    /** Runs one world, however many are asked for: it is as long as many. */
    Simulation alone() {
        alone = true;
        return this;
    }

    /**
     * Has seats handed over by name when the storm is over, and demands that each goes to its successor, where others
     * hold back for long enough. In every second world messages overtake each other then.
     */
    Simulation handingOver() {
        handingOver = true;
        return this;
    }

    /**
     * Runs all seeds, and returns when the last world has ended. May be called again: the same seeds are the same
     * worlds. If the thread is interrupted, it stays interrupted, and no further world begins; the report counts the
     * worlds that have ended.
     *
     * @throws Violation for the lowest seed found in whose world something was wrong
     */
    public Report run() {
        var one = Long.getLong(SEED);
        var first = one == null ? 1 : one;
        var last = one != null || alone ? first : Long.getLong(SEEDS, seeds);
        var tally = new Tally();
        return tally.run("simulation-", first, last, seed -> live(seed, false, tally), this::replay);
    }

    /** Runs one seed, with a trace. Returns what was wrong, if anything was. */
    public Optional<Violation> replay(long seed) {
        return Optional.ofNullable(live(seed, true, new Tally()));
    }

    private @Nullable Violation live(long seed, boolean traced, Tally tally) {
        try {
            var world = new World(seed, this, traced);
            var violation = world.run();
            tally.add(world.agenda(), world.invariants().mandates());
            return violation;
        } catch (Throwable e) {
            return Violation.ofAWorldThatCannotRun(seed, e);
        }
    }

    // ---------------------------------------------------------------- for the world

    Application application() {
        return applications.get();
    }

    Set<Fault> faults() {
        return faults;
    }

    LeaseStore store(Clock clock) {
        return stores.apply(clock);
    }

    int processes(RandomGenerator random) {
        return random.nextInt(leastProcesses, mostProcesses + 1);
    }

    long lease(RandomGenerator random) {
        return FaultProfile.logUniform(random, leastLease.toNanos(), mostLease.toNanos());
    }

    double driftBound(RandomGenerator random) {
        return driftBounds[random.nextInt(driftBounds.length)];
    }

    double leases() {
        return leases;
    }

    double longestWork() {
        return longestWork;
    }

    boolean runsAtOnce() {
        return atOnce;
    }

    Optional<RecordTraits> records() {
        return records;
    }

    Duration pace() {
        return pace;
    }

    int underWay() {
        return underWay;
    }

    boolean isSteady() {
        return steady;
    }

    boolean isHandingOver() {
        return handingOver;
    }

    /** Adds up what the worlds did. Thread-safe. */
    static final class Tally {
        private final AtomicLong worlds = new AtomicLong();
        private final AtomicLong nanos = new AtomicLong();
        private final AtomicLong mandates = new AtomicLong();
        private final AtomicLong events = new AtomicLong();

        /** Adds a world that has ended. */
        void add(Agenda agenda, long held) {
            worlds.incrementAndGet();
            nanos.addAndGet(agenda.now() / 1_000); // in microseconds: a million worlds would overflow
            mandates.addAndGet(held);
            events.addAndGet(agenda.entered());
        }

        /** Runs these seeds, two at a time, and throws what was wrong with the lowest seed found. */
        Report run(
                String name,
                long first,
                long last,
                LongFunction<@Nullable Violation> live,
                LongFunction<Optional<Violation>> replay) {
            var next = new AtomicLong(first);
            var found = new AtomicReference<@Nullable Violation>();
            var began = System.nanoTime();
            var threads = new Thread[last - first < 10 ? 1 : THREADS];
            for (var i = 0; i < threads.length; i++) {
                threads[i] = new Thread(
                        () -> {
                            for (var seed = next.getAndIncrement(); seed <= last; seed = next.getAndIncrement()) {
                                var violation = live.apply(seed);
                                if (violation != null) {
                                    found.accumulateAndGet(
                                            violation,
                                            (a, b) -> a == null || (b != null && b.seed() < a.seed()) ? b : a);
                                    next.set(last + 1);
                                }
                            }
                        },
                        name + i);
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
                throw replay.apply(violation.seed()).orElse(violation);
            }
            return new Report(
                    worlds.get(),
                    Duration.ofNanos(nanos.get()).multipliedBy(1_000),
                    Duration.ofNanos(System.nanoTime() - began),
                    mandates.get(),
                    events.get());
        }
    }
}
