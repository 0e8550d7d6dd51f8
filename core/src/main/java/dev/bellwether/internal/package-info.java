/**
 * How it works. {@link dev.bellwether.internal.LoopElections} is what {@code connect} returns. Begin with
 * {@code internal.election}, which decides when a candidate leads; {@code internal.loop} has the thread that drives it,
 * {@code internal.record} the rules of stores that keep records, and {@code internal.roster} many seats on one
 * membership.
 */
package dev.bellwether.internal;
