package dev.bellwether.etcd;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Asks the members of a cluster, by etcd's JSON gateway, and makes of what they answer what it means. Thread-safe.
 * Never blocks.
 */
final class EtcdClient {
    /** Who was told that the leader has changed asks again after this time. */
    private static final Duration ELECTING = Duration.ofMillis(50);

    /** How members of different versions say that a token is over. */
    private static final List<String> STALE_TOKEN =
            List.of("invalid auth token", "auth store is old", "revision in header is old");

    private static final int OK = 200;

    private final EtcdSettings settings;
    private final HttpMembers members;
    private final AtomicReference<@Nullable CompletableFuture<String>> token = new AtomicReference<>();
    private volatile String cluster = "";
    private volatile String term = "";
    private volatile long revision;

    /** The token is over: nothing was carried out, and another one will do. */
    private static final class StaleTokenException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    EtcdClient(EtcdSettings settings, ReplaceableClient http) {
        this.settings = settings;
        members = new HttpMembers(settings.uri(), settings.members(), http);
    }

    HttpMembers members() {
        return members;
    }

    // ---------------------------------------------------------------- asking

    /** Asks something that changes nothing, the members one after the other; again while they elect a leader. */
    CompletableFuture<Json> read(Urgency urgency, String path, String body, Duration timeout) {
        return whileElecting(
                RequestTime.of(timeout),
                rest -> members.read(urgency, rest, (member, left) -> attempt(member, path, body, left)));
    }

    /** Asks this member something that changes nothing; again while they elect a leader. */
    CompletableFuture<Json> probe(int member, String path, String body, Duration timeout) {
        return whileElecting(RequestTime.of(timeout), left -> ask(member, false, path, body, left));
    }

    private static CompletableFuture<Json> whileElecting(
            RequestTime time, Function<RequestTime, CompletableFuture<Json>> question) {
        var deadline = System.nanoTime() + time.left().minus(ELECTING).toNanos();
        return question.apply(time).exceptionallyCompose(error -> {
            if (!String.valueOf(error.getMessage()).contains("leader changed") || deadline - System.nanoTime() <= 0) {
                return CompletableFuture.failedFuture(error);
            }
            return CompletableFuture.completedFuture(time.until(deadline))
                    .thenComposeAsync(rest -> whileElecting(rest, question), DelayThread.after(ELECTING));
        });
    }

    /** Asks for something to be done; no answer means that it may have been done, or will be. */
    CompletableFuture<Json> write(Urgency urgency, String path, String body, Duration timeout) {
        return members.write(urgency, timeout, (member, left) -> attempt(member, path, body, left));
    }

    private CompletableFuture<Json> attempt(int member, String path, String body, RequestTime time) {
        var deadline = System.nanoTime() + time.left().toNanos();
        return ask(member, true, path, body, time).exceptionallyCompose(error -> {
            var cause = Causes.unwrapped(error);
            return cause instanceof StaleTokenException
                    ? ask(member, false, path, body, time.until(deadline))
                    : CompletableFuture.failedFuture(cause);
        });
    }

    /** Asks this member, once. */
    CompletableFuture<Json> ask(int member, String path, String body, Duration timeout) {
        return ask(member, false, path, body, RequestTime.of(timeout));
    }

    /** What the login has taken, where there was none yet, is gone from the time of the request. */
    private CompletableFuture<Json> ask(int member, boolean mayRenew, String path, String body, RequestTime time) {
        var deadline = System.nanoTime() + time.left().toNanos();
        var login = token(member, time);
        var wasThere = login.isDone();
        return login.thenCompose(known -> send(member, path, body, known, wasThere ? time : time.until(deadline))
                .thenApply(answer -> {
                    if (answer.at("header").value() instanceof String) {
                        throw refusal(member, path, answer, known, mayRenew);
                    }
                    note(answer.at("header"));
                    return answer;
                }));
    }

    private CompletableFuture<Json> send(int member, String path, String body, String known, RequestTime time) {
        return members.send(member, request(member, path, body, known), path, time)
                .thenApply(response -> {
                    var status = response.statusCode();
                    try {
                        var said = Json.parse(response.body());
                        if (HttpMembers.passes(status) && said.text("code").isEmpty()) {
                            throw stranger(member, status, response.body());
                        }
                        return said;
                    } catch (UncheckedIOException e) {
                        throw stranger(member, status, response.body());
                    }
                });
    }

    private HttpRequest.Builder request(int member, String path, String body, String known) {
        var builder = HttpRequest.newBuilder(members.at(member, "/v3/" + path))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        if (!path.startsWith("maintenance/")) {
            builder.header("Grpc-Metadata-hasleader", "true"); // a member that has no leader says so at once
        }
        return known.isEmpty() ? builder : builder.header("Authorization", known);
    }

    /** Opens a stream of lines, at this member. */
    CompletableFuture<Stream<String>> stream(int member, String path, String body, Duration timeout) {
        return token(member, RequestTime.of(timeout))
                .thenCompose(known -> members.stream(request(member, path, body, known), timeout))
                .thenApply(HttpMembers.Lines::lines);
    }

    // ---------------------------------------------------------------- who we are

