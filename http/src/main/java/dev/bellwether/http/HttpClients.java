package dev.bellwether.http;

import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.TlsStores;
import java.lang.ref.WeakReference;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;

/** The clients that backends make for themselves. Their threads end when they are idle. */
public final class HttpClients {
    private static final int THREADS = 4;
    private static final long IDLE_SECONDS = 5;

    /**
     * One for each store, by its members, as long as anybody uses it: a client cannot be closed before Java 21. Those
     * that need certificates of their own are not among them. Guarded by itself.
     */
    private static final Map<String, WeakReference<ReplaceableClient>> SHARED = new HashMap<>();

    private HttpClients() {}

    /** Returns a client that speaks TLS by the stores that the URI names, or one for all who name these members. */
    public static ReplaceableClient of(ConnectUri uri) {
        return TlsStores.areIn(uri) ? by(TlsStores.of(uri).context()) : shared(uri.authority());
    }

    private static ReplaceableClient shared(String members) {
        synchronized (SHARED) {
            SHARED.values().removeIf(one -> one.get() == null);
            var known = SHARED.get(members);
            var client = known == null ? null : known.get();
            if (client == null) {
                client = made(builder -> builder);
                SHARED.put(members, new WeakReference<>(client));
            }
            return client;
        }
    }

    /** Returns a client that speaks TLS by this context. To be kept: it cannot be closed. */
    public static ReplaceableClient by(SSLContext context) {
        return made(builder -> builder.sslContext(context));
    }

    /** Those that replace each other have the same threads. */
    private static ReplaceableClient made(UnaryOperator<HttpClient.Builder> settings) {
        var threads = new ThreadPoolExecutor(
                THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    var thread = new Thread(task, "bellwether-http");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true); // nobody is told when a client is not used any more
        return ReplaceableClient.by(() -> settings.apply(HttpClient.newBuilder())
                .executor(threads)
                .connectTimeout(Duration.ofSeconds(2))
                .proxy(HttpClient.Builder.NO_PROXY)
                .build());
    }
}
