package dev.bellwether.kubernetes;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RefusedWatch;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of changes of Leases: one list, and one stream of what changed since, read by a thread of its own from the
 * first watcher on. What is heard is a hint. Thread-safe; only that thread waits.
 */
final class KubernetesWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(KubernetesWatch.class);
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final Duration PAUSE_AFTER_NOTHING = Duration.ofMillis(500);
    private static final Duration LONG_PAUSE = Duration.ofSeconds(10);
    private static final int SHORTEST_SECONDS = 300;
    private static final int LONGEST_SECONDS = 600;
    /**
     * A stream may die silently, and one that begins at a version that the server has not reached, since its store
     * was put back, never says a word: after so long without one, all is listed again.
     */
    private static final Duration SILENCE = Duration.ofSeconds(60);

    /** So much is read of what a refusal says. */
    private static final int MOST_LINES = 100;

    private static final int GONE = 410;
    private static final int LONGEST_WAIT_SECONDS = 30;
    private static final String OURS = StoredLease.KIND + " in (seat,session)";

    private final KubernetesClient client;
    private final String selector;
    private final RefusedWatch refused;
    private volatile boolean closed;
    private final Thread thread = BackendThread.lasting("bellwether-kubernetes-watch", this::run, () -> closed);
    private final Listeners<Consumer<Json>> watchers = new Listeners<>(thread::start); // by name of the Lease
    private volatile Stream<String> lines = Stream.of();
    private volatile long heardNanos;
    private String version = ""; // up to which all was told, empty for none; the thread's
    private boolean isFresh; // whether nothing was heard since all was listed; the thread's
    private Duration pause = PAUSE; // before the next stream; the thread's

    /**
     * Watches nothing yet.
     *
     * @param isOfAll whether Leases are to be watched, too, that others have made and that so have no label of ours
     */
    KubernetesWatch(KubernetesClient client, boolean isOfAll) {
        this.client = client;
        refused = new RefusedWatch(KubernetesWatch.class, client);
        selector = isOfAll ? "" : OURS;
        client.onBreak(() -> lines.close());
    }

    Watch add(String name, Consumer<Json> heard) {
        return watchers.add(name, heard);
    }

    private void run() {
        while (!closed) {
            pause = PAUSE_AFTER_NOTHING;
            try {
                if (version.isEmpty()) {
                    list();
                }
                stream();
            } catch (AccessRefusedException e) {
                pause = LONG_PAUSE;
                refused.refused(e);
            } catch (RuntimeException e) {
                log.debug("{}: a watch begins again: {}", client, e.getMessage());
            }
            var until = System.nanoTime() + pause.toNanos();
            for (var left = pause.toNanos(); left > 0 && !closed; left = until - System.nanoTime()) {
                BackendThread.pause(left);
            }
        }
    }

    private void list() {
        var items = new ArrayList<Json>();
        var reached = HttpMembers.answer(KubernetesRecordStore.pages(client, Urgency.LIST, selector, items, PATIENCE));
        items.forEach(this::tell);
        version = reached;
        isFresh = true;
    }

    private void stream() {
        var seconds = ThreadLocalRandom.current().nextInt(SHORTEST_SECONDS, LONGEST_SECONDS);
        var path = client.leases("?watch=true&allowWatchBookmarks=true&timeoutSeconds=" + seconds
                + "&resourceVersion=" + version + "&labelSelector="
                + URLEncoder.encode(selector, StandardCharsets.UTF_8));
        heardNanos = System.nanoTime();
        var answer = HttpMembers.answer(client.stream(path, PATIENCE));
        try (var opened = answer.lines()) {
            lines = opened;
            if (closed) {
                return; // before there was this stream to close
            }
            listen(opened);
            if (!answer.isSuccess()) {
                throw refusal(answer);
            }
            opened.takeWhile(line -> !closed).forEach(this::heard);
        } finally {
            if (System.nanoTime() - heardNanos > SILENCE.toNanos()) {
                version = "";
            }
        }
    }

    /** Ends the stream when nothing was heard for long. */
    private void listen(Stream<String> opened) {
        DelayThread.after(SILENCE.dividedBy(4)).execute(() -> {
            if (System.nanoTime() - heardNanos > SILENCE.toNanos()) {
                opened.close();
            } else if (!closed && lines.equals(opened)) {
                listen(opened);
            }
        });
    }

    private void heard(String line) {
        if (line.isBlank()) {
            return;
        }
        heardNanos = System.nanoTime();
        var said = Json.parse(line);
        var object = said.at("object");
        if (said.text("type").equals("ERROR") || isStatus(said)) {
            var status = isStatus(said) ? said : object;
            throw refusal((int) status.number("code"), status, Duration.ZERO);
        }
        refused.granted();
        isFresh = false;
        pause = PAUSE;
        var reached = object.at("metadata").text("resourceVersion");
        version = reached.isEmpty() ? version : reached;
        if (said.text("type").matches("ADDED|MODIFIED")) { // of what is gone, asking tells
            tell(object);
        }
    }

    /** An API server says why by a Status; what stands before it, such as a proxy, says what it likes. */
    private RuntimeException refusal(HttpMembers.Lines answer) {
        var text = answer.lines().limit(MOST_LINES).collect(Collectors.joining("\n"));
        var wanted = KubernetesClient.pauseWanted(answer.headers());
        try {
            var said = Json.parse(text);
            if (isStatus(said)) {
                return refusal(answer.statusCode(), said, wanted);
            }
        } catch (UncheckedIOException e) {
            log.trace("no JSON: {}", text);
        }
        if (answer.statusCode() == HttpMembers.TOO_MANY) {
            pause = wanted;
        }
        return client.error("watch", client.leases(""), answer.statusCode(), text);
    }

    private RuntimeException refusal(int code, Json status, Duration wanted) {
        var message = status.text("message");
        if (code == HttpMembers.TOO_MANY) { // it goes on where it was, and not sooner than it may
            var seconds = Math.max(wanted.toSeconds(), status.at("details").number("retryAfterSeconds"));
            pause = Duration.ofSeconds(Math.max(1, Math.min(LONGEST_WAIT_SECONDS, seconds)));
        } else {
            version = ""; // what was before can be told no more, or is unknown
            pause = code == GONE && !isFresh ? PAUSE : PAUSE_AFTER_NOTHING;
        }
        return code == GONE ? new ElectionException(message) : client.error("watch", client.leases(""), code, message);
    }

    private static boolean isStatus(Json said) {
        return said.text("kind").equals("Status");
    }

    private void tell(Json lease) {
        var of = lease.at("metadata");
        watchers.tellNews(of.text("name"), of.text("resourceVersion"), watcher -> watcher.accept(lease));
    }

    @Override
    public void close() {
        closed = true;
        lines.close();
        LockSupport.unpark(thread);
    }
}
