package dev.bellwether.kubernetes;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Adds up for how long more than one of some candidates led. Thread-safe; looks by a thread of its own. */
final class Overlap implements AutoCloseable {
    private static final long PAUSE_NANOS = 200_000;

    private final List<BooleanSupplier> candidates = new CopyOnWriteArrayList<>();
    private final Thread thread = new Thread(this::run, "overlap");
    private volatile boolean closed;
    private final AtomicLong nanos = new AtomicLong();

    Overlap() {
        thread.setDaemon(true);
        thread.start();
    }

    void audit(BooleanSupplier leads) {
        candidates.add(leads);
    }

    long nanos() {
        return nanos.get();
    }

    private void run() {
        var last = System.nanoTime();
        while (!closed) {
            var before =
                    candidates.stream().filter(BooleanSupplier::getAsBoolean).toList();
            var still = before.size() > 1
                    ? before.stream()
                            .filter(BooleanSupplier::getAsBoolean)
                            .count() // both led when the second was asked
                    : 0;
            var now = System.nanoTime();
            if (still > 1) {
                nanos.addAndGet(now - last);
            }
            last = now;
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            thread.join(1_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
