package dev.bellwether.internal.lock;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import java.time.Duration;

/**
 * Tells of locks under a name of their own, {@code report()}: that nobody holds one, or that one is taken often, is in
 * order. As safe for threads as what is told.
 */
public final class LockMetrics implements Metrics {
    private final Metrics heard;

    public LockMetrics(Metrics heard) {
        this.heard = heard;
    }

    private static String named(String lock) {
        return lock + "()";
    }

    @Override
    public void termBegan(String election, String candidate, long token) {
        heard.termBegan(named(election), candidate, token);
    }

    @Override
    public void termEnded(String election, String candidate, Cause cause, Duration held) {
        heard.termEnded(named(election), candidate, cause, held);
    }

    @Override
    public void overran(String election, String candidate, long token) {
        heard.overran(named(election), candidate, token);
    }

    @Override
    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        heard.attempted(named(election), candidate, attempt, latency);
    }

    @Override
    public void callbackFailed(String election, String candidate, Throwable failure) {
        heard.callbackFailed(named(election), candidate, failure);
    }

    @Override
    public void callbackDelayed(String election, String candidate, Duration queued) {
        heard.callbackDelayed(named(election), candidate, queued);
    }

    @Override
    public void stalled(Duration length) {
        heard.stalled(length);
    }

    @Override
    public void outageBegan(String what) {
        heard.outageBegan(what);
    }

    @Override
    public void outageEnded(Duration length) {
        heard.outageEnded(length);
    }
}
