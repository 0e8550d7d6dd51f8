package dev.bellwether.cli.page;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/** Serves the page, what it shows, and takes what its buttons order. Thread-safe. */
public final class PageServer implements AutoCloseable {
    private static final int STREAMS = 16;
    private static final long BETWEEN_BATCHES_MILLIS = 100;
    private static final long HEARTBEAT_MILLIS = 1000;
    private static final long LAST_WORDS_NANOS = 500_000_000;
    private static final int LARGEST_ORDER = 4096;
    private static final Map<String, Resource> RESOURCES = Map.of(
            "/", new Resource("page.html", "text/html; charset=utf-8"),
            "/page.css", new Resource("page.css", "text/css; charset=utf-8"),
            "/page.js", new Resource("page.js", "text/javascript; charset=utf-8"),
            "/outbox.js", new Resource("outbox.js", "text/javascript; charset=utf-8"),
            "/console.js", new Resource("console.js", "text/javascript; charset=utf-8"),
            "/demo.js", new Resource("demo.js", "text/javascript; charset=utf-8"),
            "/timeline.js", new Resource("timeline.js", "text/javascript; charset=utf-8"),
            "/icon.svg", new Resource("icon.svg", "image/svg+xml"));

    private final LocalHttp http;
    private final Feed feed;
    private final DoubleSupplier clock;
    private final Orders orders;
    private final String token = LocalHttp.random();
    private final String run = LocalHttp.random();
    private final AtomicInteger streams = new AtomicInteger();

    /** What the buttons do. */
    public interface Orders {
        /** Does it; complains by IllegalStateException, whose message the page shows. */
        void order(Map<String, String> words) throws IOException, InterruptedException;

        /** Returns a JSON document that was asked for; complains in the same way. */
        default String look(Map<String, String> words) {
            throw new IllegalStateException("there is nothing to look at");
        }
    }

    private record Resource(String file, String type) {}

    private PageServer(LocalHttp http, Feed feed, DoubleSupplier clock, Orders orders) {
        this.http = http;
        this.feed = feed;
        this.clock = clock;
        this.orders = orders;
    }

    /** Starts it; the clock says what the time is on the axis of the page. */
    public static PageServer start(LocalHttp.Place place, Feed feed, DoubleSupplier clock, Orders orders) {
        var http = LocalHttp.listen(place, "bellwether-page");
        var page = new PageServer(http, feed, clock, orders);
        http.answer(page::answer);
        return page;
    }

    /** Returns the address with the token, which anybody who opens the page needs in order to act. */
    public String url() {
        return address() + "#token=" + token;
    }

    /** Returns the address alone. */
    public String address() {
        return http.address();
    }

    private void answer(HttpExchange exchange) throws IOException {
        var headers = exchange.getResponseHeaders();
        headers.set("Referrer-Policy", "no-referrer");
        headers.set("Cross-Origin-Resource-Policy", "same-origin");
        headers.set("X-Frame-Options", "DENY");
        headers.set(
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
                        + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        var path = exchange.getRequestURI().getPath();
        var resource = RESOURCES.get(path);
        if (path.equals("/order")) {
            take(exchange);
        } else if (!List.of("GET", "HEAD").contains(exchange.getRequestMethod())) {
            headers.set("Allow", "GET, HEAD");
            LocalHttp.say(exchange, 405, "Only GET and HEAD are allowed here.");
        } else if (path.equals("/events")) {
            stream(exchange);
        } else if (path.equals("/election")) {
            look(exchange);
        } else if (resource != null) {
            serve(exchange, resource);
        } else {
            LocalHttp.say(exchange, 404, "There is nothing here.");
        }
    }

    private void take(HttpExchange exchange) throws IOException {
        if (!LocalHttp.mayOrder(exchange, token, "open the address that was printed at the start")) {
            return;
        }
        var body = exchange.getRequestBody().readNBytes(LARGEST_ORDER + 1);
        if (body.length > LARGEST_ORDER) {
            LocalHttp.say(exchange, 413, "That is too long for an order.");
            return;
        }
        try {
            orders.order(LocalHttp.words(new String(body, StandardCharsets.UTF_8)));
            exchange.sendResponseHeaders(204, -1);
        } catch (IllegalStateException | IllegalArgumentException e) {
            LocalHttp.say(exchange, 409, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void look(HttpExchange exchange) throws IOException {
        try {
            var document = orders.look(LocalHttp.words(exchange.getRequestURI().getRawQuery()));
            LocalHttp.send(exchange, 200, "application/json", document.getBytes(StandardCharsets.UTF_8));
        } catch (IllegalStateException | IllegalArgumentException e) {
            LocalHttp.say(exchange, 409, String.valueOf(e.getMessage()));
        }
    }

    /** Sends what has changed, as server-sent events, until the page goes away. */
    private void stream(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(200, -1);
            return;
        }
        if (streams.incrementAndGet() > STREAMS) {
            streams.decrementAndGet();
            LocalHttp.say(exchange, 503, "Too many pages are open already; close one of them.");
            return;
        }
        try {
            exchange.sendResponseHeaders(200, 0);
            var out = exchange.getResponseBody();
            var seen = resumed(exchange.getRequestHeaders().getFirst("Last-Event-ID"));
            do {
                var change = feed.since(seen);
                seen = change.version();
                var batch = "id: " + run + "." + seen + "\ndata: {\"now\":" + clock.getAsDouble() + ",\"fresh\":"
                        + change.fresh() + ",\"objects\":[" + String.join(",", change.objects()) + "]}\n\n";
                out.write(batch.getBytes(StandardCharsets.UTF_8));
                out.flush();
                Thread.sleep(BETWEEN_BATCHES_MILLIS);
            } while (feed.await(seen, HEARTBEAT_MILLIS));
            out.write("event: over\ndata: {}\n\n".getBytes(StandardCharsets.UTF_8)); // the page says so, and goes grey
            out.flush();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            streams.decrementAndGet();
        }
    }

    private long resumed(@Nullable String id) {
        return id != null
                        && id.startsWith(run + ".")
                        && id.substring(run.length() + 1).matches("\\d{1,18}")
                ? Long.parseLong(id.substring(run.length() + 1))
                : 0;
    }

    private static void serve(HttpExchange exchange, Resource resource) throws IOException {
        try (var in = PageServer.class.getResourceAsStream(resource.file)) {
            if (in == null) {
                throw new IOException(resource.file + " is missing from the class path");
            }
            LocalHttp.send(exchange, 200, resource.type, in.readAllBytes());
        }
    }

    /** Tells all who look on that it is over, as far as they can be told within half a second. */
    @Override
    public void close() {
        feed.close();
        var until = System.nanoTime() + LAST_WORDS_NANOS;
        while (streams.get() > 0 && System.nanoTime() - until < 0) {
            LockSupport.parkNanos(1_000_000);
        }
        http.close();
    }
}
