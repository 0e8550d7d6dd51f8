package dev.bellwether.etcd;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.EOFException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Asks the members of a cluster, by etcd's JSON gateway, and makes of what they answer, or do not, what it means.
 * Thread-safe. Never blocks.
 *
 * <p>Requests go to one member as long as it answers. Reading goes on to the next one within its time; writing never
 * does, since whether the first was carried out is unknown.
 */
final class EtcdClient {
    /** Each has a connection of its own. */
    private static final int MOST_UNDER_WAY = 64;

    private static final long CLOCK_TOLERANCE_MILLIS = 2_000;

    private final EtcdSettings settings;
    private final HttpClient http;
    private final RequestLimiter limiter = new RequestLimiter(MOST_UNDER_WAY);
    private final AtomicInteger preferred = new AtomicInteger();
    private final AtomicReference<@Nullable CompletableFuture<String>> token = new AtomicReference<>();
    private volatile String cluster = "";
    private volatile String term = "";
    private volatile long revision;
    private volatile Runnable moved = () -> {};
    private long clockAheadMillis =
            Long.MIN_VALUE; // guarded by this: what a member's clock shows, less our monotonic one

    /** The token is over: nothing was carried out, and another one will do. */
    private static final class StaleTokenException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    EtcdClient(EtcdSettings settings, HttpClient http) {
        this.settings = settings;
        this.http = http;
    }

    /** Has this told when requests go to another member from now on. */
    void onMove(Runnable moved) {
        this.moved = moved;
    }

    // ---------------------------------------------------------------- asking

    /** Asks something that changes nothing, the members one after the other. */
    CompletableFuture<Json> read(Urgency urgency, String path, String body, Duration timeout) {
        return ask(urgency, settings.members().size(), path, body, timeout);
    }

    /** Asks for something to be done; no answer means that it may have been done, or will be. */
    CompletableFuture<Json> write(Urgency urgency, String path, String body, Duration timeout) {
        return ask(urgency, 1, path, body, timeout);
    }

    private CompletableFuture<Json> ask(Urgency urgency, int tries, String path, String body, Duration timeout) {
        var deadline = System.nanoTime() + timeout.toNanos();
        return limiter.pass(
                urgency,
                deadline,
                () -> attempt(tries, true, path, body, deadline),
                () -> new UnavailableException(
                        settings + " was not asked within " + Durations.show(timeout) + ", so many others came first"));
    }

    private CompletableFuture<Json> attempt(int tries, boolean mayRenew, String path, String body, long deadline) {
        var member = preferred.get();
        var left = Math.max(1, deadline - System.nanoTime());
        return ask(member, mayRenew, path, body, Duration.ofNanos(tries > 1 ? (left + 1) / 2 : left))
                .exceptionallyCompose(error -> {
                    var cause = error instanceof CompletionException ? error.getCause() : error;
                    if (cause instanceof StaleTokenException) {
                        return attempt(tries, false, path, body, deadline);
                    }
                    if (cause instanceof UnavailableException) {
                        if (preferred.compareAndSet(
                                member, (member + 1) % settings.members().size())) {
                            moved.run();
                        }
                        if (tries > 1) {
                            return attempt(tries - 1, mayRenew, path, body, deadline);
                        }
                    }
                    return CompletableFuture.failedFuture(cause);
                });
    }

    /** Asks this member, once. */
    CompletableFuture<Json> ask(int member, String path, String body, Duration timeout) {
        return ask(member, false, path, body, timeout);
    }

    private CompletableFuture<Json> ask(int member, boolean mayRenew, String path, String body, Duration timeout) {
        return token(member, timeout)
                .thenCompose(known -> send(member, path, body, known, timeout).thenApply(answer -> {
                    if (answer.at("header").value() instanceof String) {
                        throw refusal(member, path, answer, known, mayRenew);
                    }
                    note(answer.at("header"));
                    return answer;
                }));
    }

