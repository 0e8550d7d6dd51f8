package dev.bellwether.http;

import java.lang.ref.WeakReference;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP client by which requests go. One of our own is replaced after a request without an answer; one of the
 * application's stays. Thread-safe.
 */
public final class ReplaceableClient {
    /*
     * A client keeps the connections on which it had an answer, for twenty minutes, and takes the one first that was
     * idle for longest. A balancer, or a Service whose node has lost its power, may forget all of them at once, and
     * tells nobody. Then each costs one request its whole time, one after the other, and a lease is over before a new
     * connection is made, which would have been answered.
     *
     * A client that has had no answer keeps no connection. It stays: otherwise there would be a new one in each second
     * of an outage.
     *
     * A client cannot be closed before Java 21. One that is replaced carries out what is under way on it, streams
     * included, and its thread ends when it has been collected. Until then it counts as former, and those are limited.
     */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int MOST_FORMER = 8;

    private final @Nullable Supplier<HttpClient> maker;
    private final List<WeakReference<HttpClient>> former = new ArrayList<>(); // guarded by this
    private HttpClient client; // guarded by this
    private boolean isAnswered; // guarded by this
    private long madeNanos = System.nanoTime(); // guarded by this

    private ReplaceableClient(HttpClient client, @Nullable Supplier<HttpClient> maker) {
        this.client = client;
        this.maker = maker;
    }

    /** Stays with this client. */
    public static ReplaceableClient of(HttpClient given) {
        return new ReplaceableClient(given, null);
    }

    /** Makes its clients itself. */
    static ReplaceableClient by(Supplier<HttpClient> maker) {
        return new ReplaceableClient(maker.get(), maker);
    }

    synchronized HttpClient current() {
        return client;
    }

    /** Takes note that a request by this client had an answer. */
    synchronized void answered(HttpClient by) {
        isAnswered |= by == client;
    }

    /** A request by this client had no answer: the next goes over a new connection, if this is a client of ours. */
    synchronized void unanswered(HttpClient by) {
        var now = System.nanoTime();
        if (maker == null || by != client || !isAnswered || now - madeNanos < PAUSE_NANOS) {
            return;
        }
        former.removeIf(one -> one.get() == null);
        if (former.size() < MOST_FORMER) {
            former.add(new WeakReference<>(client));
            client = maker.get();
            isAnswered = false;
            madeNanos = now;
        }
    }
}
