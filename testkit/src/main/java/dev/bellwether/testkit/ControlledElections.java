package dev.bellwether.testkit;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.Clock;
import java.time.Duration;

/**
 * Elections for unit tests, where the test says who leads and how time passes.
 *
 * <p>Give {@link #elections()} to the code under test; decide by {@link #election}: {@code acquire}, {@code revoke},
 * {@code fence}, {@code fail}. Everything else is the real thing: the same machine makes the deadlines, the events and
 * their order. Nobody leads before the test says so.
 *
 * <p>Synchronous and deterministic: there is no thread. Listeners and tasks run on the thread that brings them about,
 * and when a method here returns, all that it entails has happened. Time stands still but for {@link #advance} and
 * {@link #pause}; only {@code await}, {@code pulse} and {@code close} bound their waits by the real clock. Thread-safe,
 * so that code under test may have threads of its own; a listener that blocks, blocks the test. Not to be called from
 * listeners or tasks.
 */
public final class ControlledElections implements AutoCloseable {
    private final ControlledLoop loop = new ControlledLoop();
    private final ControlledArbiter arbiter = new ControlledArbiter(loop);
    private final Elections elections = Elections.over(
            arbiter,
            ElectionsConfig.builder().loop(loop).executor(Runnable::run).build());

    /** Begins with nobody standing, at the first moment of 2026. */
    public ControlledElections() {}

    /** Returns what the code under test uses. */
    public Elections elections() {
        return elections;
    }

    /** Returns the election of this name, to be controlled. */
    public ControlledElection election(String name) {
        return new ControlledElection(name, arbiter, loop);
    }

    /** Returns the clock, which only the test moves. */
    public Clock clock() {
        return loop.clock();
    }

    /**
     * Lets time pass, and does at its time whatever becomes due: renewals, which are granted unless the election
     * {@linkplain ControlledElection#goSilent is silent}, the next steps of tasks, deadlines.
     */
    public void advance(Duration time) {
        loop.advance(time);
    }

    /**
     * Lets time pass while the process does not run, as in a long garbage collection: {@code isLeader()} tells the time
     * right away; what was due in the meantime is done after it, late.
     */
    public void pause(Duration time) {
        loop.pause(time);
    }

    /** Closes the elections, in order. Idempotent. */
    @Override
    public void close() {
        elections.close();
    }
}
