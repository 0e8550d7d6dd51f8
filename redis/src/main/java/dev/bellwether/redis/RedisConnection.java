package dev.bellwether.redis;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.spi.RequestLimiter.Urgency;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import javax.net.ssl.SSLException;

/**
 * Asks the server over one connection, and makes of what it answers, or does not, what it means. Thread-safe. Never
 * blocks.
 *
 * <p>Nothing is sent twice. A connection over which an answer is overdue is given up, with all that waits for one: the
 * network may have forgotten it. The next request makes another. An answer is overdue if the request had its whole time
 * for it, or a second: one that had to wait before it was sent says nothing of the connection when the rest is over.
 */
final class RedisConnection implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration LOOK = Duration.ofMillis(300);
    private static final int MOST_UNDER_WAY = 256;

    private final RedisSettings settings;
    private final RedisClient client;
    private final RequestLimiter limiter = new RequestLimiter(MOST_UNDER_WAY);
    private Link link; // guarded by this
    private boolean closed; // guarded by this
    private volatile Runnable changed = () -> {};
    private volatile boolean answered; // at any time

    /** One connection, or the making of one. */
    private record Link(
            long number,
            CompletableFuture<StatefulRedisConnection<String, String>> made,
            CompletableFuture<Void> dropped,
            CompletableFuture<Void> gone) {
        boolean isUsable() {
            return !dropped.isDone()
                    && (!made.isDone()
                            || (!made.isCompletedExceptionally() && made.join().isOpen()));
        }

        void drop() {
            dropped.complete(null);
        }
    }

    RedisConnection(RedisSettings settings, RedisClient client) {
        this.settings = settings;
        this.client = client;
        link = next(0);
    }

    private Link next(long number) {
        var made = client.connectAsync(StringCodec.UTF8, settings.server()).toCompletableFuture();
        var dropped = new CompletableFuture<Void>();
        var gone = dropped.thenCompose(now -> made).thenCompose(StatefulRedisConnection::closeAsync);
        var next = new Link(number, made, dropped, gone);
        var unused = made.thenAccept(connection -> connection.addListener(new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> broken) {
                next.drop(); // a client of the application's may make it again by itself
            }
        }));
        return next;
    }

    private synchronized Link link() {
        if (!link.isUsable() && !closed) {
            link = next(link.number + 1);
            var unused = link.made.thenRunAsync(() -> changed.run()); // not by us: we hold a lock
        }
        return link;
    }

    /** Has this told when there is another connection. */
    void onChange(Runnable changed) {
        this.changed = changed;
    }

    /** Has a script carried out. No answer means that it may have been, or will be. */
    CompletableFuture<List<Object>> ask(
            Urgency urgency, String script, List<String> keys, Duration timeout, String... arguments) {
        return ask("", System.nanoTime(), urgency, script, keys, timeout, arguments);
    }

    /**
     * Has a script carried out over the connection that {@link #session} told of, and no other; over any if empty. Its
     * time began before, at this instant.
     */
    CompletableFuture<List<Object>> ask(
            String session,
            long begunNanos,
            Urgency urgency,
            String script,
            List<String> keys,
            Duration timeout,
            String... arguments) {
        return ask(
                session,
                begunNanos,
                urgency,
                timeout,
                commands -> commands.eval(script, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments));
    }

    /** Has a command carried out. */
    <T> CompletableFuture<T> ask(
            Urgency urgency,
            Duration timeout,
            Function<RedisAsyncCommands<String, String>, CompletionStage<T>> command) {
        return ask("", System.nanoTime(), urgency, timeout, command);
    }

    private <T> CompletableFuture<T> ask(
            String session,
            long begunNanos,
            Urgency urgency,
            Duration timeout,
            Function<RedisAsyncCommands<String, String>, CompletionStage<T>> command) {
        var deadline = begunNanos + timeout.toNanos();
        return limiter.pass(
                urgency,
                deadline,
                () -> send(session, command, timeout, deadline),
                () -> new UnavailableException(settings + " was not asked within " + Durations.show(timeout)
                        + ", because too many others" + " came first"));
    }

    private <T> CompletableFuture<T> send(
            String session,
            Function<RedisAsyncCommands<String, String>, CompletionStage<T>> command,
            Duration timeout,
            long deadline) {
        var used = link();
        if (!session.isEmpty() && !session.equals(Long.toString(used.number))) {
            return CompletableFuture.failedFuture(
                    new UnavailableException(settings + ": the connection broke, and nothing was sent"));
        }
        var left = Math.max(1, deadline - System.nanoTime());
        return used.made
                .thenCompose(made -> command.apply(made.async()))
                .orTimeout(left, TimeUnit.NANOSECONDS)
                .handle((answer, error) -> {
                    if (error != null) {
                        throw meaning(used, error, timeout, left);
                    }
                    answered = true;
                    return answer;
                });
    }

    /** Returns what changes with each connection. */
    String session() {
        return Long.toString(link().number);
    }

    boolean isCrowded() {
        return limiter.isCrowded();
    }

    /** Returns, for people, why there is no answer. Blocks, and asks the network. */
    String complaints() {
        return Endpoint.complaints(Endpoint.of(settings.uri()), LOOK);
    }

    /** Closes this; the answer comes when its connection is closed, and may never do. */
    synchronized CompletableFuture<Void> end() {
        closed = true;
        link.drop();
        return link.gone;
    }

    @Override
    public void close() {
        var unused = end();
    }

    // ---------------------------------------------------------------- what it means

    private RuntimeException meaning(Link used, Throwable error, Duration timeout, long waitedNanos) {
        for (var cause : Causes.of(error)) {
            if (cause instanceof RedisCommandExecutionException) {
                return refusal(used, settings.uri().redact(String.valueOf(cause.getMessage())));
            }
            if (cause instanceof SSLException && !answered && !isBreak(cause)) {
                return new ElectionException(
                        settings + ": the server and we do not agree on TLS: check the scheme, certificates, truststore"
                                + " and keystore (it said: "
                                + settings.uri().redact(String.valueOf(cause.getMessage())) + ")",
                        cause);
            }
        }
        if (!(error instanceof TimeoutException)
                || RequestLimiter.isOverdueAfter(Duration.ofNanos(waitedNanos), timeout)) {
            used.drop();
        }
        return new UnavailableException(
                error instanceof TimeoutException
                        ? settings + " did not answer within " + Durations.show(timeout)
                                + (answered || !settings.server().isSsl() ? "" : " (does it speak TLS?)")
                        : settings + ": no connection, or it broke (if the server wants TLS, write rediss://): "
                                + settings.uri().redact(reason(error)),
                error);
    }

    /** The other side reset the connection while TLS began, as Netty says: that tells nothing of certificates. */
    private static boolean isBreak(Throwable cause) {
        return cause.getClass().getSimpleName().equals("SslClosedEngineException");
    }

    private static String reason(Throwable error) {
        return String.valueOf(Causes.root(error).getMessage())
                .lines()
                .findFirst()
                .orElse("");
    }

    private RuntimeException refusal(Link used, String said) {
        var what = settings + " refused: " + said;
        return switch (said.split("[ :]", 2)[0]) {
            case "NOAUTH" -> refused(used, what + ". It wants a password: write user:password@ before the host");
            case "WRONGPASS" -> refused(used, what + ". Check user and password");
            case "NOPERM" -> forbidden(what);
            case "READONLY" -> {
                used.drop(); // by its name, another may be the primary by now
                yield new UnavailableException(what + ". It is a replica: name the primary");
            }
            case "MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN", "TRYAGAIN" ->
                new ElectionException(what + ". A cluster cannot be used: name a server that is in none");
            case "WRONGTYPE" ->
                new ElectionException(what + ". Something else stands under the prefix \"" + settings.prefix()
                        + ":\": choose another prefix");
            default -> known(what, said);
        };
    }

    private AccessRefusedException forbidden(String what) {
        return new AccessRefusedException(what + ". Grant it: ACL SETUSER " + user() + " ~" + settings.prefix() + ":* &"
                + settings.prefix() + ":* " + RedisDoctor.RIGHTS);
    }

    private RuntimeException known(String what, String said) {
        if (said.contains("ACL failure in script")) {
            return forbidden(what);
        }
        if (isNobody(said)) {
            return new AccessRefusedException(what + ". Check user and password");
        }
        if (said.contains("user_script") && said.contains("near '#'")) {
            return new ElectionException(what + ". It must be Valkey, or Redis 7 or newer");
        }
        if (said.startsWith("ERR unknown command")) {
            return new ElectionException(what + ". It must be Valkey, or Redis 7 or newer, with scripts");
        }
        if (said.startsWith("ERR DB index")) {
            return new ElectionException(what + ". There is no such database: correct the path");
        }
        return new UnavailableException(what); // LOADING, BUSY, MISCONF, NOREPLICAS, MASTERDOWN, OOM: it passes
    }

    /** Returns whether a server that says this knows no such user, or another password of that. */
    static boolean isNobody(String said) {
        return said.matches("(?s)(NOAUTH|WRONGPASS|NOPERM)\\b.*")
                || said.contains("invalid password")
                || said.contains("without any password configured");
    }

    /** Who we are is asked for when a connection is made. */
    private static AccessRefusedException refused(Link used, String what) {
        used.drop();
        return new AccessRefusedException(what);
    }

    private String user() {
        var user = settings.uri().userInfo().orElse(":").split(":", 2)[0];
        return user.isEmpty() ? "default" : user;
    }
}
