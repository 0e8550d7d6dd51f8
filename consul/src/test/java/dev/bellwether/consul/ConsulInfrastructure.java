package dev.bellwether.consul;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.http.Json;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Keys under a prefix as the contract wants them. Confined to the thread of the test. */
final class ConsulInfrastructure implements Infrastructure {
    private final ConsulServers servers;
    private final List<FaultProxy> proxies = new ArrayList<>();

    ConsulInfrastructure(ConsulServers servers) {
        this.servers = servers;
    }

    @Override
    public String describe() {
        return "Consul";
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(servers.uri("/contract"), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", servers.member(0).port());
        proxies.add(proxy);
        return new Linked(Elections.connect("consul://127.0.0.1:" + proxy.port() + "/contract", config), proxy);
    }

    @Override
    public Map<String, Long> leftovers() {
        return Map.of("records", keys("records"), "standbys", keys("standbys"), "witnesses", keys("witnesses"));
    }

    private long keys(String folder) {
        var said = servers.member(0).get("/v1/kv/contract/" + folder + "/?keys&consistent");
        return said.isBlank() ? 0 : Json.parse(said).texts().size();
    }

    @Override
    public void restartServer() {
        servers.member(0).kill();
        servers.member(0).start();
        servers.member(0).awaitReady(); // it listens before it has chosen itself
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
