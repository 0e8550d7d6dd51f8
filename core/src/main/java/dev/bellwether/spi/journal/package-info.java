/**
 * The journal machine: for backends whose log decides who leads.
 *
 * <p>Candidates append claims, beats, concessions and releases to a log, and all read it in order.
 * {@link dev.bellwether.spi.journal.JournalSeat} has the rules: what the records make of one seat.
 * {@link dev.bellwether.spi.journal.SeatHold} is the machine of one candidate at it.
 *
 * <p>An election on Kafka is one such seat; each partition of an exclusive roster is one. What differs between them
 * (how a record is written, how a claim is named, who may claim) is theirs.
 */
@NullMarked
package dev.bellwether.spi.journal;

import org.jspecify.annotations.NullMarked;