    private CompletableFuture<String> token(int member, RequestTime time) {
        var known = token.get();
        if (settings.user().isEmpty()) {
            return CompletableFuture.completedFuture("");
        }
        if (known != null && !known.isCompletedExceptionally()) {
            return known.isDone() ? known : awaited(known, member, time);
        }
        var fresh = new CompletableFuture<String>();
        if (!token.compareAndSet(known, fresh)) {
            return token(member, time);
        }
        var encoder = JsonStringEncoder.getInstance();
        var body = "{\"name\":\"" + new String(encoder.quoteAsString(settings.user())) + "\",\"password\":\""
                + new String(encoder.quoteAsString(settings.password())) + "\"}";
        var unused = CompletableFuture.completedFuture(body) // what sending throws is no answer: others wait for one
                .thenCompose(login -> send(member, "auth/authenticate", login, "", time))
                .thenApply(answer -> loggedIn(member, answer))
                .whenComplete((made, error) -> {
                    if (error == null) {
                        fresh.complete(made);
                        token.updateAndGet(held -> held == null || !held.isDone() ? fresh : held); // if given up
                    } else {
                        fresh.completeExceptionally(error);
                    }
                });
        return awaited(fresh, member, time);
    }

    /**
     * A login has the time of the request that began it. Others wait for it as long as they would for an answer; the
     * next one begins another then, at the member that is asked by that time.
     */
    private CompletableFuture<String> awaited(CompletableFuture<String> login, int member, RequestTime time) {
        return login.copy()
                .orTimeout(time.left().toNanos(), TimeUnit.NANOSECONDS)
                .exceptionallyCompose(error -> {
                    if (!(error instanceof TimeoutException)) {
                        return CompletableFuture.failedFuture(error);
                    }
                    if (time.tells()) {
                        token.compareAndSet(login, null);
                    }
                    return CompletableFuture.failedFuture(new UnavailableException(
                            settings + ": " + members.name(member) + " was not asked: no login was answered within "
                                    + Durations.show(time.left()),
                            time.isOver()));
                });
    }

    private String loggedIn(int member, Json answer) {
        var made = answer.text("token");
        if (made.isEmpty() && !answer.text("message").contains("not enabled")) {
            throw refusal(member, "auth/authenticate", answer, "", false);
        }
        return HttpMembers.credential(settings + ": the token that " + members.name(member) + " issued", made);
    }

    /** Another token is to be had before the next request. */
    void forgetToken() {
        token.set(null);
    }

    // ---------------------------------------------------------------- what is noted by the way

    private synchronized void note(Json header) {
        var id = header.text("cluster_id");
        cluster = cluster.isEmpty() ? id : cluster;
        members.understood();
        if (!cluster.equals(id)) {
            throw new ElectionException(settings + " is not the cluster that it was, or its hosts are of several: " + id
                    + " answers, and it was " + cluster + ". Two could lead, and tokens would fall. Name the"
                    + " members of one cluster; if it was created again, close all candidacies, and start them again");
        }
        if (!header.text("raft_term").isEmpty()) {
            term = header.text("raft_term");
        }
        if (header.number("revision") > 0) {
            revision = header.number("revision");
        }
    }

    /** Returns what changes when the cluster is another, has another leader, or was started again. */
    String session() {
        return cluster + '/' + term;
    }

    /** Returns the revision that was heard of last. */
    long revision() {
        return revision;
    }

    /** Returns what a member's clock shows now, about; for display. */
    Instant now() {
        return members.now();
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return settings.toString();
    }

    boolean isCrowded() {
        return members.isCrowded();
    }

    // ---------------------------------------------------------------- what it means

    private RuntimeException refusal(int member, String path, Json said, String known, boolean mayRenew) {
        var message = said.text("message").isEmpty() ? said.text("error") : said.text("message");
        var who = members.name(member);
        var what = settings + ": " + who + " refused " + path + ": "
                + settings.uri().redact(message);
        var nobody = message.contains("user name is empty");
        if (nobody || STALE_TOKEN.stream().anyMatch(message::contains)) {
            if (mayRenew && !settings.user().isEmpty()) {
                token.updateAndGet(held -> held == null || isOf(held, known) ? null : held);
                return new StaleTokenException();
            }
            return new AccessRefusedException(what
                    + (nobody ? ". It wants a user: write etcd://user:password@" : ". The new login was refused, too"));
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
        return said.text("code").isEmpty() ? stranger(member, OK, said.toString()) : new UnavailableException(what);
    }

    /** Returns whether this login has led to this token; one that failed led to none. */
    private static boolean isOf(CompletableFuture<String> login, String known) {
        return login.isDone()
                && !login.isCompletedExceptionally()
                && login.join().equals(known);
    }

    /** At the beginning a wrong address; later, or if it says so, something on the way that passes. */
    private RuntimeException stranger(int member, int status, String said) {
        var what = settings + ": " + members.name(member) + " does not answer as etcd's JSON gateway does (it said:"
                + " " + (status == OK ? "" : status + " ")
                + settings.uri().redact(said.strip()).lines().findFirst().orElse("nothing") + ")";
        return members.isUnderstood() || HttpMembers.passes(status)
                ? new UnavailableException(what)
                : HttpMembers.wrong(
                        what + ". Check the port, and tls=true; etcd must be 3.4 or newer, with its gateway on"
                                + " (--enable-grpc-gateway)",
                        null);
    }
}
