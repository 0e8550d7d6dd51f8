package dev.bellwether.consul;

import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.ServerInfrastructure;
import dev.bellwether.http.Json;
import java.util.Map;

/** Keys under a prefix as the contract wants them. Confined to the thread of the test. */
final class ConsulInfrastructure extends ServerInfrastructure {
    private final ConsulServers servers;

    ConsulInfrastructure(ConsulServers servers) {
        super("Consul", servers.member(0), port -> "consul://127.0.0.1:" + port + "/contract");
        this.servers = servers;
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
        super.restartServer();
        servers.member(0).awaitReady(); // it listens before it has chosen itself
    }
}