    private CompletableFuture<Json> send(int member, String path, String body, String known, Duration timeout) {
        var sent = http.sendAsync(request(member, path, body, known, timeout), HttpResponse.BodyHandlers.ofString());
        // the time of a request is over with the first bytes of its answer: this one is for all of it
        return sent.copy().orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS).handle((response, error) -> {
            if (response == null) {
                sent.cancel(true); // the connection is of no use any more
                throw unanswered(member, path, timeout, error);
            }
            noteClock(response);
            try {
                return Json.parse(response.body());
            } catch (UncheckedIOException e) {
                throw stranger(member, response.statusCode() + " " + response.body());
            }
        });
    }

    private HttpRequest request(int member, String path, String body, String known, Duration timeout) {
        var builder = HttpRequest.newBuilder(settings.members().get(member).resolve("/v3/" + path))
                .version(HttpClient.Version.HTTP_1_1)
                .timeout(timeout)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        if (!path.startsWith("maintenance/")) {
            builder.header("Grpc-Metadata-hasleader", "true"); // a member that has no leader says so at once
        }
        return (known.isEmpty() ? builder : builder.header("Authorization", known)).build();
    }

    /** Opens a stream of lines, at the member that is asked now. */
    CompletableFuture<Stream<String>> stream(String path, String body, Duration timeout) {
        var member = preferred.get();
        return token(member, timeout)
                .thenCompose(known -> http.sendAsync(
                        request(member, path, body, known, timeout), HttpResponse.BodyHandlers.ofLines()))
                .thenApply(HttpResponse::body);
    }

    // ---------------------------------------------------------------- who we are

    private CompletableFuture<String> token(int member, Duration timeout) {
        var known = token.get();
        if (settings.user().isEmpty() || (known != null && !known.isCompletedExceptionally())) {
            return known == null ? CompletableFuture.completedFuture("") : known;
        }
        var fresh = new CompletableFuture<String>();
        if (!token.compareAndSet(known, fresh)) {
            return token(member, timeout);
        }
        var encoder = JsonStringEncoder.getInstance();
        var body = "{\"name\":\"" + new String(encoder.quoteAsString(settings.user())) + "\",\"password\":\""
                + new String(encoder.quoteAsString(settings.password())) + "\"}";
        var unused = send(member, "auth/authenticate", body, "", timeout).whenComplete((answer, error) -> {
            if (answer != null
                    && (!answer.text("token").isEmpty()
                            || answer.text("message").contains("not enabled"))) {
                fresh.complete(answer.text("token"));
            } else {
                fresh.completeExceptionally(
                        answer == null ? error : refusal(member, "auth/authenticate", answer, "", false));
            }
        });
        return fresh;
    }

    /** Another token is to be had before the next request. */
    void forgetToken() {
        token.set(null);
    }

    // ---------------------------------------------------------------- what is noted by the way

    private synchronized void note(Json header) {
        var id = header.text("cluster_id");
        cluster = cluster.isEmpty() ? id : cluster;
        if (!cluster.equals(id)) {
            throw new ElectionException(settings + " is not the cluster that it was, or its hosts are of several: " + id
                    + " answers, and it was " + cluster + ". Two could lead, and tokens would fall. Name the"
                    + " members of one cluster; if it was made anew, close all candidacies, and begin again");
        }
        if (!header.text("raft_term").isEmpty()) {
            term = header.text("raft_term");
        }
        if (header.number("revision") > 0) {
            revision = header.number("revision");
        }
    }

    /** Returns what changes when the cluster is another, has another leader, or was started anew. */
    String session() {
        return cluster + '/' + term;
    }

    /** Returns the revision that was heard of last. */
    long revision() {
        return revision;
    }

    /** A member tells the time in full seconds: it is never less than the most that any answer leads to. */
    private synchronized void noteClock(HttpResponse<?> response) {
        try {
            var date = response.headers().firstValue("Date").orElse("");
            var ahead = ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                            .toInstant()
                            .toEpochMilli()
                    - System.nanoTime() / 1_000_000;
            if (ahead > clockAheadMillis || ahead < clockAheadMillis - CLOCK_TOLERANCE_MILLIS) {
                clockAheadMillis = ahead;
            }
        } catch (DateTimeException e) {
            // it is for display only
        }
    }

    /** Returns what a member's clock shows now, about; for display. */
    synchronized Instant now() {
        return clockAheadMillis == Long.MIN_VALUE
                ? Instant.now()
                : Instant.ofEpochMilli(clockAheadMillis + System.nanoTime() / 1_000_000);
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return settings.toString();
    }

    boolean isCrowded() {
        return limiter.isCrowded();
    }

    // ---------------------------------------------------------------- what it means

    private RuntimeException refusal(int member, String path, Json said, String known, boolean mayRenew) {
        var message = said.text("message").isEmpty() ? said.text("error") : said.text("message");
        var who = settings.members().get(member).getAuthority();
        var what = settings + ": " + who + " refused " + path + ": " + message;
        var nobody = message.contains("user name is empty");
        if (message.contains("invalid auth token") || message.contains("auth store is old") || nobody) {
            if (mayRenew && !settings.user().isEmpty()) {
                token.updateAndGet(held -> held == null || known.equals(held.getNow("")) ? null : held);
                return new StaleTokenException();
            }
            return new AccessRefusedException(what
                    + (nobody ? ". It wants a user: write etcd://user:password@" : ". Log in again was refused, too"));
        }
        if (message.contains("authentication failed")) {
            return new AccessRefusedException(what + ". Check user and password");
        }
        if (message.contains("permission denied")) {
            return new AccessRefusedException(what + ": user \"" + settings.user() + "\" may not use the keys under "
                    + settings.prefix() + "/. Grant it: etcdctl role grant-permission ROLE readwrite "
                    + settings.prefix() + "/ --prefix=true");
        }
        if (message.contains("space exceeded")) {
            return new UnavailableException(what + ". Nobody can be elected until there is room: compact, defragment,"
                    + " then etcdctl alarm disarm");
        }
        if (message.contains("too large")) {
            return new ElectionException(what + ". Give the candidate less metadata, or raise --max-request-bytes");
        }
        return said.text("code").isEmpty() ? stranger(member, said.toString()) : new UnavailableException(what);
    }

    /** At the beginning a wrong address; later something on the way that passes. */
    private RuntimeException stranger(int member, String said) {
        var what = settings + ": " + settings.members().get(member).getAuthority() + " does not answer as etcd's JSON"
                + " gateway does (it said: " + said.strip().lines().findFirst().orElse("nothing") + ")";
        return cluster.isEmpty()
                ? new ElectionException(what + ". Check the port, and tls=true; etcd must be 3.4 or newer, with its"
                        + " gateway on (--enable-grpc-gateway)")
                : new UnavailableException(what);
    }

    private RuntimeException unanswered(int member, String path, Duration timeout, @Nullable Throwable error) {
        var cause = error instanceof CompletionException ? error.getCause() : error;
        var what = settings + ": " + settings.members().get(member).getAuthority();
        if (cause instanceof SSLException && cluster.isEmpty() && !(cause.getCause() instanceof EOFException)) {
            return new ElectionException(
                    what + " and we do not agree on TLS: check tls, certificates, truststore and keystore (it said: "
                            + settings.uri().redact(String.valueOf(cause.getMessage())) + ")",
                    cause);
        }
        var why = cause instanceof HttpTimeoutException || cause instanceof TimeoutException
                ? " did not answer " + path + " within " + Durations.show(timeout)
                : cause instanceof ConnectException
                        ? " takes no connection"
                        : " broke the connection off at " + path + " (does it want TLS? then write tls=true): " + cause;
        return new UnavailableException(what + why, cause);
    }
}
