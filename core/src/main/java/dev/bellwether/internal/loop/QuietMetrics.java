package dev.bellwether.internal.loop;

import dev.bellwether.Cause;
import dev.bellwether.Metrics;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lets no failure of the user's metrics reach the loop. Thread-safe. */
public final class QuietMetrics implements Metrics {
    private static final Logger log = LoggerFactory.getLogger(Metrics.class);

    private final Metrics heard;
    private volatile boolean complained;

    public QuietMetrics(Metrics heard) {
        this.heard = heard;
    }

    @Override
    public void termBegan(String election, String candidate, long token) {
        quietly(() -> heard.termBegan(election, candidate, token));
    }

    @Override
    public void termEnded(String election, String candidate, Cause cause, Duration held) {
        quietly(() -> heard.termEnded(election, candidate, cause, held));
    }

    @Override
    public void overran(String election, String candidate, long token) {
        quietly(() -> heard.overran(election, candidate, token));
    }

    @Override
    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        quietly(() -> heard.attempted(election, candidate, attempt, latency));
    }

    @Override
    public void callbackFailed(String election, String candidate, Throwable failure) {
        quietly(() -> heard.callbackFailed(election, candidate, failure));
    }

    @Override
    public void callbackDelayed(String election, String candidate, Duration queued) {
        quietly(() -> heard.callbackDelayed(election, candidate, queued));
    }

    @Override
    public void stalled(Duration length) {
        quietly(() -> heard.stalled(length));
    }

    @Override
    public void outageBegan(String what) {
        quietly(() -> heard.outageBegan(what));
    }

    @Override
    public void outageEnded(Duration length) {
        quietly(() -> heard.outageEnded(length));
    }

    private void quietly(Runnable told) {
        try {
            told.run();
        } catch (RuntimeException | Error e) {
            if (!complained) {
                complained = true;
                Quietly.run(() -> log.error("the metrics failed; this is logged once", e));
            }
        }
    }
}
