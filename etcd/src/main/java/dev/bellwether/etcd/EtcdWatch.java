package dev.bellwether.etcd;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RefusedWatch;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears of changes of keys: one stream for all of them, read by a thread of its own from the first watcher on. What is
 * heard is a hint. Thread-safe; only that thread waits.
 */
final class EtcdWatch implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EtcdWatch.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final Duration PAUSE_AFTER_NOTHING = Duration.ofMillis(200);
    private static final Duration LONG_PAUSE = Duration.ofSeconds(10);
    /** A stream may die silently: it is begun again after so long, from where it was. */
    private static final Duration LIFE = Duration.ofSeconds(15);

    private final EtcdClient client;
    private final String range;
    private final RefusedWatch refused;
    private final Listeners<Consumer<Json>> watchers = new Listeners<>(this::start); // by key
    private volatile boolean closed;
    private final Thread thread = BackendThread.lasting("bellwether-etcd-watch", this::run, () -> closed);
    private volatile Stream<String> lines = Stream.of();
    private volatile Stream<String> ended = lines; // by us
    private long next; // from which revision on; the thread's
    private Duration pause = PAUSE; // before the next stream; the thread's

    /** Watches keys within a range: the two fields of a request that name one. */
    EtcdWatch(EtcdClient client, String range) {
        this.client = client;
        this.range = range;
        refused = new RefusedWatch(EtcdWatch.class, client);
        client.members().onMove(() -> end(lines));
    }

    Watch add(String key, Consumer<Json> heard) {
        return watchers.add(key, heard);
    }

    private void start() {
        next = client.revision() + 1;
        thread.start();
    }

    private void run() {
        while (!closed) {
            pause = PAUSE_AFTER_NOTHING;
            var begun = System.nanoTime();
            var body =
                    "{\"create_request\":{" + range + ",\"start_revision\":\"" + next + "\",\"progress_notify\":true}}";
            var member = client.members().preferred();
            try (var opened = HttpMembers.answer(client.stream(member, "watch", body, PATIENCE))) {
                read(member, opened);
            } catch (AccessRefusedException e) {
                pause = LONG_PAUSE;
                refused.refused(e);
            } catch (UnavailableException | CompletionException e) { // of the opening
                client.members().left(member, e);
                log.debug("{}: a watch begins again: {}", client, e.getMessage());
            } catch (RuntimeException e) {
                log.debug("{}: a watch begins again: {}", client, e.getMessage());
            }
            if (pause.equals(PAUSE) && System.nanoTime() - begun < PAUSE_AFTER_NOTHING.toNanos()) {
                pause = PAUSE_AFTER_NOTHING; // it ended as soon as it had begun, and may do so again
            }
            BackendThread.pause(pause.toNanos());
        }
    }

    /** A member that breaks off is left to others: until the next request nobody else would find it dead. */
    private void read(int member, Stream<String> opened) {
        lines = opened;
        if (closed) {
            return; // before there was this stream to close
        }
        DelayThread.after(LIFE).execute(() -> end(opened));
        try {
            opened.takeWhile(line -> !closed).forEach(line -> heard(member, line));
        } catch (UncheckedIOException e) {
            if (opened != ended) {
                client.members().left(member);
            }
            throw e;
        }
    }

    private void end(Stream<String> opened) {
        ended = opened;
        opened.close();
    }

    private void heard(int member, String line) {
        if (line.isBlank()) {
            return;
        }
        var said = Json.parse(line);
        var result = said.at("result");
        var isRefused = result.value() instanceof String; // it has no such object
        pause = isRefused ? PAUSE_AFTER_NOTHING : PAUSE;
        var events = result.list("events");
        var reached = events.isEmpty() // else the revision of the answer may be beyond what it tells
                ? result.at("header").number("revision")
                : events.get(events.size() - 1).at("kv").number("mod_revision");
        if (result.number("compact_revision") > 0) {
            next = result.number("compact_revision"); // what was before can be told no more
        } else if (result.flag("created") ? reached + 1 < next : reached >= next && !result.flag("canceled")) {
            next = reached + 1; // the store has lost its last writes; or all up to here is told
        }
        for (var event : events) {
            var kv = event.at("kv");
            var key = new String(Base64.getDecoder().decode(kv.text("key")), StandardCharsets.UTF_8);
            if (!event.text("type").equals("DELETE")) { // of what is gone, asking tells
                watchers.tell(key, watcher -> watcher.accept(kv));
            }
        }
        if (line.contains("permission denied")) {
            if (!refused.isRefused()) {
                client.forgetToken(); // old servers say that of one that is over
            }
            throw new AccessRefusedException(line);
        }
        if (result.flag("canceled") || isRefused) {
            client.forgetToken(); // which may be over
            if (isRefused && !line.contains("auth")) { // such as "no leader": another member may have one
                client.members().left(member);
            }
            end(lines);
        } else {
            refused.granted();
        }
    }

    @Override
    public void close() {
        closed = true;
        end(lines);
        LockSupport.unpark(thread);
    }
}
