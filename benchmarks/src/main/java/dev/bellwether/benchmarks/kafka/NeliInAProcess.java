package dev.bellwether.benchmarks.kafka;

import dev.bellwether.testkit.faults.Contestant;

/**
 * The loop in the manner of goNELI, for the fault bench, with a session of the lease. It has no token; the instant at
 * which it began to lead stands for one. It has no listener, either, and leads as long as its loop, at the end of a
 * turn, found that it should.
 */
public final class NeliInAProcess implements Contestant.Maker {
    /** For the process that stands. */
    public NeliInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        var loop = new NeliLike.Loop(orders.uri(), orders.election(), orders.lease());
        return new Contestant() {
            @Override
            public boolean isLeader() {
                return loop.leads();
            }

            @Override
            public long token() {
                return loop.ledSinceNanos();
            }

            @Override
            public void close() {
                loop.close();
            }
        };
    }
}
