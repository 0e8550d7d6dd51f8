package dev.bellwether.kubernetes;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/** Asks an API server, and makes of what it answers, or does not, what it means. Thread-safe. Never blocks. */
final class KubernetesClient {
    /** API servers queue, and refuse, the requests of one user beyond a share of theirs. */
    private static final int MOST_UNDER_WAY = 50;

    private static final int OK = 200;
    private static final int MOST_OK = 299;
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;
    private static final int GONE = 410;
    private static final int TOO_LARGE = 413;
    private static final int INVALID = 422;
    private static final int FAILED = 500;
    private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

    private final KubernetesSettings settings;
    private final ClusterAccess access;
    private final HttpMembers members;
    private final AtomicLong breaks = new AtomicLong();
    /** Of the same urgency and less: a list that was too much must not keep a leader from renewing its lease. */
    private final Map<Urgency, AtomicLong> notBeforeNanos = new EnumMap<>(Urgency.class); // not changed after the start

    private volatile boolean isNamespaceKnown;
    private volatile Runnable broken = () -> {};

    /** What came of a request. */
    enum Outcome {
        /** It was carried out; the answer is there. */
        DONE,
        /** There is nothing of this name. */
        ABSENT,
        /** What is there is at another version, or is there already. */
        CONFLICT,
        /** The version, or the place in a list, is too old. */
        EXPIRED
    }

    /** An answer. */
    record Answer(Outcome outcome, Json json) {
        boolean isDone() {
            return outcome == Outcome.DONE;
        }
    }

    /** The server has asked to be left alone while this waited for its turn: nothing was sent. */
    private static final class PausedException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** The token is over: nothing was carried out, and there is another one. */
    private static final class StaleTokenException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    KubernetesClient(KubernetesSettings settings, ClusterAccess access, Supplier<ReplaceableClient> http) {
        this.settings = settings;
        this.access = access;
        for (var urgency : Urgency.values()) {
            notBeforeNanos.put(urgency, new AtomicLong(System.nanoTime()));
        }
        members = new HttpMembers(settings.uri(), List.of(access.server().resolve("/")), http, MOST_UNDER_WAY);
    }

    HttpMembers members() {
        return members;
    }

    ClusterAccess access() {
        return access;
    }

    /** Has this told when the server did not answer. */
    void onBreak(Runnable broken) {
        this.broken = broken;
    }

    /** Returns what changes when the server did not answer. */
    String session() {
        return Long.toString(breaks.get());
    }

    // ---------------------------------------------------------------- asking

    /** Where Leases are, with what follows the namespace. */
    String leases(String rest) {
        return "/apis/coordination.k8s.io/v1/namespaces/" + access.namespace() + "/leases" + rest;
    }

    /** Gets, or lists, as the verb says. */
    CompletableFuture<Answer> get(Urgency urgency, String verb, String path, Duration timeout) {
        return get(urgency, verb, path, RequestTime.of(timeout));
    }

    /** Does the same in what is left of the time. */
    CompletableFuture<Answer> get(Urgency urgency, String verb, String path, RequestTime time) {
        return whenAllowed(
                urgency,
                time,
                rest -> members.read(
                        urgency, rest, (member, left) -> ask(urgency, verb, path, HttpRequest.Builder::GET, left)));
    }

    /** Asks for something to be done; no answer means that it may have been, or will be. */
    CompletableFuture<Answer> write(Urgency urgency, String verb, String path, String body, Duration timeout) {
        return write(urgency, verb, path, body, RequestTime.of(timeout));
    }

    /** Does the same in what is left of the time. */
    CompletableFuture<Answer> write(Urgency urgency, String verb, String path, String body, RequestTime time) {
        var method = switch (verb) {
            case "create" -> "POST";
            case "update" -> "PUT";
            case "patch" -> "PATCH";
            default -> "DELETE";
        };
        var type = verb.equals("patch") ? "application/merge-patch+json" : "application/json";
        return whenAllowed(
                urgency,
                time,
                rest -> members.write(
                        urgency,
                        rest,
                        (member, left) -> ask(
                                urgency,
                                verb,
                                path,
                                to -> to.setHeader("Content-Type", type)
                                        .method(method, HttpRequest.BodyPublishers.ofString(body)),
                                left)));
    }

