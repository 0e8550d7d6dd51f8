package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;

/**
 * Curator's client, as far as it answers without asking a server.
 *
 * <p>Thread-safe.
 */
final class Client {
    private final CuratorFramework framework;

    Client(CuratorFramework framework) {
        this.framework = framework;
    }

    CuratorFramework framework() {
        return framework;
    }

    /** Returns the id of the present session. */
    long sessionId() {
        try {
            return zooKeeper().getSessionId();
        } catch (Exception e) {
            return 0;
        }
    }

    /** Returns what was negotiated with the server; zero if nothing was yet. */
    Duration timeout() {
        try {
            return Duration.ofMillis(zooKeeper().getSessionTimeout());
        } catch (Exception e) {
            return Duration.ZERO;
        }
    }

    boolean isConnected() {
        try {
            return zooKeeper().getState().isConnected();
        } catch (Exception e) {
            return false;
        }
    }

    boolean isReadOnly() {
        try {
            return zooKeeper().getState() == ZooKeeper.States.CONNECTEDREADONLY;
        } catch (Exception e) {
            return false;
        }
    }

    ZooKeeper zooKeeper() throws Exception {
        return framework.getZookeeperClient().getZooKeeper();
    }

    /** Returns the path as the server, or its chroot, knows it. */
    String full(String path) {
        var namespace = framework.getNamespace();
        return namespace == null || namespace.isEmpty() ? path : "/" + namespace + (path.equals("/") ? "" : path);
    }

    /** Makes the request to create a node, with the ACL that Curator's provider has for it. */
    Op creation(CreateMode mode, String path, String text) {
        try {
            return framework
                    .usingNamespace(null) // our paths have it
                    .transactionOp()
                    .create()
                    .withMode(mode)
                    .forPath(path, text.getBytes(StandardCharsets.UTF_8))
                    .get();
        } catch (Exception e) {
            throw new ElectionException("a node " + path + " cannot be created: " + e.getMessage(), e);
        }
    }
}
