/**
 * Leader election: what users import.
 *
 * <p>An <em>election</em> is a named seat that at most one process holds. A <em>candidate</em> stands for it through
 * {@link dev.bellwether.Elections#stand}, which begins a <em>candidacy</em>. The candidate that gets the seat holds a
 * <em>mandate</em>: one uninterrupted term, with a <em>token</em> that only ever rises within the election and a
 * <em>deadline</em> on the local clock. The deadline lies before the instant at which the infrastructure may give the
 * seat to another, whatever is delayed, lost or paused; so {@link dev.bellwether.Candidacy#isLeader} is never true in
 * two processes at once.
 *
 * <p>A mandate begins when it is <em>acquired</em>. It ends in one of two ways. It is <em>revoked</em>, in order: the
 * successor waits until your listener has returned and the running step of work has ended. Or it is <em>fenced</em>: it
 * is too late, and you must stop at once. Work that does not end in time after a revocation is fenced, too.
 *
 * <p>To <em>stand down</em> is to give up the seat; to <em>resign</em>, to do so of one's own will and stand no more. A
 * <em>guard</em> is the check of a token at the resource that leadership protects: no lease can replace it.
 *
 * <p>A <em>lock</em> is the same seat for a single run: {@link dev.bellwether.Elections#lock} stands for a bounded time
 * and one term.
 *
 * <p>Somebody else leading is a value, not an error. Errors are {@link dev.bellwether.ElectionException}s, and the one
 * that passes by itself is {@link dev.bellwether.UnavailableException}.
 */
package dev.bellwether;
