package dev.bellwether.memory;

import dev.bellwether.Watch;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Records in the memory of one process: a model of what a {@link RecordStore} has to do.
 *
 * <p>Thread-safe: one lock over all records. Every answer is there at once; watchers are told on the thread that wrote,
 * outside the lock.
 */
public final class MemoryRecordStore implements RecordStore {
    private final Clock clock;
    private final RecordTraits traits;
    private final Map<RecordKey, Found> records = new HashMap<>();
    private final Map<RecordKey, List<Consumer<Found>>> watchers = new HashMap<>();
    private long revision;

    /** Makes a store with a clock that dates what is written; it decides nothing. */
    public MemoryRecordStore(Clock clock) {
        this(clock, RecordTraits.PLAIN);
    }

    /** Makes a store that is like this. */
    public MemoryRecordStore(Clock clock, RecordTraits traits) {
        this.clock = clock;
        this.traits = traits;
    }

    @Override
    public String describe() {
        return "memory";
    }

    @Override
    public RecordTraits traits() {
        return traits;
    }

    @Override
    public synchronized CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return CompletableFuture.completedStage(records.getOrDefault(key, Found.NOTHING));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        Found stored;
        synchronized (this) {
            var present = records.getOrDefault(key, Found.NOTHING).revision();
            if (present != expected) {
                return CompletableFuture.completedStage(Written.outdated(present));
            }
            stored = store(key, draft.text());
        }
        tell(key, stored);
        return CompletableFuture.completedStage(Written.at(stored.revision(), stored.written()));
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        Found stored;
        synchronized (this) {
            stored = store(key, text);
        }
        tell(key, stored);
        return CompletableFuture.completedStage(stored);
    }

    @Override
    public synchronized CompletionStage<?> remove(RecordKey key, Duration timeout) {
        records.remove(key);
        return CompletableFuture.completedStage(true);
    }

    @Override
    public synchronized CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var keys = new TreeMap<String, RecordKey>();
        for (var key : records.keySet()) {
            var those = key.parts();
            if (those.size() == parts && those.subList(0, beginning.size()).equals(beginning)) {
                keys.put(String.join("\0", those), key);
            }
        }
        return CompletableFuture.completedStage(
                new Listing(List.copyOf(keys.values()), Optional.of(Instant.ofEpochMilli(clock.wallMillis())), true));
    }

    @Override
    public synchronized CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return CompletableFuture.completedStage(revision);
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        synchronized (this) {
            watchers.computeIfAbsent(key, absent -> new CopyOnWriteArrayList<>())
                    .add(heard);
        }
        return () -> {
            synchronized (this) {
                watchers.computeIfPresent(key, (same, all) -> all.remove(heard) && all.isEmpty() ? null : all);
            }
        };
    }

    private Found store(RecordKey key, String text) {
        var what = text.isEmpty() ? What.DELETED : What.TEXT;
        var stored = new Found(what, ++revision, Instant.ofEpochMilli(clock.wallMillis()), text);
        records.put(key, stored);
        return stored;
    }

    private void tell(RecordKey key, Found stored) {
        List<Consumer<Found>> told;
        synchronized (this) {
            told = List.copyOf(watchers.getOrDefault(key, List.of()));
        }
        told.forEach(watcher -> watcher.accept(stored));
    }

    @Override
    public void close() {}
}
