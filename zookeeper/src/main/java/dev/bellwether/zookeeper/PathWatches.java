package dev.bellwether.zookeeper;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The watches of one session: one watcher per path, however many listen and however often they look again, so that
 * neither client nor server gathers watches; and none once nobody listens.
 *
 * <p>Thread-safe. A listener is told on the client's event thread that something about the path has changed, looks
 * again with {@link #watcher}, and is told of the next change.
 */
final class PathWatches {
    private final NodeRequests requests;
    private final Map<String, Set<Runnable>> listeners = new ConcurrentHashMap<>();
    private final AtomicInteger untold = new AtomicInteger();

    PathWatches(NodeRequests requests) {
        this.requests = requests;
    }

    /** Tells this of changes, beginning with anybody who next reads the path with the {@link #watcher} of it. */
    void listen(String path, Runnable listener) {
        listeners.compute(path, (p, present) -> {
            var all = present == null ? ConcurrentHashMap.<Runnable>newKeySet() : present;
            all.add(listener);
            return all;
        });
    }

    /** Tells it no more. */
    void unlisten(String path, Runnable listener) {
        listeners.computeIfPresent(path, (p, present) -> {
            if (present.remove(listener) && present.isEmpty()) {
                requests.unwatch(path);
            }
            return present.isEmpty() ? null : present;
        });
    }

    /** Tells it of one path in place of another, each of which may be none; returns the new one. */
    @Nullable
    String move(@Nullable String from, @Nullable String to, Runnable listener) {
        if (from != null && !from.equals(to)) {
            unlisten(from, listener);
        }
        if (to != null) {
            listen(to, listener);
        }
        return to;
    }

    /** Tells it no more of a node that is gone permanently, and its watch with it. */
    void gone(String path, Runnable listener) {
        listeners.computeIfPresent(path, (p, present) -> {
            present.remove(listener);
            return present.isEmpty() ? null : present;
        });
    }

    /** Returns the watcher of a path. */
    Watcher watcher(String path) {
        return new PathWatcher(this, path);
    }

    /** Returns how often somebody could not be told: if that has grown since a path was read, it must be read again. */
    int untold() {
        return untold.get();
    }

    private void tell(String path) {
        try {
            List.copyOf(listeners.getOrDefault(path, Set.of())).forEach(Runnable::run);
        } catch (Throwable fault) { // there is no memory, and the watch will not tell again
            untold.incrementAndGet();
            throw fault;
        }
    }

    /** Equal to any other of the same path, so that the client keeps one. */
    private record PathWatcher(PathWatches watches, String path) implements Watcher {
        @Override
        public void process(WatchedEvent event) {
            if (event.getType() != Event.EventType.None) { // connections come and go; the client renews its watches
                watches.tell(path);
            }
        }
    }
}
