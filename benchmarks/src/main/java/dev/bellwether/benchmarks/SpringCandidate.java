package dev.bellwether.benchmarks;

import dev.bellwether.testkit.faults.Contestant;
import java.util.function.BooleanSupplier;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;

/**
 * Hears from Spring Integration of its leadership, for the fault bench. There is no token; the instant at which it was
 * told stands for one.
 */
public final class SpringCandidate extends AbstractCandidate {
    private final Contestant.Orders orders;
    private volatile long grantedNanos;

    /** Stands as ordered. */
    public SpringCandidate(Contestant.Orders orders) {
        super(orders.candidate(), orders.election());
        this.orders = orders;
    }

    @Override
    public void onGranted(Context context) {
        grantedNanos = System.nanoTime();
        orders.held().run();
    }

    @Override
    public void onRevoked(Context context) {
        orders.held().run();
    }

    /** Returns it as a contestant, who leads when this says so, and ends by that. */
    public Contestant contestant(BooleanSupplier leads, Runnable end) {
        return new Contestant() {
            @Override
            public boolean isLeader() {
                return leads.getAsBoolean();
            }

            @Override
            public long token() {
                return grantedNanos;
            }

            @Override
            public void close() {
                end.run();
            }
        };
    }
}
