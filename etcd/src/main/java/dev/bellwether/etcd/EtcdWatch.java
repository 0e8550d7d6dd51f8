package dev.bellwether.etcd;

import dev.bellwether.Watch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of changes of keys: one stream for all of them while there are watchers. What is heard is a hint.
 * Thread-safe. Never blocks.
 */
final class EtcdWatch implements AutoCloseable {
    /*
     * A stream may die in silence. It is begun anew, from where it was, when it broke off, when the client has gone to
     * another member, and when nothing was heard for a while: that costs a request, and replays nothing.
     */
    private static final Logger log = LoggerFactory.getLogger(EtcdWatch.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final long PAUSE_MILLIS = 300;
    private static final long REFUSED_MILLIS = 30_000;
    private static final long LOOK_MILLIS = 3_000;
    private static final long SILENCE_MILLIS = 15_000;

    private final EtcdClient client;
    private final String range;
    private final Map<String, List<Consumer<Json>>> watchers = new ConcurrentHashMap<>(); // by key
    private @Nullable Stream stream; // guarded by this
    private long next; // from which revision on; guarded by this
    private volatile boolean closed;

    /** Watches keys within a range: the two fields of a request that name one. */
    EtcdWatch(EtcdClient client, String range) {
        this.client = client;
        this.range = range;
        client.onMove(this::endStream);
    }

    Watch add(String key, Consumer<Json> heard) {
        watchers.compute(key, (same, all) -> {
            var those = all == null ? new CopyOnWriteArrayList<Consumer<Json>>() : all;
            those.add(heard);
            return those;
        });
        begin();
        return () -> watchers.computeIfPresent(key, (same, all) -> all.remove(heard) && all.isEmpty() ? null : all);
    }

    private synchronized void begin() {
        if (closed || stream != null || watchers.isEmpty()) {
            return;
        }
        next = next == 0 ? client.revision() + 1 : next;
        var begun = new Stream();
        stream = begun;
        var body = "{\"create_request\":{" + range + ",\"start_revision\":\"" + next + "\",\"progress_notify\":true}}";
        var unused = client.stream("watch", body, PATIENCE, begun)
                .whenComplete((done, error) -> ended(begun, error == null ? "it ended" : error.getMessage()));
        lookAfter(begun);
    }

    /** A stream that is dead, or that nobody needs any more, is ended after a while: who comes again soon finds it. */
    private void lookAfter(Stream begun) {
        later(LOOK_MILLIS, () -> {
            if (watchers.isEmpty() || begun.isSilent()) {
                end(begun, "nothing was heard, or nobody listens");
            } else if (isPresent(begun)) {
                lookAfter(begun);
            }
        });
    }

    private synchronized boolean isPresent(Stream begun) {
        return begun.equals(stream);
    }

    private void end(Stream begun, String why) {
        begun.cancel();
        ended(begun, why);
    }

    private void ended(Stream ended, @Nullable String why) {
        synchronized (this) {
            if (!ended.equals(stream)) {
                return;
            }
            stream = null;
            next = watchers.isEmpty() ? 0 : next;
        }
        log.debug("a watch is begun anew: {}", why);
        later(ended.isRefused ? REFUSED_MILLIS : PAUSE_MILLIS, this::begin);
    }

    private void endStream() {
        Stream present;
        synchronized (this) {
            present = stream;
        }
        if (present != null) {
            end(present, "the client has gone to another member, or is closed");
        }
    }

    private static void later(long millis, Runnable what) {
        CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS).execute(what);
    }

    private void heard(Stream by, Json said) {
        var result = said.at("result");
        var reached = result.at("header").number("revision");
        var events = result.list("events");
        synchronized (this) {
            if (!by.equals(stream)) {
                return;
            }
            if (result.number("compact_revision") > 0) {
                next = result.number("compact_revision"); // what was before is in nobody's way any more
            } else if (result.flag("created") ? reached + 1 < next : !result.flag("canceled") && reached >= next) {
                next = reached + 1; // the store has lost its last writes; or all up to here was told
            }
        }
        for (var event : events) {
            var kv = event.at("kv");
            var key = new String(Base64.getDecoder().decode(kv.text("key")), StandardCharsets.UTF_8);
            if (!event.text("type").equals("DELETE")) { // which is found out by asking: it leaves nothing to be seen
                watchers.getOrDefault(key, List.of()).forEach(watcher -> watcher.accept(kv));
            }
        }
        if (result.flag("canceled")
                || !said.text("code").isEmpty()
                || said.at("error").value() instanceof Map) {
            refused(by, said.toString());
        }
    }

    private void refused(Stream by, String why) {
        client.forgetToken(); // which may be over
        by.isRefused = why.contains("permission denied");
        if (by.isRefused) {
            log.warn(
                    "{}: the keys under it may not be watched; until they may, a standby moves only when the lease that it"
                            + " saw has run out: {}",
                    client,
                    why);
        }
        end(by, why);
    }

    @Override
    public void close() {
        closed = true;
        watchers.clear();
        endStream();
    }

    /** Lines of one answer that does not end. Fed by one thread at a time. */
    private final class Stream implements Flow.Subscriber<String> {
        private volatile Flow.@Nullable Subscription subscription;
        private volatile long heardNanos = System.nanoTime();
        private volatile boolean isCancelled;
        private volatile boolean isRefused;

        private boolean isSilent() {
            return System.nanoTime() - heardNanos >= TimeUnit.MILLISECONDS.toNanos(SILENCE_MILLIS);
        }

        private void cancel() {
            isCancelled = true;
            var open = subscription;
            if (open != null) {
                open.cancel();
                subscription = null; // it holds on to all of the connection
            }
        }

        @Override
        public void onSubscribe(Flow.Subscription opened) {
            subscription = opened;
            opened.request(Long.MAX_VALUE);
            if (isCancelled) {
                opened.cancel();
            }
        }

        @Override
        public void onNext(String line) {
            heardNanos = System.nanoTime();
            if (!line.isBlank()) {
                try {
                    heard(this, Json.parse(line));
                } catch (IOException | RuntimeException e) {
                    log.debug("not understood: {}", line, e);
                }
            }
        }

        @Override
        public void onError(Throwable error) {
            ended(this, error.toString());
        }

        @Override
        public void onComplete() {
            ended(this, "it ended");
        }
    }
}
