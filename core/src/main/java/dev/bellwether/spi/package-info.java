/**
 * What a backend implements.
 *
 * <p>A {@link dev.bellwether.spi.Backend} is one of two. A {@link dev.bellwether.spi.LeaseStore} has leases and a clock
 * to run them by; it answers <em>granted</em>, <em>refused</em> or, by an exception, <em>unknown</em>, and core
 * lease seats over it. An {@link dev.bellwether.spi.Arbiter} decides by itself: it hands out
 * {@link dev.bellwether.spi.Seat}s and reports to their {@link dev.bellwether.spi.Claimant}s that the seat was granted,
 * proven again, asked back or lost.
 *
 * <p>Most stores have compare-and-set and no clock to trust. They implement {@link dev.bellwether.spi.RecordStore},
 * which knows nothing of elections, and {@link dev.bellwether.spi.LeaseStore#over} makes leases of their records: begin
 * there to add a store. {@code docs/contract.md} tells how, by the one on etcd.
 *
 * <p>Either way the backend supplies {@link dev.bellwether.spi.Proof}s, readings of both clocks from <em>before</em> a
 * request was sent and the time that the infrastructure guarantees from its receipt, and core makes deadlines of them.
 * Backends translate, they do not decide: one that wants a special case in core has found a fault in this package.
 *
 * <p>{@link dev.bellwether.spi.Loop} and {@link dev.bellwether.spi.Clock} are where a simulator takes the place of
 * threads and time.
 */
package dev.bellwether.spi;
