package dev.bellwether.outbox;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Counts what one shard does. Thread-safe; each figure is right, all together may be of slightly different times. */
final class Meter {
    /** A session reports once a second. */
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(2);

    final AtomicLong published = new AtomicLong();
    final AtomicLong deleted = new AtomicLong();
    final AtomicLong transactions = new AtomicLong();
    final AtomicLong rewinds = new AtomicLong();
    final AtomicLong parked = new AtomicLong();
    final AtomicLong blocked = new AtomicLong();
    final AtomicLong strays = new AtomicLong();
    final AtomicLong lastNanos = new AtomicLong();
    final AtomicLong longestNanos = new AtomicLong();
    volatile boolean leading;
    private volatile @Nullable Oldest oldest;
    private volatile double rate;
    private long readAt = System.nanoTime();
    private long readPublished;
    private long reported;

    /** For how long the oldest row had been waiting when the database told so. */
    private record Oldest(long millis, long toldNanos) {}

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

    /** The oldest row that we know of has been waiting for so long; empty if none is. */
    void waits(OptionalLong millis, long now) {
        oldest = millis.isPresent() ? new Oldest(millis.getAsLong(), now) : null;
    }

    /** The row is taken to wait still while no session reports. */
    private long lagMillis(long now) {
        var known = oldest;
        if (known == null) {
            return 0;
        }
        var silent = now - known.toldNanos();
        return known.millis() + (silent < SILENT_NANOS ? 0 : silent / 1_000_000);
    }

    /** Returns how many records were published that were not written down yet, and takes them for written down. */
    synchronized long takeUnreported() {
        var total = published.get();
        var unreported = total - reported;
        reported = total;
        return unreported;
    }

    /** They were not. */
    synchronized void putBackUnreported(long count) {
        reported -= count;
    }

    /** Nothing is published until a session begins again. */
    synchronized void pause() {
        leading = false;
        rate = 0;
    }

    /** What is true of a leader alone is true no more. */
    void standBy() {
        pause();
        blocked.set(0);
        oldest = null;
    }

    RelayStats stats(boolean led, InFlight inFlight, long now) {
        return new RelayStats(
                leading,
                led,
                published.get(),
                deleted.get(),
                rate,
                inFlight.records(),
                inFlight.bytes(),
                Duration.ofMillis(lagMillis(now)),
                transactions.get(),
                Duration.ofNanos(lastNanos.get()),
                Duration.ofNanos(longestNanos.get()),
                rewinds.get(),
                parked.get(),
                blocked.get(),
                strays.get());
    }
}
