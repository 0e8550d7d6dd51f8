package dev.bellwether.internal.lock;

import dev.bellwether.Metrics;
import dev.bellwether.internal.loop.ForwardingMetrics;
import java.util.function.Consumer;

/**
 * Tells of locks under a name of their own, {@code report()}: that nobody holds one, or that one is taken often, is in
 * order. As safe for threads as what is told.
 */
public final class LockMetrics extends ForwardingMetrics {
    private final Metrics heard;

    public LockMetrics(Metrics heard) {
        this.heard = heard;
    }

    @Override
    protected void tell(Consumer<Metrics> told) {
        told.accept(heard);
    }

    @Override
    protected String named(String lock) {
        return lock + "()";
    }
}
