package dev.bellwether.dynamodb;

import dev.bellwether.spi.DelayThread;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;

/** The connections of a client of our own, which are left after a request without an answer. Thread-safe. */
final class ReplaceableConnections implements SdkAsyncHttpClient {
    /*
     * A connection that was forgotten on the way, by a balancer or a gateway, is as good as any other to the pool, and
     * an idle one is taken before a new one is made. Then each costs one request its whole time, one after the other,
     * and a lease is over before a new connection is made, which would have been answered.
     *
     * The SDK does not tell us when a request is given up: who asked does. A pool that has had no answer stays:
     * otherwise there would be a new one in each second of an outage. What is under way on one that is left has its
     * time, and then it is closed.
     */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<SdkAsyncHttpClient> maker;
    private final Duration grace;
    private final Set<Pool> left = new HashSet<>(); // guarded by this
    private Pool current; // guarded by this
    private boolean closed; // guarded by this

    private static final class Pool {
        private final SdkAsyncHttpClient http;
        private final long madeNanos = System.nanoTime();
        private volatile boolean isAnswered;

        private Pool(SdkAsyncHttpClient http) {
            this.http = http;
        }
    }

    /**
     * Takes them from a client of this kind, then from the next.
     *
     * @param grace after which one that is left is closed
     */
    ReplaceableConnections(Supplier<SdkAsyncHttpClient> maker, Duration grace) {
        this.maker = maker;
        this.grace = grace;
        current = new Pool(maker.get());
    }

    @Override
    public CompletableFuture<Void> execute(AsyncExecuteRequest request) {
        var used = current();
        var answer = used.http.execute(request);
        var unused = answer.thenRun(() -> used.isAnswered = true);
        return answer;
    }

    private synchronized Pool current() {
        return current;
    }

    /** A request has had no answer in its time: the next one is sent over a new connection. */
    synchronized void unanswered() {
        var former = current;
        if (closed || !former.isAnswered || System.nanoTime() - former.madeNanos < PAUSE_NANOS) {
            return;
        }
        current = new Pool(maker.get());
        left.add(former);
        DelayThread.after(grace).execute(() -> closeLeft(former));
    }

    private synchronized void closeLeft(Pool former) {
        if (left.remove(former)) {
            var closing = new Thread(former.http::close, "bellwether-dynamodb-close"); // it waits
            closing.setDaemon(true);
            closing.start();
        }
    }

    @Override
    public String clientName() {
        return "bellwether";
    }

    @Override
    public void close() {
        Set<Pool> all;
        synchronized (this) {
            closed = true;
            left.add(current);
            all = Set.copyOf(left);
            left.clear();
        }
        all.forEach(pool -> pool.http.close());
    }
}
