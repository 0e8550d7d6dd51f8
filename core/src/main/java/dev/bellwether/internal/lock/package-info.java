/**
 * Locks for one run. A lock is a candidacy that stands for a bounded time and for one term: here is only what waits for
 * it, and what ends it. All rules of leadership are those of {@link dev.bellwether.internal.election}.
 */
package dev.bellwether.internal.lock;
