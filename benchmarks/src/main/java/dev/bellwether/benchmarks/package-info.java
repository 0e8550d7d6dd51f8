/** Figures, each printed by a command of {@code scripts/bench}. */
package dev.bellwether.benchmarks;
