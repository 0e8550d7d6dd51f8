package dev.bellwether.zookeeper;

import dev.bellwether.testkit.zookeeper.ZooKeeperServers;

/** One server for all tests that do not hurt it; it ends with the process. */
final class SharedServer {
    private static final ZooKeeperServers SERVERS = ZooKeeperServers.start(1, ZooKeeperInfrastructure.ALL_LINKS);

    private SharedServer() {}

    static ZooKeeperServers get() {
        return SERVERS;
    }

    static String uri() {
        return ZooKeeperInfrastructure.uri(SERVERS.addresses());
    }
}
