package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.spi.RefusedWatch;
import io.nats.client.Connection;
import io.nats.client.ConnectionListener;
import io.nats.client.Dispatcher;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamSubscription;
import io.nats.client.Message;
import io.nats.client.PushSubscribeOptions;
import io.nats.client.api.ConsumerConfiguration;
import io.nats.client.api.DeliverPolicy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches keys of the bucket, one ordered consumer for each, as a watch of a bucket does; or, where there are many, one
 * for the keys of all elections. Subscribing waits for the server, and so happens on the thread of the store; what is
 * heard is told on the connection's.
 *
 * <p>{@link #add} and {@link #remove} are for any thread. When the connection is made again, so are the watches, since
 * the server may have forgotten them; until then a standby finds out by asking when the lease that it saw has run out.
 */
final class Watches implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Watches.class);
    /*
     * A consumer costs its server a timer, a heartbeat every few seconds, and a while of waiting for it; ten thousand
     * of them kept the server busy for a minute, and client and server with heartbeats ever after. So from a certain
     * number on there is one for all, which also hears of elections that nobody stands for here. What stands in the
     * bucket when it begins is told first, so that nothing is missed that was written while it was being made. Anybody
     * who begins to watch later is told of changes only: a candidate reads the seat before it claims, and so does an
     * observer.
     */
    private static final long RETRY_MILLIS = 1_000;
    /** A right that is missing may be granted later. Each try waits for an answer that does not come. */
    private static final long REFUSED_MILLIS = 10_000;

    private static final String CONSUMERS = "CONSUMER.";

    /** Beyond so many keys there is one watch for all. */
    static final int MANY = 64;
    /** With no more than so many, each has a watch of its own again. */
    private static final int FEW = 16;

    private final BucketClient client;
    private final ScheduledExecutorService thread;
    private final Consumer<StoredMessage> heard;
    private final ConnectionListener listener = this::connectionEvent;
    /** Confined to the thread. */
    private final Map<String, Watch> watches = new HashMap<>();

    private final Watch all;
    private final RefusedWatch refused; // confined to the thread
    private @Nullable Future<?> look; // confined to the thread: for the rights that are missing
    private boolean many; // confined to the thread
    private @Nullable Dispatcher dispatcher; // confined to the thread
    private volatile boolean closed;
    private volatile boolean toldStalled;

    /** Watches keys, those of all elections by this pattern. */
    Watches(BucketClient client, String pattern, ScheduledExecutorService thread, Consumer<StoredMessage> heard) {
        this.client = client;
        all = new Watch(pattern);
        refused = new RefusedWatch(Watches.class, client);
        this.thread = thread;
        this.heard = heard;
        client.connection().addConnectionListener(listener);
        client.signs().onReplaced(this::replaced);
        client.onStalled(this::stalled);
    }

    /** One that is begun again is told what stands there now, and so much of what follows. */
    private void stalled() {
        if (!toldStalled) {
            toldStalled = true;
            log.warn(
                    "{} may not publish to $JS.FC.{}.>: after some megabytes that are watched, the watch has to begin"
                            + " again; grant that right",
                    client,
                    client.stream());
        }
        renew();
    }

    void add(String key) {
        run(() -> {
            var watch = watches.computeIfAbsent(key, Watch::new);
            watch.count++;
            if (watch.count == 1 && !many) {
                many = watches.size() > MANY;
                (many ? all : watch).begin();
            }
        });
    }

    void remove(String key) {
        run(() -> {
            var watch = watches.get(key);
            if (watch != null && --watch.count == 0) {
                watches.remove(key);
                watch.end();
                if (many && watches.size() <= FEW) {
                    many = false;
                    watches.values().forEach(Watch::begin);
                    all.end();
                }
            }
        });
    }

    /** Begins all of them again. */
    void renew() {
        run(() -> {
            waitNoMore(); // a new connection may have other rights
            for (var watch : wanted()) {
                watch.end();
                watch.begin();
            }
        });
    }

    private List<Watch> wanted() {
        return many ? List.of(all) : List.copyOf(watches.values());
    }

    /** What is missing for one is missing for all: the first that is refused has the others wait, too. */
    private void waitForRights() {
        waitNoMore();
        look = thread.schedule(
                guarded(() -> {
                    look = null;
                    client.forgetMissingRight(CONSUMERS);
                    wanted().forEach(Watch::begin);
                }),
                REFUSED_MILLIS,
                TimeUnit.MILLISECONDS);
    }

    private void waitNoMore() {
        if (look != null) {
            look.cancel(false);
            look = null;
        }
    }

    private void connectionEvent(Connection connection, ConnectionListener.Events event) {
        if (event == ConnectionListener.Events.RESUBSCRIBED) {
            renew();
        }
    }

    private void replaced() {
        client.connection().addConnectionListener(listener);
        renew();
    }

    private void run(Runnable what) {
        if (!closed) {
            thread.execute(guarded(what));
        }
    }

    private Runnable guarded(Runnable what) {
        return () -> {
            try {
                if (!closed) {
                    what.run();
                }
            } catch (Throwable e) {
                log.warn("{}: a watch failed; its changes are noticed later, by asking", client, e);
            }
        };
    }

    /** Begins none any more, so that the thread is free soon. On any thread. */
    void stop() {
        closed = true;
        client.connection().removeConnectionListener(listener);
    }

    /** Ends all of them. When the thread has ended. */
    @Override
    public void close() {
        stop();
        watches.values().forEach(Watch::end);
        watches.clear();
        all.end();
        if (dispatcher != null) {
            try {
                client.connection().closeDispatcher(dispatcher);
            } catch (RuntimeException e) {
                log.debug("{}: {}", client, e.getMessage()); // the connection is closed, and this with it
            }
            dispatcher = null;
        }
    }

    /** Confined to the thread. */
    private final class Watch {
        private final String key;
        private int count;
        private @Nullable JetStreamSubscription subscription;
        private @Nullable Future<?> retry;

        private Watch(String key) {
            this.key = key;
        }

        private void begin() {
            if (closed || look != null || subscription != null || !isWanted()) {
                return;
            }
            try {
                if (dispatcher == null || !dispatcher.isActive()) { // it ends with its connection
                    dispatcher = client.connection().createDispatcher();
                }
                var options = PushSubscribeOptions.builder().stream(client.stream())
                        .ordered(true)
                        .configuration(ConsumerConfiguration.builder()
                                .deliverPolicy(DeliverPolicy.LastPerSubject)
                                .build())
                        .build();
                subscription = client.connection()
                        .jetStream(client.options())
                        .subscribe(client.storedSubject(key), dispatcher, this::received, false, options);
                refused.granted();
                if (many) {
                    watches.values().forEach(Watch::end); // this one, which is for all, tells what they would have
                }
            } catch (IOException | JetStreamApiException | RuntimeException e) {
                var missing = client.missingRight(CONSUMERS);
                if (missing.isPresent()) {
                    refused.refused(new AccessRefusedException(missing.get()));
                    waitForRights();
                    return;
                }
                log.debug("cannot watch {} on {} now: {}", key, client, e.getMessage());
                tryNoMore();
                retry = thread.schedule(guarded(this::begin), RETRY_MILLIS, TimeUnit.MILLISECONDS);
            }
        }

        private boolean isWanted() {
            return many ? equals(all) : count > 0;
        }

        private void received(Message message) {
            var meta = message.metaData();
            heard.accept(new StoredMessage(
                    equals(all) ? client.key(message.getSubject()) : key,
                    meta.streamSequence(),
                    meta.timestamp().toInstant(),
                    message.getHeaders(),
                    message.getData() == null ? "" : new String(message.getData(), StandardCharsets.UTF_8)));
        }

        private void tryNoMore() {
            if (retry != null) {
                retry.cancel(false);
                retry = null;
            }
        }

        private void end() {
            tryNoMore();
            var ended = subscription;
            subscription = null;
            if (ended != null && dispatcher != null) {
                try {
                    dispatcher.unsubscribe(ended);
                } catch (RuntimeException e) {
                    log.debug("{}: {}", client, e.getMessage()); // the connection is closed, and the watch with it
                }
            }
        }
    }
}
