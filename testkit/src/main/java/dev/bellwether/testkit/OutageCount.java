package dev.bellwether.testkit;

import dev.bellwether.Metrics;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/** Metrics that count the outages of which a client was told. Thread-safe. */
public final class OutageCount implements Metrics {
    private final AtomicInteger began = new AtomicInteger();
    private final AtomicInteger ended = new AtomicInteger();

    /** There was none yet. */
    public OutageCount() {}

    @Override
    public void outageBegan(String what) {
        began.incrementAndGet();
    }

    @Override
    public void outageEnded(Duration length) {
        if (!length.isNegative()) {
            ended.incrementAndGet();
        }
    }

    /** Returns how many have begun. */
    public int began() {
        return began.get();
    }

    /** Returns how many have ended. */
    public int ended() {
        return ended.get();
    }

    /** Returns whether one has begun that has not ended. */
    public boolean isOut() {
        return began.get() > ended.get();
    }
}
