/**
 * The record engine: leases made of a store that can only compare and set.
 * {@link dev.bellwether.internal.record.SeatRules} says when a seat may be claimed, and why that is safe; each
 * {@link dev.bellwether.internal.record.SeatRequest} is one thing that a candidate, an operator or an observer wants of
 * a seat; {@link dev.bellwether.internal.record.Seats} has the store carry them out.
 */
package dev.bellwether.internal.record;
