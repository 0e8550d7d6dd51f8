package dev.bellwether.cli.page;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.DoubleSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Serves the page, what it shows, and takes what its buttons order. Thread-safe.
 *
 * <p>Nobody else's page may act through a browser of ours: an order is a POST with a token in a header, which no other
 * site can know, nor send without being asked first, which we never answer; and whoever speaks to us must call us by an
 * address or a name that we expect, so that no name can be bent to lead here.
 */
public final class PageServer implements AutoCloseable {
    static final String TOKEN_HEADER = "X-Bellwether-Token";
    private static final int STREAMS = 16;
    private static final long BETWEEN_BATCHES_MILLIS = 100;
    private static final long HEARTBEAT_MILLIS = 1000;
    private static final long LAST_WORDS_NANOS = 500_000_000;
    private static final int LARGEST_ORDER = 4096;
    private static final Pattern ADDRESS = Pattern.compile("\\d{1,3}(?:\\.\\d{1,3}){3}|\\[[0-9a-fA-F:.]+\\]");
    private static final Pattern HOST = Pattern.compile("(\\[[^\\]]*\\]|[^:\\[\\]]*)(?::\\d{1,5})?");
    private static final Map<String, Resource> RESOURCES = Map.of(
            "/", new Resource("page.html", "text/html; charset=utf-8"),
            "/page.css", new Resource("page.css", "text/css; charset=utf-8"),
            "/page.js", new Resource("page.js", "text/javascript; charset=utf-8"),
            "/console.js", new Resource("console.js", "text/javascript; charset=utf-8"),
            "/demo.js", new Resource("demo.js", "text/javascript; charset=utf-8"),
            "/timeline.js", new Resource("timeline.js", "text/javascript; charset=utf-8"),
            "/icon.svg", new Resource("icon.svg", "image/svg+xml"));

    private final HttpServer server;
    private final ExecutorService threads;
    private final Feed feed;
    private final DoubleSupplier clock;
    private final Orders orders;
    private final Set<String> names;
    private final String token = random();
    private final String run = random();
    private final AtomicInteger streams = new AtomicInteger();

    /** What the buttons do. */
    public interface Orders {
        /** Does it; complains by IllegalStateException, whose message the page shows. */
        void order(Map<String, String> words) throws IOException, InterruptedException;

        /** Returns a JSON document that was asked for; complains likewise. */
        default String look(Map<String, String> words) {
            throw new IllegalStateException("there is nothing to look at");
        }
    }

    /**
     * Where to listen.
     *
     * @param names by which we may be called, beside {@code localhost} and addresses
     */
    public record Place(InetSocketAddress address, List<String> names) {}

    private record Resource(String file, String type) {}

