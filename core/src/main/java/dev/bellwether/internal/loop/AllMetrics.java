package dev.bellwether.internal.loop;

import dev.bellwether.Metrics;
import java.util.List;
import java.util.function.Consumer;

/** Tells several; none can keep the others from being told. As safe for threads as they are. */
public final class AllMetrics extends ForwardingMetrics {
    private final List<Metrics> all;

    /** Tells these, in this order. */
    public AllMetrics(List<Metrics> all) {
        this.all = all.stream().map(QuietMetrics::new).map(Metrics.class::cast).toList();
    }

    @Override
    protected void tell(Consumer<Metrics> told) {
        all.forEach(told);
    }
}
