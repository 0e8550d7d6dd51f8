package dev.bellwether.cli.page;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
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
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP server for this machine: who may speak to it, and who may give it orders. Thread-safe.
 *
 * <p>Nobody else's page may act through a browser of ours: an order is a POST with a token in a header, which no other
 * site can know, nor send without being asked first, which we never answer; and anybody who speaks to us must call us
 * by an address or a name that we expect, so that no name can be bent to lead here.
 */
public final class LocalHttp implements AutoCloseable {
    public static final String TOKEN_HEADER = "X-Bellwether-Token";
    // Nobody who reaches the port may take threads and files from those that renew leases in this process. Streams
    // keep a thread each, and are counted by those who have them: at most 64.
    private static final int THREADS = 128;
    private static final long KEPT_SECONDS = 60;
    private static final String REQUEST_SECONDS = "10";
    private static final String CONNECTIONS = "1000";

    private static final Pattern ADDRESS = Pattern.compile("\\d{1,3}(?:\\.\\d{1,3}){3}|\\[[0-9a-fA-F:.]+\\]");
    private static final Pattern HOST = Pattern.compile("(\\[[^\\]]*\\]|[^:\\[\\]]*)(?::\\d{1,5})?");

    private final HttpServer server;
    private final ExecutorService threads;
    private final Set<String> names;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Where to listen.
     *
     * @param names by which we may be called, beside {@code localhost} and addresses
     */
    public record Place(InetSocketAddress address, List<String> names) {}

    private LocalHttp(HttpServer server, Place place, String threadName) {
        this.server = server;
        names = Set.copyOf(place.names().stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .toList());
        threads = threads(threadName);
    }

    private static ExecutorService threads(String name) {
        var threads = new ThreadPoolExecutor(
                THREADS, THREADS, KEPT_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
                    var thread = new Thread(work, name);
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    /**
     * Listens, and answers nothing before {@link #answer}.
     *
     * @throws UsageException if nobody can listen there, such as when somebody does already
     */
    public static LocalHttp listen(Place place, String threadName) {
        System.setProperty(
                "sun.net.httpserver.nodelay", "true"); // or each batch waits for the last one's acknowledgement
        System.setProperty("sun.net.httpserver.maxReqTime", REQUEST_SECONDS); // or half a request keeps its thread
        System.setProperty("jdk.httpserver.maxConnections", CONNECTIONS); // older ones of JDK 17 do not know it
        try {
            return new LocalHttp(HttpServer.create(place.address(), 0), place, threadName);
        } catch (IOException e) {
            throw new UsageException(
                    "cannot listen on " + place.address() + ": " + e.getMessage() + "; name another port with --port",
                    e);
        }
    }

    /** Answers from now on: by this handler anybody who calls us by a name of ours. */
    public void answer(HttpHandler handler) {
        server.createContext("/", exchange -> {
            try (exchange) {
                exchange.getResponseHeaders().set("Cache-Control", "no-store");
                exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
                var host = exchange.getRequestHeaders().getFirst("Host");
                // A probe that speaks HTTP/1.0 may name none. Every browser names one: no foreign page comes this way.
                if (host == null || isOurs(host)) {
                    handler.handle(exchange);
                } else {
                    say(
                            exchange,
                            421,
                            "This is not " + host + ". Call it localhost, or by its address, or say --host NAME.");
                }
            }
        });
        server.setExecutor(threads);
        server.start();
    }

    /** Returns the address, with a slash at its end. */
    public String address() {
        var listening = server.getAddress();
        var host = listening.getAddress().isAnyLocalAddress()
                ? "localhost"
                : listening.getAddress().getHostAddress();
        return "http://" + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + listening.getPort() + "/";
    }

    private boolean isOurs(String host) {
        var matcher = HOST.matcher(host);
        if (!matcher.matches()) {
            return false;
        }
        var name = matcher.group(1).toLowerCase(Locale.ROOT);
        return name.equals("localhost") || ADDRESS.matcher(name).matches() || names.contains(name);
    }

    /**
     * Returns whether this may be an order; if not, it has been answered.
     *
     * @param whereToken where one finds the token
     */
    public static boolean mayOrder(HttpExchange exchange, String token, String whereToken) throws IOException {
        var headers = exchange.getRequestHeaders();
        var origin = headers.getFirst("Origin");
        var shown = headers.getFirst(TOKEN_HEADER);
        if (!exchange.getRequestMethod().equals("POST")) {
            exchange.getResponseHeaders().set("Allow", "POST");
            say(exchange, 405, "An order is a POST.");
            return false;
        }
        var host = headers.getFirst("Host");
        // A proxy in front may speak TLS; what it speaks to us does not tell.
        if (origin != null && !origin.equals("http://" + host) && !origin.equals("https://" + host)) {
            say(exchange, 403, "Orders from other sites are not taken.");
            return false;
        }
        if (shown == null || !same(shown, token)) {
            say(exchange, 403, "The token is missing or wrong: " + whereToken + ".");
            return false;
        }
        return true;
    }

    private static boolean same(String one, String other) {
        return MessageDigest.isEqual(one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the names and values of a form, or of the query of an address. */
    public static Map<String, String> words(@Nullable String form) {
        var words = new HashMap<String, String>();
        for (var pair : Optional.ofNullable(form).orElse("").split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                words.put(
                        URLDecoder.decode(pair.substring(0, equals), StandardCharsets.UTF_8),
                        URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
        return words;
    }

    /** Answers with a line of text. */
    public static void say(HttpExchange exchange, int status, String text) throws IOException {
        send(exchange, status, "text/plain; charset=utf-8", (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** Answers; anybody who asked for the head alone gets that. */
    public static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status, -1);
        } else {
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    /** Returns a text that nobody can guess. */
    public static String random() {
        var bytes = new byte[18];
        new SecureRandom().nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** Answers no more. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            server.stop(0);
            threads.shutdownNow();
        }
    }
}
