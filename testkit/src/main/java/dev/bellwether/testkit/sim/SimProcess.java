package dev.bellwether.testkit.sim;

import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One process of a simulated world, as the code that runs in it sees it.
 *
 * <p>To be used by that code only: by {@link Application#start}, by listeners and tasks, and by what was
 * {@linkplain #spawn spawned}. One piece of code runs at a time in the whole world, so nothing need be guarded against
 * threads. When the process crashes, its code is never heard of again: it does not return from its sleep.
 */
public final class SimProcess {
    private final World world;
    private final String name;
    private final SimClock clock;
    private final SimLoop loop;
    private final Workers workers;
    private final SimStore store;
    private final @Nullable SimRecordStore records;
    private final Elections real;
    private final SimElections elections;
    private final List<ObservedCandidacy> candidacies = new ArrayList<>();
    private final Map<String, ObservedCandidacy> claimants = new HashMap<>(); // by instance
    private final List<Runnable> frozen = new ArrayList<>();
    private long frozenUntil;
    private long stalledUntil;
    private long suspendedUntil;
    private long heldUpUntil;
    private boolean leaving;
    private boolean observes;
    private boolean hangs;
    private boolean windingUp;
    private boolean dead;
    private long failsUntil;
    private double failing;
    private boolean inCore;

    SimProcess(World world, String name, SimClock clock, Simulation settings, @Nullable SimProcess original) {
        this.world = world;
        this.name = name;
        this.clock = clock;
        workers = new Workers(world, this, settings.runsAtOnce());
        loop = new SimLoop(world, this, original == null ? null : original.loop);
        store = new SimStore(world, this, original);
        records = world.records()
                .map(those -> new SimRecordStore(world, this, those, settings.underWay()))
                .orElse(null);
        var leases = records == null ? store : new SimRecordLeases(world, this, records);
        var config = ElectionsConfig.builder()
                .loop(loop)
                .executor(workers)
                .metrics(new Failures())
                .build();
        real = Elections.over(leases, config);
        elections = new SimElections(world, this, real, leases);
    }

    // ---------------------------------------------------------------- for the code that runs in it

    /** Returns the name of this process; one that replaces it has another. */
    public String name() {
        return name;
    }

    /**
     * Returns the elections of this process. They behave as the real ones do; whatever waits, waits in virtual time.
     * The executor of a {@link dev.bellwether.CandidacyConfig} is not used: all code of the process runs in its
     * simulation.
     */
    public Elections elections() {
        return elections;
    }

    /** Returns the clocks of this process: drifting, jumping, and stopping, as the world has it. */
    public Clock clock() {
        return clock;
    }

    /** Returns the source of chance of this world. Any other would make its seed useless. */
    public RandomGenerator random() {
        return world.random();
    }

    /** Returns the lease by which faults are sized in this world: a good one for your candidacies. */
    public Duration lease() {
        return Duration.ofNanos(world.weather().leaseNanos());
    }

    /** Returns the bound that the clock rates of this world keep. */
    public double driftBound() {
        return world.driftBound();
    }

    /**
     * Lets virtual time pass: at least so much, and more if the process is held up. This is where everything else
     * happens.
     *
     * @throws InterruptedException if core interrupts a listener or a task, because its time is running out
     */
    public void sleep(Duration time) throws InterruptedException {
        world.crew().sleep(time);
    }

    /** Runs code as another thread of this process, in virtual time. Returns at once. */
    public void spawn(Runnable code) {
        workers.spawn(code);
    }

    /** Fails the simulation unless something is so: {@link Simulation#run} then throws a {@link Violation}. */
    public void check(boolean holds, String fact) {
        if (!holds) {
            world.violate(fact, "in " + name, null);
        }
    }

    /** Writes a line to the trace that a failure prints. */
    public void note(String what) {
        world.trace().line(name, what);
    }

    @Override
    public String toString() {
        return name;
    }

    // ---------------------------------------------------------------- for the world

    /** Lets the present piece of code last so long, where code runs at once. */
    void busy(long nanos) {
        workers.busy(nanos);
    }

    /** The present piece of code never returns. */
    void hang() {
        hangs = true;
        workers.busy(Duration.ofDays(10_000).toNanos());
    }

    boolean hangs() {
        return hangs;
    }

    /** Returns how long a message takes at most, one way, when all is well. */
    Duration usualDelay() {
        return Duration.ofNanos(world.weather().delayNanos());
    }

    /** Runs something on a timer of this process, outside the loop. */
    void later(Duration delay, Runnable what) {
        world.agenda().in(delay.toNanos(), () -> whenRunning(what));
    }

    /** Whether the storm is over: code that misbehaves on purpose stops that now. */
    boolean isCalm() {
        return world.weather().isCalm();
    }

    /** Runs something when the piece of code that runs now has ended. */
    void afterwards(Runnable what) {
        if (!workers.held(what)) {
            what.run();
        }
    }

    /** Runs something as soon as this process does; never, if it has died. */
    void whenRunning(Runnable what) {
        if (dead) {
            return;
        }
        if (world.agenda().now() < frozenUntil || !frozen.isEmpty()) {
            frozen.add(what);
        } else {
            what.run();
        }
    }

    /** Stops the loop thread for a while. */
    void stall(long nanos, String why) {
        world.trace().line(name, "the loop stands still for %.6f s: %s".formatted(nanos / 1e9, why));
        stalledUntil = Math.max(stalledUntil, world.agenda().now() + nanos);
        world.agenda().at(stalledUntil, this::resume);
    }

    /** Stops all threads for a while. */
    void freeze(long nanos) {
        frozenUntil = Math.max(frozenUntil, world.agenda().now() + nanos);
        world.agenda().at(frozenUntil, this::resume);
    }

    /** Stops all threads and the monotonic clock for a while. */
    void suspend(long nanos) {
        clock.stop();
        suspendedUntil = Math.max(suspendedUntil, world.agenda().now() + nanos);
        freeze(nanos);
    }

    /** For a while, some of what core calls in its turns throws. */
    void fails(long nanos, double share) {
        failsUntil = world.agenda().now() + nanos;
        failing = share;
    }

    /** Runs core's own code, in which calls may throw. */
    void inCore(Runnable code) {
        var before = inCore;
        inCore = true;
        try {
            code.run();
        } finally {
            inCore = before;
        }
    }

    /** Throws, if this is the time for it and core has called. */
    void mayThrow(String what) {
        if (inCore && world.agenda().now() < failsUntil && world.random().nextDouble() < failing) {
            world.trace().line(name, "a call throws: " + what);
            if (world.random().nextBoolean()) {
                throw new PlannedError();
            }
            throw new PlannedException();
        }
    }

    static boolean isPlanned(@Nullable Throwable thrown) {
        return thrown instanceof PlannedError || thrown instanceof PlannedException;
    }

    /** As when there is no memory left. */
    private static final class PlannedError extends OutOfMemoryError {
        private static final long serialVersionUID = 1;

        private PlannedError() {
            super("as planned");
        }
    }

    private static final class PlannedException extends IllegalStateException {
        private static final long serialVersionUID = 1;

        private PlannedException() {
            super("as planned");
        }
    }

    /** Whatever was wrong is over. */
    void recover() {
        failsUntil = 0;
        frozenUntil = 0;
        stalledUntil = 0;
        suspendedUntil = 0;
        resume();
        candidacies.forEach(ObservedCandidacy::standAgain);
    }

    private void resume() {
        var now = world.agenda().now();
        if (dead) {
            return;
        }
        if (now >= suspendedUntil && clock.isStopped()) {
            clock.start();
            loop.awake();
        }
        heldUpUntil = now;
        if (now >= frozenUntil && !frozen.isEmpty()) {
            var due = List.copyOf(frozen);
            frozen.clear();
            due.forEach(what -> world.agenda().at(now, () -> whenRunning(what)));
        }
        if (loopRuns()) {
            loop.resume();
        }
    }

    boolean loopRuns() {
        return world.agenda().now() >= Math.max(frozenUntil, stalledUntil);
    }

    /** Returns since when this process has been running without being held up; only if it is running now. */
    long undisturbedSince() {
        return Math.max(loopRuns() ? heldUpUntil : Long.MAX_VALUE / 2, failsUntil);
    }

    /** The process is killed, or has exited. */
    void die() {
        dead = true;
        loop.close();
        world.server().disconnected(this);
        world.network().forget(this);
    }

    /** All candidacies resign; the process exits when they have ended. */
    void shutDown() {
        leaving = true;
        candidacies.forEach(ObservedCandidacy::resign);
    }

    boolean isLeaving() {
        return leaving;
    }

    boolean isDead() {
        return dead;
    }

    /** Ends what is left of the elections, once no candidacy is open. */
    void closeElections() {
        real.close();
    }

    /** Returns true the first time: code of the process may still have something to do. */
    boolean windsUp() {
        var first = !windingUp;
        windingUp = true;
        return first;
    }

    /** The code of the process watches an election. */
    void observing() {
        observes = true;
    }

    boolean observes() {
        return observes;
    }

    void joined(ObservedCandidacy candidacy) {
        candidacies.add(candidacy);
        if (leaving) {
            candidacy.resign(); // it was told to leave before it came to stand
        }
    }

    /** A candidacy of this process claims its seat. */
    void claims(Claim claim) {
        candidacies.stream()
                .filter(one -> one.election().equals(claim.election())
                        && one.candidate().equals(claim.candidate())
                        && !one.isClosed())
                .findFirst()
                .ifPresent(one -> claimants.put(Twin.instance(claim.nonce()), one));
    }

    /** The store has written that the seat is held under this nonce. */
    void took(String nonce) {
        var claimant = claimants.get(Twin.instance(nonce));
        if (claimant != null && claimant.departure().equals(Optional.of(Departure.CONFIRMED))) {
            world.violate(
                    "a departure that is confirmed leaves nothing behind",
                    claimant + " has left, and the store writes that it holds the seat",
                    null);
        }
    }

    List<ObservedCandidacy> candidacies() {
        return candidacies;
    }

    SimClock machineClock() {
        return clock;
    }

    SimLoop loop() {
        return loop;
    }

    Workers workers() {
        return workers;
    }

    /** Tells this process of something that is not so, or not any more. */
    void forgeNotice(RandomGenerator random) {
        if (records == null) {
            store.forge(random);
        } else {
            records.repeat(random);
        }
    }

    SimStore store() {
        return store;
    }

    /** Turns a failed assertion in the user's code, which core catches, into a failure of the simulation. */
    private final class Failures implements Metrics {
        @Override
        public void termBegan(String election, String candidate, long token) {
            mayThrow("the metrics of a term that began");
        }

        @Override
        public void termEnded(String election, String candidate, Cause cause, Duration held) {
            mayThrow("the metrics of a term that ended");
        }

        @Override
        public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
            mayThrow("the metrics of an attempt");
        }

        @Override
        public void callbackFailed(String election, String candidate, Throwable failure) {
            if (failure instanceof AssertionError) {
                world.violate(String.valueOf(failure.getMessage()), "in " + name, failure);
            }
        }
    }
}
