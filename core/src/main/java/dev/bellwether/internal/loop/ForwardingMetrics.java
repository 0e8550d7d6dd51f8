package dev.bellwether.internal.loop;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import java.time.Duration;
import java.util.function.Consumer;

/** Passes on all that it is told. The one place that knows each method: who forgets one keeps it from the user. */
public abstract class ForwardingMetrics implements Metrics {

    /** Passes this on. */
    protected abstract void tell(Consumer<Metrics> told);

    /** Returns under which name an election is told of. */
    protected String named(String election) {
        return election;
    }

    @Override
    public final void termBegan(String election, String candidate, long token) {
        tell(one -> one.termBegan(named(election), candidate, token));
    }

    @Override
    public final void termEnded(String election, String candidate, Cause cause, Duration held) {
        tell(one -> one.termEnded(named(election), candidate, cause, held));
    }

    @Override
    public final void overran(String election, String candidate, long token) {
        tell(one -> one.overran(named(election), candidate, token));
    }

    @Override
    public final void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        tell(one -> one.attempted(named(election), candidate, attempt, latency));
    }

    @Override
    public final void callbackFailed(String election, String candidate, Throwable failure) {
        tell(one -> one.callbackFailed(named(election), candidate, failure));
    }

    @Override
    public final void callbackDelayed(String election, String candidate, Duration queued) {
        tell(one -> one.callbackDelayed(named(election), candidate, queued));
    }

    @Override
    public final void stalled(Duration length) {
        tell(one -> one.stalled(length));
    }

    @Override
    public final void outageBegan(String what) {
        tell(one -> one.outageBegan(what));
    }

    @Override
    public final void outageEnded(Duration length) {
        tell(one -> one.outageEnded(length));
    }
}
