package dev.bellwether.outbox;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what one shard does. Thread-safe; each figure is right, all together may be of slightly different times. */
final class Meter {
    final AtomicLong published = new AtomicLong();
    final AtomicLong deleted = new AtomicLong();
    final AtomicLong transactions = new AtomicLong();
    final AtomicLong rewinds = new AtomicLong();
    final AtomicLong parked = new AtomicLong();
    final AtomicLong blocked = new AtomicLong();
    final AtomicLong strays = new AtomicLong();
    final AtomicLong lastNanos = new AtomicLong();
    final AtomicLong longestNanos = new AtomicLong();
    final AtomicLong lagMillis = new AtomicLong();
    volatile boolean leading;
    private volatile double rate;
    private long readAt = System.nanoTime();
    private long readPublished;

    void transaction(int records, long nanos) {
        published.addAndGet(records);
        transactions.incrementAndGet();
        lastNanos.set(nanos);
        longestNanos.accumulateAndGet(nanos, Math::max);
    }

    /** Works out the rate, and returns whether records flowed since the last time. */
    synchronized boolean read(long now) {
        var total = published.get();
        var flowed = total - readPublished;
        rate = flowed * 1e9 / Math.max(1, now - readAt);
        readAt = now;
        readPublished = total;
        return flowed > 0;
    }

    /** What is true of a leader alone is true no more. */
    synchronized void standBy() {
        leading = false;
        blocked.set(0);
        lagMillis.set(0);
        rate = 0;
    }

    RelayStats stats(boolean led, InFlight inFlight) {
        return new RelayStats(
                leading,
                led,
                published.get(),
                deleted.get(),
                rate,
                inFlight.records(),
                inFlight.bytes(),
                Duration.ofMillis(lagMillis.get()),
                transactions.get(),
                Duration.ofNanos(lastNanos.get()),
                Duration.ofNanos(longestNanos.get()),
                rewinds.get(),
                parked.get(),
                blocked.get(),
                strays.get());
    }
}
