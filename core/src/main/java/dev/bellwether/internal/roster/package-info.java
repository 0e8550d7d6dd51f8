/**
 * What a roster needs beyond an election. {@link dev.bellwether.internal.roster.LoopRoster} has a
 * {@link dev.bellwether.internal.roster.RosterSeat} for each partition; a
 * {@link dev.bellwether.internal.roster.RosterDriver} grants and proves them, by broadcasts or by a journal.
 */
package dev.bellwether.internal.roster;
