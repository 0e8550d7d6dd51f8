/**
 * What an election needs. Begin with {@link dev.bellwether.internal.election.CandidacyMachine}, which decides when we
 * lead; then {@link dev.bellwether.internal.election.LeaseSeat}, which gets and keeps the lease that this rests on, for
 * stores with leases. {@link dev.bellwether.internal.election.LoopCandidacy} stands between them and the users'
 * threads.
 */
package dev.bellwether.internal.election;
