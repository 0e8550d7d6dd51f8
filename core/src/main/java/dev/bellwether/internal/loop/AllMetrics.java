package dev.bellwether.internal.loop;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Tells several; none can keep the others from being told. As safe for threads as they are. */
public final class AllMetrics implements Metrics {
    private final List<Metrics> all;

    /** Tells these, in this order. */
    public AllMetrics(List<Metrics> all) {
        this.all = all.stream().map(QuietMetrics::new).map(Metrics.class::cast).toList();
    }

    @Override
    public void termBegan(String election, String candidate, long token) {
        tell(one -> one.termBegan(election, candidate, token));
    }

    @Override
    public void termEnded(String election, String candidate, Cause cause, Duration held) {
        tell(one -> one.termEnded(election, candidate, cause, held));
    }

    @Override
    public void overran(String election, String candidate, long token) {
        tell(one -> one.overran(election, candidate, token));
    }

    @Override
    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        tell(one -> one.attempted(election, candidate, attempt, latency));
    }

    @Override
    public void callbackFailed(String election, String candidate, Throwable failure) {
        tell(one -> one.callbackFailed(election, candidate, failure));
    }

    @Override
    public void callbackDelayed(String election, String candidate, Duration queued) {
        tell(one -> one.callbackDelayed(election, candidate, queued));
    }

    @Override
    public void stalled(Duration length) {
        tell(one -> one.stalled(length));
    }

    @Override
    public void outageBegan(String what) {
        tell(one -> one.outageBegan(what));
    }

    @Override
    public void outageEnded(Duration length) {
        tell(one -> one.outageEnded(length));
    }

    private void tell(Consumer<Metrics> told) {
        all.forEach(told);
    }
}
