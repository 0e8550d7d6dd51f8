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
 * <pre>{@code
 * try (var controlled = new ControlledElections()) {
 *     var candidacy = controlled.elections().stand("billing"); // what the code under test does
 *     var billing = controlled.election("billing");
 *     billing.acquire();
 *     assertThat(candidacy.isLeader()).isTrue();
 *     billing.goSilent();
 *     controlled.advance(Duration.ofSeconds(10)); // its lease: the deadline has passed
 *     assertThat(candidacy.isLeader()).isFalse();
 * }
 * }</pre>
 *
 * <p>Synchronous and deterministic: there is no thread. Listeners and tasks run on the thread that brings them about,
 * and when a method here returns, all that it entails has happened. Time stands still but for {@link #advance} and
 * {@link #pause}; only {@code await}, {@code pulse} and {@code close} bound their waits by the real clock. Thread-safe,
 * so that code under test may have threads of its own; a listener that blocks, blocks the test.
 *
 * <p>{@link #advance}, {@link #pause} and the methods of a {@link ControlledElection} throw {@link
 * IllegalStateException} if called from a listener or a task, or if a listener or task has been blocking another thread
 * for ten seconds. After {@link #close} those of a {@link ControlledElection} throw it, and time stands still. A
 * listener or task that throws fails no test: that is logged, as in production.
 */
public final class ControlledElections implements AutoCloseable {
    private final ControlledLoop loop = new ControlledLoop();
    private final ControlledArbiter arbiter = new ControlledArbiter(loop);
    private final Elections elections = Elections.over(
            arbiter,
            ElectionsConfig.builder().loop(loop).executor(Runnable::run).build());

    /** Begins with nobody standing, at the first moment of 2026. */
    public ControlledElections() {}

    /** Returns what the code under test uses: each time the same. The code may close it. */
    public Elections elections() {
        return elections;
    }

    /** Returns the election of this name, to be controlled. Nobody need stand for it yet. */
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

    /** Closes the elections, in order: leaders hear {@code Revoked}. Idempotent. */
    @Override
    public void close() {
        elections.close();
    }
}
