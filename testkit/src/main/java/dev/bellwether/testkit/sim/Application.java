package dev.bellwether.testkit.sim;

/**
 * What runs in each simulated process: the leader code under test.
 *
 * <p>Use what the process gives you in place of the real thing: {@link SimProcess#elections()} to stand,
 * {@link SimProcess#sleep} to let time pass, {@link SimProcess#clock()} to read it, {@link SimProcess#random()} for
 * chance. Code between two sleeps takes no time at all, so put one wherever the real code computes, calls another
 * system, or may be held up between a check and what the check was for.
 */
@FunctionalInterface
public interface Application {

    /**
     * Begins a process: stands for elections, sets tasks, and returns, or goes on as the main thread of the process.
     * Called once for each process that comes up, those that replace a crashed one included.
     */
    void start(SimProcess process) throws Exception;
}
