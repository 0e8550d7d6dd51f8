package dev.bellwether.redis;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Keys under a prefix as the contract wants them. Confined to the thread of the test. */
final class RedisInfrastructure implements Infrastructure {
    private final ValkeyServer server;
    private final List<FaultProxy> proxies = new ArrayList<>();

    RedisInfrastructure(ValkeyServer server) {
        this.server = server;
    }

    @Override
    public String describe() {
        return "Valkey";
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(server.uri("?prefix=contract"), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = FaultProxy.to("127.0.0.1", server.port());
        proxies.add(proxy);
        return new Linked(Elections.connect("redis://127.0.0.1:" + proxy.port() + "?prefix=contract", config), proxy);
    }

    @Override
    public Map<String, Long> leftovers() {
        var clients = server.ask("CLIENT", "LIST").lines().count() - 1; // who asks is one
        var channels = server.ask("PUBSUB", "CHANNELS").lines().count();
        return Map.of(
                "keys",
                Long.parseLong(server.ask("DBSIZE")),
                "listed",
                Long.parseLong(server.ask("ZCARD", "contract:state/standbys/")),
                "connections",
                clients,
                "channels",
                channels);
    }

    @Override
    public void restartServer() {
        server.kill();
        server.start();
        server.ask("PING"); // it listens before it has read what it had kept
    }

    @Override
    public void pauseServer() {
        server.pause();
    }

    @Override
    public void resumeServer() {
        server.resume();
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
