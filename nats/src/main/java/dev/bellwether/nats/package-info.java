/**
 * Elections in a key-value bucket of NATS JetStream.
 *
 * <p>A key per election keeps who holds the seat; every change of it is a compare-and-set on its revision, and the
 * revision of the claim that won is the token. Only its own clock tells a candidate that a lease is over: it has seen
 * the record unchanged for as long as it says that the lease lasts. {@link dev.bellwether.nats.NatsElections} is where
 * to begin with a connection, a {@code nats:} URI where there is none.
 */
@NullMarked
package dev.bellwether.nats;

import org.jspecify.annotations.NullMarked;
