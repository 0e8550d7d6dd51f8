/**
 * A simulator: the unchanged core, many processes and a store under virtual time, and everything that can go wrong
 * between them.
 *
 * <p>A {@link dev.bellwether.testkit.sim.Simulation} runs an {@link dev.bellwether.testkit.sim.Application}, your
 * leader code, in thousands of worlds. In each, {@linkplain dev.bellwether.testkit.sim.SimProcess processes} with
 * drifting clocks reach the store through a network that delays, loses, doubles and reorders; they pause, are
 * suspended, crash and come back; the store pauses and crashes; operators give orders. A world is drawn from a seed,
 * and the same seed is the same world, to the nanosecond.
 *
 * <p>These hold at every instant of true time, or the simulation fails with a
 * {@link dev.bellwether.testkit.sim.Violation}, which is a readable trace: no two valid mandates of an election
 * overlap, not even in processes that are paused; tokens rise; nobody leads while the work of the predecessor runs and
 * its stand-down budget is not used up; events come paired and in order; work that outlasts the seat is fenced; once
 * the faults stop, somebody leads within the bound, and leaders ride through short outages; in the end nothing is left
 * behind. And whatever your code {@linkplain dev.bellwether.testkit.sim.SimProcess#check checks} itself.
 *
 * <p>What is not simulated: threads of your own, real time, real files and sockets. Code between two sleeps takes no
 * time.
 */
@NullMarked
package dev.bellwether.testkit.sim;

import org.jspecify.annotations.NullMarked;
