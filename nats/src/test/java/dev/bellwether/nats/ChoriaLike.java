package dev.bellwether.nats;

import io.nats.client.JetStreamApiException;
import io.nats.client.KeyValue;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A candidate that keeps the timing rules of Choria's elections, written down from what they do: a splay at the start,
 * then every three quarters of the TTL a {@code Create}, or, as leader, an {@code Update} with the last revision, any
 * error of which is a loss; and a win that counts after the next successful update and 200 ms.
 */
final class ChoriaLike implements AutoCloseable {
    private static final Duration GRACE = Duration.ofMillis(200);

    private final KeyValue bucket;
    private final String election;
    private final String name;
    private final Duration ttl;
    private final Duration interval;
    private final Duration splay;
    private final Thread thread;
    private volatile boolean stopped;
    private volatile boolean leader;
    private volatile boolean late;
    private volatile long writtenNanos = System.nanoTime(); // no later than the server has it
    private long revision;
    private boolean won;

    ChoriaLike(KeyValue bucket, String election, String name, Duration ttl, Duration splay) {
        this.bucket = bucket;
        this.election = election;
        this.name = name;
        this.ttl = ttl;
        interval = ttl.multipliedBy(3).dividedBy(4);
        this.splay = splay;
        thread = new Thread(this::run, "choria-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    boolean isLeader() {
        return leader;
    }

    /**
     * Returns whether it ever came so late, as on a busy machine, that the server has rightly forgotten its last word.
     */
    boolean hasBeenLate() {
        return late || (leader && isLate());
    }

    private boolean isLate() {
        return System.nanoTime() - writtenNanos > ttl.toNanos();
    }

    private void run() {
        try {
            if (!splay.isZero()) {
                Thread.sleep(ThreadLocalRandom.current().nextLong(splay.toMillis()));
            }
            while (!stopped) {
                campaign();
                Thread.sleep(interval.toMillis());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // stopped
        } finally {
            leader = false;
        }
    }

    private void campaign() throws InterruptedException {
        var began = System.nanoTime();
        try {
            if (!won) {
                revision = bucket.create(election, name.getBytes(java.nio.charset.StandardCharsets.UTF_8));
                writtenNanos = began;
                won = true;
                return;
            }
            revision = bucket.update(election, name, revision);
            writtenNanos = began;
            if (!leader) {
                Thread.sleep(GRACE.toMillis());
                leader = true;
            }
        } catch (IOException | JetStreamApiException | RuntimeException e) {
            late = late || (leader && isLate());
            won = false;
            leader = false;
        }
    }

    /** Stops it, as the end of its context would: it says nothing to the server. */
    void stop() {
        stopped = true;
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        stop();
    }
}
