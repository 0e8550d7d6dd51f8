package dev.bellwether.redis;

import dev.bellwether.fixtures.ServerInfrastructure;
import dev.bellwether.fixtures.ValkeyServer;
import java.util.Map;

/** Keys under a prefix as the contract wants them. Confined to the thread of the test. */
final class RedisInfrastructure extends ServerInfrastructure {
    private final ValkeyServer server;

    RedisInfrastructure(ValkeyServer server) {
        super("Valkey", server, port -> "redis://127.0.0.1:" + port + "?prefix=contract");
        this.server = server;
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
        super.restartServer();
        server.ask("PING"); // it listens before it has read what it had kept
    }
}
