package dev.bellwether.outbox;

import dev.bellwether.spi.BackendThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Looks, on behalf of shards that stand by, whether those that lead serve the same table. A thread of its own; it
 * borrows a connection only until a new leader has shown itself there.
 */
final class Standby implements Runnable {
    private final List<Shard> shards;
    private final Thread thread;
    private final long pauseNanos;
    private volatile boolean ended;

    Standby(String outbox, List<Shard> shards, Duration lease) {
        this.shards = List.copyOf(shards);
        pauseNanos = Math.max(lease.toNanos() / 2, 1);
        thread = BackendThread.lasting("outbox." + outbox + "-standby", this, () -> ended);
    }

    Standby start() {
        thread.start();
        return this;
    }

    /** Ends it soon. */
    void end() {
        ended = true;
        thread.interrupt();
    }

    @Override
    public void run() {
        try {
            while (!ended) {
                TimeUnit.NANOSECONDS.sleep(pauseNanos);
                shards.forEach(Shard::lookAfterLeader);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
