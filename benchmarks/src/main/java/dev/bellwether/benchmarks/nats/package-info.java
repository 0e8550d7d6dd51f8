/**
 * What an election on NATS takes, beside a loop that keeps the timing rules of Choria's, on the same server in the same
 * run.
 */
@NullMarked
package dev.bellwether.benchmarks.nats;

import org.jspecify.annotations.NullMarked;
