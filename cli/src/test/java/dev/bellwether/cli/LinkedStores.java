package dev.bellwether.cli;

import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.LinkedLeaseStore;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Knows {@code linked:NAME}: the store {@code memory:NAME}, at the far end of a link that a test can slow or break. */
public final class LinkedStores implements ElectionsProvider {
    private static final Map<String, LinkedLeaseStore> LINKS = new ConcurrentHashMap<>();

    /** For {@link java.util.ServiceLoader}. */
    public LinkedStores() {}

    /** Returns the link to the store of this name. */
    static LinkedLeaseStore link(String name) {
        return LINKS.computeIfAbsent(
                name,
                missing -> LinkedLeaseStore.toShared(
                        (LeaseStore) ConnectUri.parse("memory:" + name).connect()));
    }

    @Override
    public Set<String> schemes() {
        return Set.of("linked");
    }

    @Override
    public Backend connect(ConnectUri uri) {
        uri.requireKnown(List.of());
        return link(uri.body());
    }
}
