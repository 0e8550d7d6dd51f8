package dev.bellwether.consul;

import dev.bellwether.http.HttpClients;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.util.Set;

/** Knows {@code consul:} URIs. */
public final class ConsulProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public ConsulProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("consul");
    }

    @Override
    public void check(ConnectUri uri) {
        ConsulSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        return LeaseStore.over(ConsulRecordStore.open(ConsulSettings.of(uri), HttpClients.of(uri)));
    }
}
