package dev.bellwether.spi;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What was last seen under each name, of the names that were used last. With it a {@link RecordStore} compares what it
 * writes over with more than a revision, which a store that has lost its last writes may give again. Thread-safe.
 */
public final class LastSeen<T> {
    private static final int MOST = 20_000;

    private final Map<String, T> seen = new LinkedHashMap<>(16, 0.75f, true) { // guarded by itself
                private static final long serialVersionUID = 1;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, T> eldest) {
                    return size() > MOST;
                }
            };

    /** Remembers nothing yet. */
    public LastSeen() {}

    /** Remembers what was seen now. */
    public void put(String name, T what) {
        synchronized (seen) {
            seen.put(name, what);
        }
    }

    /** Returns what was seen last; empty if nothing was, or it is forgotten. */
    public Optional<T> of(String name) {
        synchronized (seen) {
            return Optional.ofNullable(seen.get(name));
        }
    }
}
