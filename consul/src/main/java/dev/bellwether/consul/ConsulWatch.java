package dev.bellwether.consul;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RefusedWatch;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of changes of keys: one blocking query for all of them, begun again and again by a thread of its own from the
 * first watcher on. What is heard is a hint. Thread-safe; only that thread waits.
 */
final class ConsulWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ConsulWatch.class);
    private static final int WAIT_SECONDS = 15;
    /** Consul adds up to a sixteenth of the wait. */
    private static final Duration PATIENCE = Duration.ofSeconds(WAIT_SECONDS + 3);

    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(200);
    private static final Duration PAUSE_AFTER_NOTHING = Duration.ofMillis(500);
    private static final Duration LONG_PAUSE = Duration.ofSeconds(10);

    private final ConsulClient client;
    private final String folder;
    private final RefusedWatch refused;
    private volatile boolean closed;
    private final Thread thread = BackendThread.lasting("bellwether-consul-watch", this::run, () -> closed);
    private final Listeners<Consumer<Json>> watchers = new Listeners<>(thread::start); // by key
    private volatile CompletableFuture<?> asked = new CompletableFuture<>();
    private long index; // up to which all was told; the thread's

    /** Watches keys that begin with this. */
    ConsulWatch(ConsulClient client, String folder) {
        this.client = client;
        this.folder = folder;
        refused = new RefusedWatch(ConsulWatch.class, client);
        client.members().onMove(() -> asked.cancel(true));
    }

    Watch add(String key, Consumer<Json> heard) {
        return watchers.add(key, heard);
    }

    private void run() {
        while (!closed) {
            var pause = PAUSE;
            var member = client.members().preferred();
            try {
                var begun = System.nanoTime();
                var asking = client.ask(
                        member,
                        ConsulClient.keys(folder),
                        List.of("recurse", "wait=" + WAIT_SECONDS + "s", "index=" + index),
                        RequestTime.of(PATIENCE));
                asked = asking;
                if (closed) {
                    asking.cancel(true); // closed before there was this to cancel
                    return;
                }
                var answer = HttpMembers.answer(asking);
                refused.granted();
                if (answer.index() == index && System.nanoTime() - begun < PAUSE_AFTER_NOTHING.toNanos()) {
                    pause = PAUSE_AFTER_NOTHING; // it did not block, such as behind a proxy that drops the index
                }
                index = answer.index() < index ? 0 : answer.index(); // a store that was restored begins again
                answer.json().items().forEach(this::tell);
            } catch (AccessRefusedException e) {
                pause = LONG_PAUSE;
                refused.refused(e);
            } catch (UnavailableException e) { // until the next request nobody else would find an agent dead
                pause = PAUSE_AFTER_FAILURE;
                client.members().left(member, e);
                log.debug("{}: a watch begins again: {}", client, e.getMessage());
            } catch (RuntimeException e) {
                pause = PAUSE_AFTER_FAILURE;
                log.debug("{}: a watch begins again: {}", client, e.getMessage());
            }
            BackendThread.pause(pause.toNanos());
        }
    }

    private void tell(Json kv) {
        watchers.tellNews(kv.text("Key"), kv.number("ModifyIndex"), watcher -> watcher.accept(kv));
    }

    @Override
    public void close() {
        closed = true;
        asked.cancel(true);
        LockSupport.unpark(thread);
    }
}
