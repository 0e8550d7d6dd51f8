package dev.bellwether.kubernetes;

import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.fixtures.ServerInfrastructure;
import dev.bellwether.http.Json;
import java.time.Duration;
import java.util.Map;

/** Leases of a namespace as the contract wants them. Confined to the thread of the test. */
final class KubernetesInfrastructure extends ServerInfrastructure {
    private final KubernetesServers servers;

    KubernetesInfrastructure(KubernetesServers servers) {
        super("Kubernetes", servers.member(0), port -> "k8s:contract?kubeconfig=" + servers.kubeconfig(port));
        this.servers = servers;
    }

    @Override
    public Duration lease() {
        return Duration.ofMillis(1_500);
    }

    @Override
    public Duration longLease() {
        return Duration.ofSeconds(20);
    }

    @Override
    public Map<String, Long> leftovers() {
        return Map.of("seats", leases("seat"), "standbys", leases("standby"), "sessions", leases("session"));
    }

    private long leases(String kind) {
        var said = servers.get(0, KubernetesServers.leases("contract") + "?labelSelector=bellwether.dev/kind=" + kind);
        return Json.parse(said).list("items").size();
    }

    @Override
    public void restartServer() {
        super.restartServer();
        servers.awaitLeases(0);
    }
}
