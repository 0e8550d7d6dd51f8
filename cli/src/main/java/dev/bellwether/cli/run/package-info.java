/**
 * The verbs that stand for an election: {@code run}, with a command that runs under the mandate; {@code file}, which
 * writes it down; and {@code serve}, which tells it by HTTP.
 *
 * <p>{@code run} is three: {@link dev.bellwether.cli.run.RunCommand} stands for the election,
 * {@link dev.bellwether.cli.run.Watchdog} is its side of the watchdog, and {@code keeper.bash} is the watchdog, a
 * process of its own. {@code serve} is three as well: {@link dev.bellwether.cli.run.ServeCommand} stands,
 * {@link dev.bellwether.cli.run.ServedElection} promises to those who ask what a hand-over then waits for, and
 * {@link dev.bellwether.cli.run.SideCar} speaks HTTP.
 */
@NullMarked
package dev.bellwether.cli.run;

import org.jspecify.annotations.NullMarked;
