package dev.bellwether.http;

import dev.bellwether.spi.Clock;
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
     * A client that has had no answer keeps no connection. It stays for a minute: otherwise there would be a new one in
     * each second of an outage. It does not stay for longer, since its thread may have ended, such as without memory,
     * and then it has no answer ever.
     *
     * A client cannot be closed before Java 21. One that is replaced carries out what is under way on it, streams
     * included, and its thread ends when it has been collected. Until then it counts as former, and those are limited;
     * but for an hour at most, since a JVM that has memory enough may not look for weeks at what has become old.
     */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long PAUSE_OF_OUTAGE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final long FORMER_NANOS = TimeUnit.HOURS.toNanos(1);
    private static final int MOST_FORMER = 8;
    /** With so many, one that has had no answer stays: its server is gone, and the room is for later. */
    private static final int MOST_OF_OUTAGE = 4;

    private final @Nullable Supplier<HttpClient> maker;
    private final Clock clock;
    private final List<Former> former = new ArrayList<>(); // guarded by this
    private HttpClient client; // guarded by this
    private boolean isAnswered; // guarded by this
    private long madeNanos; // guarded by this

    /** One that was replaced, at this instant. */
    private record Former(WeakReference<HttpClient> client, long nanos) {}

    private ReplaceableClient(HttpClient client, @Nullable Supplier<HttpClient> maker, Clock clock) {
        this.client = client;
        this.maker = maker;
        this.clock = clock;
        madeNanos = clock.nanos();
    }

    /** Stays with this client. */
    public static ReplaceableClient of(HttpClient given) {
        return new ReplaceableClient(given, null, Clock.system());
    }

    /** Makes its clients itself. */
    static ReplaceableClient by(Supplier<HttpClient> maker) {
        return by(maker, Clock.system());
    }

    /** Makes its clients itself, and goes by this clock. */
    public static ReplaceableClient by(Supplier<HttpClient> maker, Clock clock) {
        return new ReplaceableClient(maker.get(), maker, clock);
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
        var now = clock.nanos();
        if (maker == null || by != client || now - madeNanos < (isAnswered ? PAUSE_NANOS : PAUSE_OF_OUTAGE_NANOS)) {
            return;
        }
        former.removeIf(one -> one.client.get() == null || now - one.nanos >= FORMER_NANOS);
        if (former.size() < (isAnswered ? MOST_FORMER : MOST_OF_OUTAGE)) {
            var next = maker.get(); // first: without memory, or files, there may be none for now
            former.add(new Former(new WeakReference<>(client), now));
            client = next;
            isAnswered = false;
            madeNanos = now;
        }
    }
}
