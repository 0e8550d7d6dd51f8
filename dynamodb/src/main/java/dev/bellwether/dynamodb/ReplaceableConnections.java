package dev.bellwether.dynamodb;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;

/** The connections of a client of our own, which are left after a request without an answer. Thread-safe. */
final class ReplaceableConnections implements SdkAsyncHttpClient {
    /*
     * A connection that was forgotten on the way, by a balancer or a gateway, is as good as any other to the pool, and
     * an idle one is taken before a new one is made. Then each costs one request its whole time, one after the other,
     * and a lease is over before a new connection is made, which would have been answered.
     *
     * A pool that has had no answer stays: otherwise there would be a new one in each second of an outage. What is
     * under way on one that is left has its time, and then it is closed.
     */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<SdkAsyncHttpClient> maker;
    private final Set<Pool> all = new HashSet<>(); // guarded by this
    private Pool current; // guarded by this
    private boolean closed; // guarded by this

    private static final class Pool {
        private final SdkAsyncHttpClient http;
        private final long madeNanos = System.nanoTime();
        private int underWay;
        private boolean isAnswered;

        private Pool(SdkAsyncHttpClient http) {
            this.http = http;
        }
    }

    ReplaceableConnections(Supplier<SdkAsyncHttpClient> maker) {
        this.maker = maker;
        current = new Pool(maker.get());
        all.add(current);
    }

    @Override
    public CompletableFuture<Void> execute(AsyncExecuteRequest request) {
        Pool used;
        synchronized (this) {
            used = current;
            used.underWay++;
        }
        CompletableFuture<Void> answer;
        try {
            answer = used.http.execute(request);
        } catch (RuntimeException e) {
            over(used, e);
            throw e;
        }
        var unused = answer.whenComplete((done, error) -> over(used, error));
        return answer;
    }

    /** A request is over: answered, broken off, or given up. */
    private synchronized void over(Pool used, @Nullable Throwable error) {
        used.underWay--;
        if (error == null) {
            used.isAnswered = true;
        } else if (used == current && used.isAnswered && !closed && System.nanoTime() - used.madeNanos >= PAUSE_NANOS) {
            current = new Pool(maker.get());
            all.add(current);
        }
        if (used != current && used.underWay == 0 && all.remove(used)) {
            var closing = new Thread(used.http::close, "bellwether-dynamodb-close"); // it waits for this thread
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
        Set<Pool> left;
        synchronized (this) {
            closed = true;
            left = Set.copyOf(all);
            all.clear();
        }
        left.forEach(pool -> pool.http.close());
    }
}
