/**
 * The {@code bellwether} command.
 *
 * <p>Each verb is a class of its own, a {@link java.util.concurrent.Callable} that returns an exit code. What all share is passed in:
 * {@link dev.bellwether.cli.Surroundings} is the process around the command (environment, streams, terminal), {@link
 * dev.bellwether.cli.Target} the backend that it talks to. {@link dev.bellwether.cli.Main} puts them together.
 *
 * <p>{@code run} is three: {@link dev.bellwether.cli.RunCommand} stands for the election, {@link dev.bellwether.cli.Keeper} is its
 * side of the watchdog, and {@code keeper.bash} is the watchdog, a process of its own.
 */
@NullMarked
package dev.bellwether.cli;

import org.jspecify.annotations.NullMarked;
