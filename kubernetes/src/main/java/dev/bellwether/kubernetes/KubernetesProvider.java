package dev.bellwether.kubernetes;

import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** Knows {@code k8s:} URIs. */
public final class KubernetesProvider implements ElectionsProvider {
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** For {@link java.util.ServiceLoader}. */
    public KubernetesProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("k8s");
    }

    @Override
    public void check(ConnectUri uri) {
        KubernetesSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        var settings = KubernetesSettings.of(uri);
        var access = ClusterAccess.of(settings, Surroundings.real());
        access.awaitCertificates(() -> LockSupport.parkNanos(PAUSE.toNanos()));
        return LeaseStore.over(KubernetesRecordStore.open(settings, access, access::client));
    }
}
