package dev.bellwether.etcd;

import dev.bellwether.http.HttpClients;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.util.Set;

/** Knows {@code etcd:} URIs. */
public final class EtcdProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public EtcdProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("etcd");
    }

    @Override
    public void check(ConnectUri uri) {
        EtcdSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        return LeaseStore.over(EtcdRecordStore.open(EtcdSettings.of(uri), HttpClients.of(uri)));
    }
}
