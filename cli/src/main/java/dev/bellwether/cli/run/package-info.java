/**
 * The verbs that stand for an election: {@code run}, with a command that runs under the mandate, and {@code file},
 * which writes it down.
 *
 * <p>{@code run} is three: {@link dev.bellwether.cli.run.RunCommand} stands for the election,
 * {@link dev.bellwether.cli.run.Watchdog} is its side of the watchdog, and {@code keeper.bash} is the watchdog, a process
 * of its own.
 */
@NullMarked
package dev.bellwether.cli.run;

import org.jspecify.annotations.NullMarked;
