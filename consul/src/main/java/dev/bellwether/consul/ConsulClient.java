package dev.bellwether.consul;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/** Asks agents of Consul, and makes of what they answer, or do not, what it means. Thread-safe. Never blocks. */
final class ConsulClient {
    /** So many may be carried out at once. */
    static final int MOST_OPERATIONS = 64;

    private static final int OK = 200;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;
    private static final int TOO_LARGE = 413;
    private static final String INDEX = "X-Consul-Index";

    private final ConsulSettings settings;
    private final HttpMembers members;
    private final AtomicLong breaks = new AtomicLong();

    /**
     * An answer.
     *
     * @param isDone whether what was asked for is there, or was done
     * @param index up to which it goes; 0 if that is not said
     */
    record Answer(boolean isDone, long index, Json json) {}

    ConsulClient(ConsulSettings settings, ReplaceableClient http) {
        this.settings = settings;
        members = new HttpMembers(settings.uri(), settings.members(), http);
    }

    HttpMembers members() {
        return members;
    }

    /**
     * Returns what changes when an agent did not answer, or could not. That it was asked too much says nothing of what
     * was written: a leader that read before each renewal then would ask for more.
     */
    String session() {
        return Long.toString(breaks.get());
    }

    boolean isCrowded() {
        return members.isCrowded();
    }

    /** Returns what an agent's clock shows now, about; for display. */
    Instant now() {
        return members.now();
    }

    /** Returns where a key stands, or all that begin with it. */
    static String keys(String name) {
        return "kv/"
                + URLEncoder.encode(name, StandardCharsets.UTF_8)
                        .replace("+", "%20")
                        .replace("%2F", "/");
    }

    /** Reads something, at the agents one after the other. */
    CompletableFuture<Answer> read(Urgency urgency, String path, List<String> parameters, Duration timeout) {
        return members.read(urgency, timeout, (member, left) -> ask(member, path, parameters, left));
    }

    /** Has operations carried out, all or none; no answer means that they may have been, or will be. */
    CompletableFuture<Answer> write(Urgency urgency, String operations, Duration timeout) {
        return members.write(
                urgency,
                timeout,
                (member, left) -> send(
                        member,
                        "txn",
                        request(member, "txn", List.of()).PUT(HttpRequest.BodyPublishers.ofString(operations)),
                        left));
    }

    /** Reads something at this agent, once. Cancelling the answer gives the request up. */
    CompletableFuture<Answer> ask(int member, String path, List<String> parameters, RequestTime time) {
        return send(member, path, request(member, path, parameters).GET(), time);
    }

    private HttpRequest.Builder request(int member, String path, List<String> parameters) {
        var query = String.join("&", parameters);
        if (!settings.datacenter().isEmpty()) {
            query += (query.isEmpty() ? "" : "&") + "dc="
                    + URLEncoder.encode(settings.datacenter(), StandardCharsets.UTF_8);
        }
        var builder = HttpRequest.newBuilder(members.at(member, "/v1/" + path + (query.isEmpty() ? "" : "?" + query)));
        return settings.token().isEmpty() ? builder : builder.header("X-Consul-Token", settings.token());
    }

    private CompletableFuture<Answer> send(int member, String path, HttpRequest.Builder request, RequestTime time) {
        var sent = members.send(member, request, path, time);
        return HttpMembers.cancelling(sent, sent.handle((response, error) -> {
            if (response == null) {
                if (!HttpMembers.isOfNobody(error)) {
                    breaks.incrementAndGet();
                }
                throw error.getCause() instanceof RuntimeException plain ? plain : new IllegalStateException(error);
            }
            try {
                return answer(member, path, response);
            } catch (UnavailableException e) {
                if (!isTooMuch(response)) {
                    breaks.incrementAndGet();
                }
                throw e;
            }
        }));
    }

    private static boolean isTooMuch(HttpMembers.Response response) {
        return response.statusCode() == HttpMembers.TOO_MANY
                || response.body().toLowerCase(Locale.ROOT).contains("rate limit");
    }

    private Answer answer(int member, String path, HttpMembers.Response response) {
        var status = response.statusCode();
        var said = response.body().strip();
        var index = response.headers().firstValue(INDEX).orElse("");
        if (status == OK || (status == NOT_FOUND && !index.isEmpty()) || status == CONFLICT) {
            try {
                var json = Json.parse(status == NOT_FOUND ? "[]" : said);
                if (said.contains("Permission denied") && status == CONFLICT) {
                    throw refused(member, path, said);
                }
                members.understood();
                return new Answer(status == OK, index.matches("[0-9]{1,18}") ? Long.parseLong(index) : 0, json);
            } catch (UncheckedIOException e) {
                throw stranger(member, status + " " + said);
            }
        }
        if (status == FORBIDDEN) {
            throw refused(member, path, said);
        }
        if (status == TOO_LARGE) {
            throw new ElectionException(refusal(member, path, said) + ". Give the candidate less metadata");
        }
        if (said.contains("No path to datacenter") && !members.isUnderstood()) {
            throw new ElectionException(refusal(member, path, said) + ". Correct dc=");
        }
        if (HttpMembers.passes(status)) { // no leader, no way to it, too many requests or connections
            throw new UnavailableException(refusal(member, path, said));
        }
        throw stranger(member, status + " " + said);
    }

    private String refusal(int member, String path, String said) {
        return settings + ": " + members.name(member) + " refused " + path + ": "
                + settings.uri().redact(said).lines().findFirst().orElse("nothing was said");
    }

    private AccessRefusedException refused(int member, String path, String said) {
        return new AccessRefusedException(refusal(member, path, said)
                + (settings.token().isEmpty()
                        ? ". It wants a token: write ?token=${env:CONSUL_HTTP_TOKEN}"
                        : ". Check the token. It needs the rule: key_prefix \"" + settings.prefix()
                                + "\" { policy = \"write\" }"));
    }

    /** At the beginning a wrong address; later something on the way that passes. */
    private RuntimeException stranger(int member, String said) {
        var what = settings + ": " + members.name(member) + " does not answer as Consul's HTTP API does (it said: "
                + settings.uri().redact(said).lines().findFirst().orElse("nothing") + ")";
        return members.isUnderstood()
                ? new UnavailableException(what)
                : HttpMembers.wrong(what + ". Check the port, and tls=true", null);
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return settings.toString();
    }
}