    private PageServer(HttpServer server, Place place, Feed feed, DoubleSupplier clock, Orders orders) {
        this.server = server;
        this.feed = feed;
        this.clock = clock;
        this.orders = orders;
        names = Set.copyOf(place.names().stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .toList());
        threads = Executors.newCachedThreadPool(work -> {
            var thread = new Thread(work, "bellwether-page");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Starts it; the clock says what the time is on the axis of the page. */
    public static PageServer start(Place place, Feed feed, DoubleSupplier clock, Orders orders) {
        System.setProperty(
                "sun.net.httpserver.nodelay", "true"); // or each batch waits for the last one's acknowledgement
        try {
            var http = HttpServer.create(place.address(), 0);
            var page = new PageServer(http, place, feed, clock, orders);
            http.createContext("/", page::answer);
            http.setExecutor(page.threads);
            http.start();
            return page;
        } catch (IOException e) {
            throw new UsageException(
                    "cannot listen on " + place.address() + ": " + e.getMessage() + "; name another port with --port",
                    e);
        }
    }

    /** Returns the address with the token, which whoever opens the page needs in order to act. */
    public String url() {
        return address() + "#token=" + token;
    }

    /** Returns the address alone. */
    public String address() {
        var listening = server.getAddress();
        var host = listening.getAddress().isAnyLocalAddress()
                ? "localhost"
                : listening.getAddress().getHostAddress();
        return "http://" + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + listening.getPort() + "/";
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            var headers = exchange.getResponseHeaders();
            headers.set("Cache-Control", "no-store");
            headers.set("X-Content-Type-Options", "nosniff");
            headers.set("Referrer-Policy", "no-referrer");
            headers.set("Cross-Origin-Resource-Policy", "same-origin");
            headers.set("X-Frame-Options", "DENY");
            headers.set(
                    "Content-Security-Policy",
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
                            + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
            var host = exchange.getRequestHeaders().getFirst("Host");
            if (!isOurs(host)) {
                say(
                        exchange,
                        421,
                        "This is not " + host + ". Call it localhost, or by its address, or say --host NAME.");
                return;
            }
            var path = exchange.getRequestURI().getPath();
            var method = exchange.getRequestMethod();
            var resource = RESOURCES.get(path);
            if (path.equals("/order")) {
                take(exchange, method, host);
            } else if (!method.equals("GET")) {
                say(exchange, 405, "GET is all there is.");
            } else if (path.equals("/events")) {
                stream(exchange);
            } else if (path.equals("/election")) {
                look(exchange);
            } else if (resource != null) {
                serve(exchange, resource);
            } else {
                say(exchange, 404, "There is nothing here.");
            }
        }
    }

    private boolean isOurs(@Nullable String host) {
        var matcher = HOST.matcher(host == null ? "" : host);
        if (!matcher.matches()) {
            return false;
        }
        var name = matcher.group(1).toLowerCase(Locale.ROOT);
        return name.equals("localhost") || ADDRESS.matcher(name).matches() || names.contains(name);
    }

    private void take(HttpExchange exchange, String method, String host) throws IOException {
        var headers = exchange.getRequestHeaders();
        var origin = headers.getFirst("Origin");
        var shown = headers.getFirst(TOKEN_HEADER);
        if (!method.equals("POST")) {
            say(exchange, 405, "An order is a POST.");
            return;
        }
        if (origin != null && !origin.equals("http://" + host)) {
            say(exchange, 403, "Orders from other sites are not taken.");
            return;
        }
        if (shown == null || !same(shown, token)) {
            say(exchange, 403, "The token is missing or wrong: open the address that was printed at the start.");
            return;
        }
        var body = exchange.getRequestBody().readNBytes(LARGEST_ORDER + 1);
        if (body.length > LARGEST_ORDER) {
            say(exchange, 413, "That is too long for an order.");
            return;
        }
        try {
            orders.order(words(new String(body, StandardCharsets.UTF_8)));
            exchange.sendResponseHeaders(204, -1);
        } catch (IllegalStateException | IllegalArgumentException e) {
            say(exchange, 409, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void look(HttpExchange exchange) throws IOException {
        var query = exchange.getRequestURI().getRawQuery();
        try {
            var document = orders.look(words(query == null ? "" : query));
            send(exchange, 200, "application/json", document.getBytes(StandardCharsets.UTF_8));
        } catch (IllegalStateException | IllegalArgumentException e) {
            say(exchange, 409, String.valueOf(e.getMessage()));
        }
    }

    private static boolean same(String one, String other) {
        return MessageDigest.isEqual(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    private static Map<String, String> words(String body) {
        var words = new HashMap<String, String>();
        for (var pair : body.split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                words.put(
                        URLDecoder.decode(pair.substring(0, equals), StandardCharsets.UTF_8),
                        URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
        return words;
    }

    /** Sends what has changed, as server-sent events, until the page goes away. */
    private void stream(HttpExchange exchange) throws IOException {
        if (streams.incrementAndGet() > STREAMS) {
            streams.decrementAndGet();
            say(exchange, 503, "So many look on already; close one of their pages.");
            return;
        }
        try {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            var out = exchange.getResponseBody();
            var seen = resumed(exchange.getRequestHeaders().getFirst("Last-Event-ID"));
            var fresh = seen == 0;
            do {
                var change = feed.since(seen);
                seen = change.version();
                var batch = "id: " + run + "." + seen + "\ndata: {\"now\":" + clock.getAsDouble() + ",\"fresh\":"
                        + fresh + ",\"objects\":[" + String.join(",", change.objects()) + "]}\n\n";
                out.write(batch.getBytes(StandardCharsets.UTF_8));
                out.flush();
                fresh = false;
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
            send(exchange, 200, resource.type, in.readAllBytes());
        }
    }

    private static void say(HttpExchange exchange, int status, String text) throws IOException {
        send(exchange, status, "text/plain; charset=utf-8", (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    private static String random() {
        var bytes = new byte[18];
        new SecureRandom().nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** Tells all who look on that it is over, as far as they can be told within half a second. */
    @Override
    public void close() {
        feed.close();
        var until = System.nanoTime() + LAST_WORDS_NANOS;
        while (streams.get() > 0 && System.nanoTime() - until < 0) {
            LockSupport.parkNanos(1_000_000);
        }
        server.stop(0);
        threads.shutdownNow();
    }
}
