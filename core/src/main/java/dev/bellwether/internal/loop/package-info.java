/**
 * The loop: {@link dev.bellwether.internal.loop.LoopThread} is the one thread on which everything is decided,
 * {@link dev.bellwether.internal.loop.GuardedLoop} catches what a turn throws, and
 * {@link dev.bellwether.internal.loop.SerialExecutor} runs the users' code.
 */
package dev.bellwether.internal.loop;
