package dev.bellwether.spi;

import dev.bellwether.Watch;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Those who listen, by the name of what they want to hear of.
 *
 * <p>Thread-safe. Listeners may be added and removed while some are told.
 *
 * @param <L> one of them
 */
public final class Listeners<L> {
    private static final Logger log = LoggerFactory.getLogger(Listeners.class);

    private final Map<String, Named<L>> byName = new ConcurrentHashMap<>();
    private final Runnable beginning;
    private boolean begun; // guarded by this

    /** Those of one name, and which version of it they were last told. */
    private record Named<L>(List<L> all, AtomicReference<@Nullable Object> told) {
        Named() {
            this(new CopyOnWriteArrayList<>(), new AtomicReference<>());
        }

        void tell(String name, Consumer<L> telling) {
            for (var listener : all) {
                try {
                    telling.accept(listener);
                } catch (RuntimeException | Error e) {
                    log.error("what listens for \"{}\" has failed", name, e);
                }
            }
        }
    }

    /** Nobody listens yet. */
    public Listeners() {
        this(() -> {});
    }

    /**
     * Nobody listens yet.
     *
     * @param beginning what is begun before the first listens, such as a thread. If it throws, so does {@link #add},
     *     and the next to come begins it
     */
    public Listeners(Runnable beginning) {
        this.beginning = beginning;
    }

    /** Adds one, until that is closed. */
    public Watch add(String name, L listener) {
        return add(name, listener, () -> {});
    }

    /**
     * Adds one, until that is closed.
     *
     * @param forget what is done, in one step, if it was the last of this name then
     */
    public Watch add(String name, L listener, Runnable forget) {
        begin();
        byName.compute(name, (same, present) -> { // in one step: another may be leaving
            var named = present == null ? new Named<L>() : present;
            named.all.add(listener);
            return named;
        });
        return () -> byName.computeIfPresent(name, (same, named) -> {
            if (!named.all.remove(listener) || !named.all.isEmpty()) {
                return named;
            }
            forget.run();
            return null;
        });
    }

    private synchronized void begin() {
        if (!begun) {
            beginning.run();
            begun = true;
        }
    }

    /** Returns whether nobody listens. */
    public boolean isEmpty() {
        return byName.isEmpty();
    }

    /** Returns the names of which somebody wants to hear. */
    public Set<String> names() {
        return Set.copyOf(byName.keySet());
    }

    /** Returns whether somebody wants to hear of this name. */
    public boolean has(String name) {
        return byName.containsKey(name);
    }

    /** Returns whether this one wants to hear of this name. */
    public boolean has(String name, L listener) {
        var named = byName.get(name);
        return named != null && named.all.contains(listener);
    }

    /** Does this in one step, if somebody wants to hear of this name: of one that nobody does, nothing stays behind. */
    public void ifAny(String name, Runnable task) {
        byName.computeIfPresent(name, (same, named) -> {
            task.run();
            return named;
        });
    }

    /** Tells those of this name, on this thread. One that fails keeps no other from being told. */
    public void tell(String name, Consumer<L> telling) {
        var named = byName.get(name);
        if (named != null) {
            named.tell(name, telling);
        }
    }

    /** Tells those of this name, unless it is the version that they were told last. */
    public void tellNews(String name, Object version, Consumer<L> telling) {
        var named = byName.get(name);
        if (named != null && !Objects.equals(named.told.getAndSet(version), version)) {
            named.tell(name, telling);
        }
    }

    /** Tells all, as {@link #tell} does. */
    public void tellAll(Consumer<L> telling) {
        byName.forEach((name, named) -> named.tell(name, telling));
    }
}
