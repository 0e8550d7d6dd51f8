/**
 * The {@code bellwether} command.
 *
 * <p>Each verb is a class of its own, a {@link java.util.concurrent.Callable} that returns an exit code. {@link
 * dev.bellwether.cli.Main} puts them together. They lie in packages by what they are for, and no two of these packages
 * need each other: {@code run}, {@code look}, {@code order}, {@code outbox}, and {@code console} and {@code demo} over
 * {@code page}. What all share is in {@code command}: {@link dev.bellwether.cli.command.CommandEnvironment} is the
 * process around the command (environment, streams, terminal), {@link dev.bellwether.cli.command.BackendOptions} the
 * backend that it talks to.
 *
 * <p>Nothing here is for other programs to use: the interface is the command line.
 */
@NullMarked
package dev.bellwether.cli;

import org.jspecify.annotations.NullMarked;
