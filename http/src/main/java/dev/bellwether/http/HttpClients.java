package dev.bellwether.http;

import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.TlsStores;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/** The clients that backends make for themselves. Their threads end when they are idle. */
public final class HttpClients {
    private static final int THREADS = 4;
    private static final long IDLE_SECONDS = 5;

    private HttpClients() {}

    /** One for all that need no certificates of their own: a client cannot be closed before Java 21. */
    private static final class Shared {
        private static final HttpClient CLIENT = builder().build();
    }

    /** Returns a client that speaks TLS by the stores that the URI names, or one for all if it names none. */
    public static HttpClient of(ConnectUri uri) {
        return TlsStores.areIn(uri)
                ? builder().sslContext(TlsStores.of(uri).context()).build()
                : Shared.CLIENT;
    }

    /** Returns a client that speaks TLS by this context. To be kept: it cannot be closed. */
    public static HttpClient by(SSLContext context) {
        return builder().sslContext(context).build();
    }

    private static HttpClient.Builder builder() {
        var threads = new ThreadPoolExecutor(
                THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    var thread = new Thread(task, "bellwether-http");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true); // nobody is told when a client is not used any more
        return HttpClient.newBuilder()
                .executor(threads)
                .connectTimeout(Duration.ofSeconds(2))
                .proxy(HttpClient.Builder.NO_PROXY);
    }
}
