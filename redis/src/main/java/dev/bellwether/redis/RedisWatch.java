package dev.bellwether.redis;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RefusedWatch;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of changes of keys: over a connection of its own, from the first watcher on, by a channel for each key, to
 * which the script publishes that writes it. After a broken connection each key is read again,
 * because changes may have been missed. Thread-safe. Never blocks.
 */
final class RedisWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(RedisWatch.class);
    private static final Duration LOOK = Duration.ofSeconds(1);
    /** A connection may die silently: every so many looks it is asked for a sign. */
    private static final int LOOKS_PER_SIGN = 5;

    private static final Duration AFTER_REFUSAL = Duration.ofSeconds(10);

    private final RedisSettings settings;
    private final RedisClient client;
    private final Duration look;
    private final Duration afterRefusal;
    private final Listeners<Watcher> watchers = new Listeners<>(); // by channel
    private @Nullable CompletableFuture<StatefulRedisPubSubConnection<String, String>> made; // guarded by this
    private int looked; // guarded by this
    private boolean awaitsSign; // guarded by this
    private final RefusedWatch refused; // guarded by this
    private final Set<String> unheard = new HashSet<>(); // channels that were refused; guarded by this
    private boolean waits; // until those are asked for again; guarded by this
    private long notBeforeNanos = System.nanoTime(); // when to log in again, after a refusal; guarded by this
    private boolean closed; // guarded by this

    /**
     * Somebody who watches a key.
     *
     * @param missed reads the key, when something may have been missed
     * @param begun how often that was read: who reads again gives way to who has begun since
     */
    private record Watcher(Consumer<String> heard, Supplier<CompletionStage<?>> missed, AtomicLong begun) {}

    RedisWatch(RedisSettings settings, RedisClient client) {
        this(settings, client, LOOK, AFTER_REFUSAL);
    }

    /** Looks after its connection so often, and waits so long after a refusal. */
    RedisWatch(RedisSettings settings, RedisClient client, Duration look, Duration afterRefusal) {
        this.settings = settings;
        this.look = look;
        this.afterRefusal = afterRefusal;
        this.client = client;
        refused = new RefusedWatch(RedisWatch.class, settings);
    }

    Watch add(String channel, Consumer<String> heard, Supplier<CompletionStage<?>> missed) {
        var watcher = new Watcher(heard, missed, new AtomicLong());
        boolean isFirst;
        Watch added;
        synchronized (this) {
            if (closed) {
                return Watch.NONE;
            }
            isFirst = !watchers.has(channel);
            added = watchers.add(channel, watcher);
            if (made == null) {
                try {
                    connect();
                    DelayThread.after(look).execute(this::look);
                } catch (RuntimeException | Error e) { // the last may find no thread
                    added.close();
                    throw e;
                }
            } else if (isFirst) {
                var unused = made.thenAccept(connection -> subscribe(connection, channel));
            }
        }
        if (!isFirst) {
            catchUp(channel, watcher);
        }
        return () -> remove(channel, added);
    }

    private synchronized void remove(String channel, Watch added) {
        added.close();
        if (!watchers.has(channel) && made != null && !closed) {
            var unused = made.thenCompose(connection -> connection.async().unsubscribe(channel));
        }
    }

    private synchronized void connect() {
        var next =
                client.connectPubSubAsync(StringCodec.UTF8, settings.server()).toCompletableFuture();
        made = next;
        awaitsSign = false;
        looked = 0;
        unheard.clear();
        waits = false; // a new connection may have other rights
        var unusedToo = next.exceptionally(error -> {
            notMade(next, error);
            return null;
        });
        var unused = next.thenAccept(connection -> {
            connection.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String channel, String message) {
                    watchers.tell(channel, watcher -> watcher.heard().accept(message));
                }

                @Override
                public void subscribed(String channel, long count) {
                    granted();
                    watchers.tell(channel, watcher -> catchUp(channel, watcher));
                }
            });
            subscribe(connection, watchers.names().toArray(String[]::new));
        });
    }

    /** That the password is another by now is told, and not tried at each look. */
    private synchronized void notMade(CompletableFuture<?> which, Throwable error) {
        if (closed || which != made) {
            return;
        }
        for (var cause : Causes.of(error)) {
            var said = settings.uri().redact(String.valueOf(cause.getMessage()));
            if (cause instanceof RedisCommandExecutionException && RedisConnection.isNobody(said)) {
                notBeforeNanos = System.nanoTime() + afterRefusal.toNanos();
                refused.refused(new AccessRefusedException(said));
                return;
            }
        }
    }

    /** Reads what may have been missed, until the server answers: nobody else would tell of it. */
    private void catchUp(String channel, Watcher watcher) {
        if (isClosed() || !watchers.has(channel, watcher)) {
            return;
        }
        var number = watcher.begun().incrementAndGet();
        var unused = watcher.missed().get().exceptionally(error -> {
            var isRefused = error.getCause() instanceof AccessRefusedException; // the right may be granted again
            if (isRefused || error.getCause() instanceof UnavailableException) {
                DelayThread.after(isRefused ? afterRefusal : look).execute(() -> {
                    if (watcher.begun().get() == number) {
                        catchUp(channel, watcher);
                    }
                });
            }
            return null;
        });
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    private void subscribe(StatefulRedisPubSubConnection<String, String> connection, String... channels) {
        if (channels.length == 0) {
            return;
        }
        var unused = connection.async().subscribe(channels).exceptionally(error -> {
            if (isRefusal(error)) {
                refused(connection, error, channels);
            }
            return null;
        });
    }

    private static boolean isRefusal(Throwable error) {
        return error instanceof RedisCommandExecutionException
                || error.getCause() instanceof RedisCommandExecutionException;
    }

    private synchronized void refused(
            StatefulRedisPubSubConnection<String, String> connection, Throwable error, String... channels) {
        if (closed || !isCurrent(connection)) {
            return; // another connection asks by itself
        }
        refused.refused(new AccessRefusedException(settings.uri().redact(String.valueOf(error.getMessage()))));
        unheard.addAll(List.of(channels));
        if (!waits) {
            waits = true;
            DelayThread.after(afterRefusal).execute(() -> subscribeAgain(connection));
        }
    }

    private synchronized void granted() {
        refused.granted();
    }

    /** The right may have been granted since; perhaps to some of them only, so each is asked for alone. */
    private synchronized void subscribeAgain(StatefulRedisPubSubConnection<String, String> connection) {
        if (closed || !isCurrent(connection)) {
            return;
        }
        waits = false;
        var channels = List.copyOf(unheard);
        unheard.clear();
        channels.stream().filter(watchers::has).forEach(channel -> subscribe(connection, channel));
    }

    private boolean isCurrent(StatefulRedisPubSubConnection<String, String> connection) {
        return made != null
                && made.isDone()
                && !made.isCompletedExceptionally()
                && made.join().equals(connection);
    }

    /** Looks after the connection, as long as this is open. */
    private synchronized void look() {
        if (closed) {
            return;
        }
        DelayThread.after(look).execute(this::look);
        if (made == null || !made.isDone() || notBeforeNanos - System.nanoTime() > 0) {
            return;
        }
        var isSilent = awaitsSign && ++looked % LOOKS_PER_SIGN == 0;
        if (made.isCompletedExceptionally() || !made.join().isOpen() || isSilent) {
            connectAgain(made);
        } else if (!awaitsSign && ++looked % LOOKS_PER_SIGN == 0) {
            awaitsSign = true;
            looked = 0;
            var unused = made.join().async().ping().handle((sign, error) -> {
                if (error == null || isRefusal(error)) { // LOADING, BUSY, MISCONF: it is there
                    heardSign();
                }
                return true;
            });
        }
    }

    /** A client of the application's that was shut down makes none: that there is no answer is told by the requests. */
    private void connectAgain(CompletableFuture<StatefulRedisPubSubConnection<String, String>> former) {
        try {
            connect();
            var unused = drop(former);
        } catch (RuntimeException e) {
            log.debug("{}: there is no connection to listen to", settings, e);
        }
    }

    private synchronized void heardSign() {
        awaitsSign = false;
        looked = 0;
    }

    private static CompletableFuture<Void> drop(
            @Nullable CompletableFuture<StatefulRedisPubSubConnection<String, String>> connection) {
        return connection == null
                ? CompletableFuture.completedFuture(null)
                : connection.thenCompose(StatefulRedisPubSubConnection::closeAsync);
    }

    /** Closes this; the answer comes when its connection is closed, and may never do. */
    synchronized CompletableFuture<Void> end() {
        closed = true;
        return drop(made);
    }

    @Override
    public void close() {
        var unused = end();
    }
}
