package dev.bellwether.kubernetes;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.http.Json;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Leases of a namespace as the contract wants them. Confined to the thread of the test. */
final class KubernetesInfrastructure implements Infrastructure {
    private final KubernetesServers servers;
    private final List<FaultProxy> proxies = new ArrayList<>();

    KubernetesInfrastructure(KubernetesServers servers) {
        this.servers = servers;
    }

    @Override
    public String describe() {
        return "Kubernetes";
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
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(servers.uri("contract", ""), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", servers.member(0).port());
        proxies.add(proxy);
        return new Linked(
                Elections.connect("k8s:contract?kubeconfig=" + servers.kubeconfig(proxy.port()), config), proxy);
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
        servers.member(0).kill();
        servers.member(0).start();
        servers.awaitLeases(0);
    }

    @Override
    public void pauseServer() {
        servers.member(0).pause();
    }

    @Override
    public void resumeServer() {
        servers.member(0).resume();
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
