package dev.bellwether.testkit.zookeeper;

import dev.bellwether.testkit.servers.JvmServer;

/**
 * What a server's process runs.
 *
 * <p>By reflection, so that the testkit depends on no ZooKeeper: who starts servers has it, and what it needs, on the
 * class path.
 */
final class ServerMain {
    private ServerMain() {}

    /** Takes the file of settings. */
    public static void main(String[] args) throws ReflectiveOperationException {
        JvmServer.endWithParent();
        Class.forName("org.apache.zookeeper.server.quorum.QuorumPeerMain")
                .getMethod("main", String[].class)
                .invoke(null, (Object) args);
    }
}
