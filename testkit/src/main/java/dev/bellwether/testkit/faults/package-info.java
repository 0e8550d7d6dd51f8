/**
 * The fault bench: candidates in processes of their own, everything that can go wrong between them, and who led when,
 * in true time.
 *
 * <p>A {@link dev.bellwether.testkit.faults.BenchEnvironment} is a server, or several, and a way to it for each
 * candidate. A {@link dev.bellwether.testkit.faults.FaultBench} starts
 * {@linkplain dev.bellwether.testkit.faults.Contestant contestants} on it, does to them what is asked for, and writes
 * down what and when. A {@link dev.bellwether.testkit.faults.Nemesis} asks for what it draws from a seed. Each process
 * {@linkplain dev.bellwether.testkit.faults.LeadershipSampler looks} all the time whether it leads, and what it saw is
 * in a {@link dev.bellwether.testkit.faults.TermFile}, by the monotonic clock that all processes of a Linux machine
 * share; so what was seen before SIGKILL is known, too. While it believes that it leads, it writes to a
 * {@link dev.bellwether.testkit.faults.Register}.
 *
 * <p>In the end {@link dev.bellwether.testkit.faults.Findings} tell whether two ever led at once, whether tokens rose,
 * whether events came paired, what the register saw, and how long nobody led after which fault. A seed repeats what is
 * done, not what follows: processes and networks are real.
 */
@NullMarked
package dev.bellwether.testkit.faults;

import org.jspecify.annotations.NullMarked;
