package dev.bellwether.memory;

import dev.bellwether.spi.Backend;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Knows {@code memory:NAME}: all who name the same store, in one process, share it. Stores live as long as the process.
 */
public final class MemoryProvider implements ElectionsProvider {
    private static final Map<String, MemoryLeaseStore> STORES = new ConcurrentHashMap<>();

    /** For {@link java.util.ServiceLoader}. */
    public MemoryProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("memory");
    }

    @Override
    public Backend connect(ConnectUri uri) {
        uri.requireKnown(List.of());
        return STORES.computeIfAbsent(uri.body(), name -> new MemoryLeaseStore(Clock.system()));
    }
}
