package dev.bellwether.cli.run;

import com.sun.net.httpserver.HttpExchange;
import dev.bellwether.Candidacy;
import dev.bellwether.Phase;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.page.LocalHttp;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Answers by HTTP how the elections of {@code serve} stand. Thread-safe. */
final class SideCar implements AutoCloseable {
    private static final int STREAMS = 64;
    private static final long LAST_WORDS_NANOS = 500_000_000;
    private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);
    private static final String ELECTIONS = "/elections/";
    private static final String WHAT_THERE_IS =
            "there are /leader, /isleader, /events, /elections and /elections/NAME, and by POST /stand-down,"
                    + " /stand-aside and /stand-again";
    private static final Map<String, Consumer<Candidacy>> ORDERS = Map.of(
            "/stand-down", Candidacy::standDown,
            "/stand-aside", Candidacy::standAside,
            "/stand-again", Candidacy::standAgain);

    private final LocalHttp http;
    private final Map<String, ServedElection> served;
    private final String token;
    private final AtomicInteger streams = new AtomicInteger();

    private SideCar(LocalHttp http, List<ServedElection> served, String token) {
        this.http = http;
        this.token = token;
        this.served = new LinkedHashMap<>();
        served.forEach(one -> this.served.put(one.candidacy().election(), one));
    }

    /** Answers on what listens already. */
    static SideCar start(LocalHttp http, List<ServedElection> served, String token) {
        var sideCar = new SideCar(http, served, token);
        http.answer(sideCar::answer);
        return sideCar;
    }

    private void answer(HttpExchange exchange) throws IOException {
        var path = exchange.getRequestURI().getPath();
        var order = ORDERS.get(path);
        if (order != null) {
            obey(exchange, order);
        } else if (!List.of("GET", "HEAD").contains(exchange.getRequestMethod())) {
            exchange.getResponseHeaders().set("Allow", "GET, HEAD");
            LocalHttp.say(exchange, 405, path + " is asked by GET.");
        } else if (path.equals("/elections")) {
            document(
                    exchange,
                    served.values().stream()
                            .map(one -> describe(one.ask()))
                            .collect(Collectors.joining(",", "{\"elections\":[", "]}")));
        } else if (path.startsWith(ELECTIONS)) {
            var one = find(exchange, path.substring(ELECTIONS.length()));
            if (one.isPresent()) {
                document(exchange, describe(one.get().ask()));
            }
        } else if (List.of("/", "/leader", "/isleader", "/events").contains(path)) {
            var one = named(exchange);
            if (one.isPresent()) {
                answer(exchange, path, one.get());
            }
        } else {
            LocalHttp.say(exchange, 404, "There is no " + path + ": " + WHAT_THERE_IS + ".");
        }
    }

    private void answer(HttpExchange exchange, String path, ServedElection one) throws IOException {
        switch (path) {
            case "/", "/leader" -> document(exchange, leader(one.ask()));
            case "/isleader" -> isLeader(exchange, one.ask());
            default -> stream(exchange, one);
        }
    }

    /** Returns the election that the address names, or the only one; if there is none, that has been answered. */
    private Optional<ServedElection> named(HttpExchange exchange) throws IOException {
        var name = LocalHttp.words(exchange.getRequestURI().getRawQuery()).get("election");
        if (name != null) {
            return find(exchange, name);
        }
        if (served.size() == 1) {
            return served.values().stream().findFirst();
        }
        LocalHttp.say(exchange, 400, "Name the election, as ?election=NAME: " + names() + ".");
        return Optional.empty();
    }

    private Optional<ServedElection> find(HttpExchange exchange, String name) throws IOException {
        var one = Optional.ofNullable(served.get(name));
        if (one.isEmpty()) {
            LocalHttp.say(exchange, 404, "Nobody stands in \"" + name + "\" here, but in " + names() + ".");
        }
        return one;
    }

    private String names() {
        return served.keySet().stream().map(name -> '"' + name + '"').collect(Collectors.joining(", "));
    }

    private static void isLeader(HttpExchange exchange, ServedElection.Answer answer) throws IOException {
        LocalHttp.say(
                exchange,
                answer.leads() ? 200 : 503,
                answer.remainingMillis() + " " + (answer.leads() ? answer.token() : 0));
    }

    private static void document(HttpExchange exchange, String json) throws IOException {
        LocalHttp.send(exchange, 200, "application/json", (json + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static String leader(ServedElection.Answer answer) {
        return Json.object(json -> {
            json.writeStringField("name", answer.name());
            json.writeStringField("last_update", answer.since().toString());
        });
    }

    private static String describe(ServedElection.Answer answer) {
        return Json.object(json -> {
            json.writeStringField("election", answer.election());
            json.writeStringField("candidate", answer.candidate());
            json.writeStringField("leader", answer.name());
            json.writeBooleanField("leads", answer.leads());
            json.writeNumberField("token", answer.leads() ? answer.token() : 0);
            json.writeNumberField("remainingMillis", answer.remainingMillis());
            json.writeStringField(
                    "phase", answer.phase().name().toLowerCase(Locale.ROOT).replace('_', '-'));
        });
    }

    private void obey(HttpExchange exchange, Consumer<Candidacy> order) throws IOException {
        if (!LocalHttp.mayOrder(exchange, token, "see --token-file")) {
            return;
        }
        var one = named(exchange);
        if (one.isEmpty()) {
            return;
        }
        var candidacy = one.get().candidacy();
        if (List.of(Phase.LEAVING, Phase.CLOSED).contains(candidacy.status().phase())) { // it would do nothing
            LocalHttp.say(
                    exchange,
                    409,
                    "The candidacy in \"" + candidacy.election()
                            + "\" has ended here: to stand again, start this process again.");
            return;
        }
        order.accept(candidacy);
        exchange.sendResponseHeaders(204, -1);
    }

    /**
     * Tells each change, and calls to ask again before what was answered last runs out. It tells no remaining time: who
     * reads it could not know for how long it was on its way.
     */
    private void stream(HttpExchange exchange, ServedElection one) throws IOException {
        if (streams.incrementAndGet() > STREAMS) {
            streams.decrementAndGet();
            LocalHttp.say(exchange, 503, "Too many streams are open already; close one of them.");
            return;
        }
        try {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            if (exchange.getRequestMethod().equals("HEAD")) {
                exchange.sendResponseHeaders(200, -1);
                return;
            }
            exchange.sendResponseHeaders(200, 0);
            tell(exchange, one);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            streams.decrementAndGet();
        }
    }

    private static void tell(HttpExchange exchange, ServedElection one) throws IOException, InterruptedException {
        var out = exchange.getResponseBody();
        var told = "";
        boolean more;
        do {
            var answer = one.ask();
            var change = change(answer);
            var line = !change.equals(told)
                    ? "data: " + change + "\n\n"
                    : answer.leads() ? "event: ask\ndata: {}\n\n" : ": nothing new\n\n";
            told = change;
            out.write(line.getBytes(StandardCharsets.UTF_8));
            out.flush();
            more = one.await(answer.changes(), answer.leads() ? one.reminder() : KEEP_ALIVE);
        } while (more);
        out.write("event: over\ndata: {}\n\n".getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static String change(ServedElection.Answer answer) {
        return Json.object(json -> {
            json.writeStringField("name", answer.name());
            json.writeStringField("last_update", answer.since().toString());
            json.writeStringField("election", answer.election());
            json.writeBooleanField("leads", answer.leads());
            json.writeNumberField("token", answer.leads() ? answer.token() : 0);
        });
    }

    /** Tells all who listen that it is over, as far as they can be told within half a second. */
    @Override
    public void close() {
        served.values().forEach(ServedElection::close);
        var until = System.nanoTime() + LAST_WORDS_NANOS;
        while (streams.get() > 0 && System.nanoTime() - until < 0) {
            LockSupport.parkNanos(1_000_000);
        }
        http.close();
    }
}