    private CompletableFuture<Answer> ask(
            Urgency urgency,
            String verb,
            String path,
            Function<HttpRequest.Builder, HttpRequest.Builder> method,
            RequestTime time) {
        if (pauseNanos(urgency) > 0) {
            return CompletableFuture.failedFuture(new PausedException());
        }
        var deadline = System.nanoTime() + time.left().toNanos();
        return attempt(urgency, verb, path, method, true, time).exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            return cause instanceof StaleTokenException
                    ? attempt(urgency, verb, path, method, false, time.until(deadline))
                    : CompletableFuture.failedFuture(cause);
        });
    }

    /**
     * A server that has too much to do says for how long to leave it alone. What waits for that has no place among the
     * requests that may be under way, which others need who may ask.
     */
    private CompletableFuture<Answer> whenAllowed(
            Urgency urgency, RequestTime time, Function<RequestTime, CompletableFuture<Answer>> request) {
        return whenAllowed(urgency, System.nanoTime() + time.left().toNanos(), time, request);
    }

    private CompletableFuture<Answer> whenAllowed(
            Urgency urgency,
            long deadline,
            RequestTime time,
            Function<RequestTime, CompletableFuture<Answer>> request) {
        var pause = pauseNanos(urgency);
        if (pause > 0 && deadline - System.nanoTime() <= pause) {
            return CompletableFuture.failedFuture(new UnavailableException(
                    settings + ": the API server has asked to be left alone for a while (429): nothing was sent"));
        }
        var asked = pause <= 0
                ? request.apply(time.until(deadline))
                : CompletableFuture.completedFuture(deadline)
                        .thenComposeAsync(
                                until -> request.apply(time.until(until)), DelayThread.after(Duration.ofNanos(pause)));
        return asked.exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            return cause instanceof PausedException
                    ? whenAllowed(urgency, deadline, time, request)
                    : CompletableFuture.failedFuture(cause);
        });
    }

    private long pauseNanos(Urgency urgency) {
        return notBefore(urgency).get() - System.nanoTime();
    }

    private AtomicLong notBefore(Urgency urgency) {
        return Objects.requireNonNull(notBeforeNanos.get(urgency));
    }

    /** Requests of this urgency, and those that are less urgent, are to wait for as long as the server says. */
    private void pause(Urgency refused, HttpMembers.Response response) {
        var until = System.nanoTime() + pauseWanted(response.headers()).toNanos();
        for (var urgency : EnumSet.range(refused, Urgency.LIST)) {
            notBefore(urgency).updateAndGet(known -> known - until > 0 ? known : until);
        }
    }

    /** Returns for how long a server that has too much to do wants to be left alone. */
    static Duration pauseWanted(HttpHeaders headers) {
        var wanted = headers.firstValue("Retry-After").orElse("1").strip();
        var pause = wanted.matches("[0-9]{1,6}") ? Duration.ofSeconds(Long.parseLong(wanted)) : until(wanted, headers);
        if (pause.compareTo(SHORTEST_PAUSE) < 0) {
            return SHORTEST_PAUSE;
        }
        return pause.compareTo(LONGEST_PAUSE) < 0 ? pause : LONGEST_PAUSE;
    }

    /** An API server says seconds. A proxy may name a time, by its own clock, which may be over. */
    private static Duration until(String time, HttpHeaders headers) {
        try {
            var now = headers.firstValue("Date").map(KubernetesClient::instant).orElseGet(Instant::now);
            return Duration.between(now, instant(time));
        } catch (DateTimeException e) {
            return LONGEST_PAUSE; // neither seconds nor a time
        }
    }

    private static Instant instant(String time) {
        return ZonedDateTime.parse(time.strip(), DateTimeFormatter.RFC_1123_DATE_TIME)
                .toInstant();
    }

    private CompletableFuture<Answer> attempt(
            Urgency urgency,
            String verb,
            String path,
            Function<HttpRequest.Builder, HttpRequest.Builder> method,
            boolean mayRenew,
            RequestTime time) {
        var token = access.token().current();
        var request = method.apply(request(path, token));
        var sent = CompletableFuture.completedFuture(request)
                .thenCompose(ready -> members.send(0, ready, verb + " of " + what(path), time));
        return sent.handle((response, error) -> {
            if (response == null) {
                if (!HttpMembers.isOfNobody(error)) {
                    breaks.incrementAndGet();
                    broken.run();
                }
                throw error.getCause() instanceof RuntimeException plain ? plain : new IllegalStateException(error);
            }
            if (response.statusCode() == UNAUTHORIZED
                    && mayRenew
                    && access.token().isReplaced(token)) {
                throw new StaleTokenException();
            }
            if (response.statusCode() == HttpMembers.TOO_MANY) {
                pause(urgency, response);
            }
            return answer(verb, path, response);
        });
    }

    private HttpRequest.Builder request(String path, String token) {
        var builder = HttpRequest.newBuilder(URI.create(access.server() + path))
                .header("Accept", "application/json")
                .header("Content-Type", "application/json")
                .header("User-Agent", "bellwether"); // for others the server formats its answers in many lines
        return token.isEmpty()
                ? builder
                : builder.header(
                        "Authorization",
                        "Bearer " + HttpMembers.credential(settings + ": the token of " + access.origin(), token));
    }

    /** Opens a stream of lines, or is refused, with the next token if there is one: that is for the caller to see. */
    CompletableFuture<HttpMembers.Lines> stream(String path, Duration timeout) {
        var token = access.token().current();
        return members.stream(request(path, token).GET(), timeout).thenCompose(opened -> {
            if (opened.statusCode() != UNAUTHORIZED || !access.token().isReplaced(token)) {
                return CompletableFuture.completedFuture(opened);
            }
            opened.lines().close();
            return members.stream(request(path, access.token().current()).GET(), timeout);
        });
    }

    private static String what(String path) {
        return path.contains("/leases") ? "leases" : path.contains("/pods") ? "pods" : path;
    }

    // ---------------------------------------------------------------- what it means

    private Answer answer(String verb, String path, HttpMembers.Response response) {
        var status = response.statusCode();
        Json said;
        try {
            said = Json.parse(response.body());
        } catch (UncheckedIOException e) {
            said = new Json("");
        }
        var isKnown = !said.text("kind").isEmpty() || !said.text("gitVersion").isEmpty();
        if (status >= OK && status <= MOST_OK && isKnown) {
            members.understood();
            if (!verb.equals("list") && path.startsWith(leases(""))) { // lists are answered where no namespace is, too
                isNamespaceKnown = true;
            }
            return new Answer(Outcome.DONE, said);
        }
        return outcome(status, said)
                .map(outcome -> new Answer(outcome, new Json("")))
                .orElseThrow(() -> error(verb, path, status, said(response.body())));
    }

    /** What is no failure, although its status is none of success. */
    private Optional<Outcome> outcome(int status, Json said) {
        if (!said.text("kind").equals("Status")) {
            return Optional.empty();
        }
        return switch (status) {
            case NOT_FOUND ->
                said.at("details").text("kind").equals("namespaces")
                                || said.at("details").text("name").isEmpty()
                        ? Optional.empty()
                        : Optional.of(Outcome.ABSENT);
            case CONFLICT -> Optional.of(Outcome.CONFLICT);
            case GONE -> Optional.of(Outcome.EXPIRED);
            default -> Optional.empty();
        };
    }

    private static String said(String body) {
        try {
            var message = Json.parse(body).text("message");
            return message.isEmpty() ? body : message;
        } catch (UncheckedIOException e) {
            return body;
        }
    }

    /** Returns what an answer of this status means that is none. */
    RuntimeException error(String verb, String path, int status, String said) {
        var message = settings.uri().redact(said).lines().findFirst().orElse("nothing was said");
        var what = settings + ": " + members.name(0) + " refused " + verb + " of " + what(path) + " with " + status
                + ": " + message;
        return switch (status) {
            case UNAUTHORIZED ->
                new AccessRefusedException(what + ". The credentials are from " + access.origin()
                        + ": its token or certificate has expired, or is for another cluster");
            case FORBIDDEN ->
                message.contains("exceeded quota")
                        ? new UnavailableException(what + ". Raise the quota, or remove Leases")
                        : forbidden(verb, path, message, what);
            case TOO_LARGE, INVALID ->
                new ElectionException(what
                        + (said.contains("Too long") || status == TOO_LARGE
                                ? ". Give the candidate less metadata"
                                : ""));
            case NOT_FOUND ->
                !said.contains("namespaces")
                        ? stranger(status, message)
                        : isNamespaceKnown
                                ? new UnavailableException(what + ". It was there. Create the namespace again")
                                : new ElectionException(what + ". Create the namespace, or correct the URI");
            case HttpMembers.TOO_MANY -> new UnavailableException(what);
            default -> status >= FAILED ? new UnavailableException(what) : stranger(status, message);
        };
    }

    private AccessRefusedException forbidden(String verb, String path, String message, String what) {
        return new AccessRefusedException(
                message.contains("cannot " + verb)
                        ? what + ". Grant it: a Role in namespace " + access.namespace() + " with the verb " + verb
                                + (path.contains("/pods")
                                        ? " on pods. podLabel needs list and patch"
                                        : " on leases of coordination.k8s.io. Elections need "
                                                + String.join(", ", KubernetesDoctor.VERBS))
                        : what);
    }

    /** At the beginning a wrong address; later something on the way that passes. */
    private RuntimeException stranger(int status, String said) {
        var what = settings + ": " + members.name(0) + " does not answer as an API server with Leases does (it said "
                + status + ": " + said + ")";
        return members.isUnderstood()
                ? new UnavailableException(what)
                : new ElectionException(what + ". Check the address, which is from " + access.origin());
    }

    // ---------------------------------------------------------------- what is known of it

    /** Returns what the server's clock shows now, about; for display. */
    Instant now() {
        return members.now();
    }

    boolean isCrowded() {
        return members.isCrowded();
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return settings.toString();
    }
}
