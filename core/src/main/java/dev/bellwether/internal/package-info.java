/**
 * How it works. Begin with {@link dev.bellwether.internal.Tenure}, the machine that decides when we lead; then
 * {@link dev.bellwether.internal.Campaign}, which gets and keeps the lease that the tenure lives on. Both are driven by
 * one thread, the {@link dev.bellwether.internal.LoopThread}; {@link dev.bellwether.internal.LoopCandidacy} stands
 * between them and the users' threads, and {@link dev.bellwether.internal.Lane} runs the users' code.
 */
package dev.bellwether.internal;
