package dev.bellwether.zookeeper;

import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/** Somebody at the command line of ZooKeeper: looks at the nodes, and does to them what he should not. */
final class Hands implements AutoCloseable {
    static final String ROOT = "/bellwether";

    private final CuratorFramework client;

    Hands(ZooKeeperServers servers) {
        this(servers.addresses());
    }

    Hands(String addresses) {
        client = client(addresses, 10_000);
    }

    /** Starts a client as applications have theirs. */
    static CuratorFramework client(String addresses, int sessionMillis) {
        var client = unstarted(addresses, sessionMillis);
        client.start();
        return client;
    }

    /** Returns one that is not started. */
    static CuratorFramework unstarted(String addresses, int sessionMillis) {
        return CuratorFrameworkFactory.builder()
                .connectString(addresses)
                .sessionTimeoutMs(sessionMillis)
                .connectionTimeoutMs(sessionMillis)
                .retryPolicy(new RetryNTimes(20, 100))
                .build();
    }

    /** Ends the session of a client at the server, which the client learns when it next hears from it. */
    static void expire(CuratorFramework client) throws Exception {
        var victim = client.getZookeeperClient().getZooKeeper();
        var twin = new ZooKeeper(
                client.getZookeeperClient().getCurrentConnectionString(),
                5_000,
                event -> {},
                victim.getSessionId(),
                victim.getSessionPasswd());
        try {
            twin.exists("/", false); // waits until the session has moved over
        } finally {
            twin.close();
        }
    }

    List<String> children(String election) throws Exception {
        client.sync().forPath(ROOT);
        try {
            return client.getChildren().forPath(path(election));
        } catch (KeeperException.NoNodeException e) {
            return List.of();
        }
    }

    List<String> queue(String election) throws Exception {
        return Paths.queue(children(election));
    }

    boolean exists(String election) throws Exception {
        return stat(election, null) != null;
    }

    @Nullable
    Stat stat(String election, @Nullable String node) throws Exception {
        client.sync().forPath(ROOT);
        return client.checkExists().forPath(path(election) + (node == null ? "" : "/" + node));
    }

    String data(String election, String node) throws Exception {
        return new String(client.getData().forPath(path(election) + '/' + node), StandardCharsets.UTF_8);
    }

    void write(String election, String node, String text) throws Exception {
        client.setData().forPath(path(election) + '/' + node, text.getBytes(StandardCharsets.UTF_8));
    }

    void make(String election, String node) throws Exception {
        client.create()
                .creatingParentsIfNeeded()
                .withMode(CreateMode.PERSISTENT)
                .forPath(path(election) + '/' + node, new byte[0]);
    }

    /** Makes a candidate's node as the original does. */
    String join(String election, String id) throws Exception {
        var path = client.create()
                .creatingParentsIfNeeded()
                .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                .forPath(path(election) + "/le_", id.getBytes(StandardCharsets.UTF_8));
        return path.substring(path.lastIndexOf('/') + 1);
    }

    void delete(String election, String node) throws Exception {
        client.delete().forPath(path(election) + '/' + node);
    }

    void delete(String election) throws Exception {
        client.delete().forPath(path(election));
    }

    /** {@code deleteall}. */
    void deleteAll(String election) throws Exception {
        client.delete().deletingChildrenIfNeeded().forPath(path(election));
    }

    private static String path(String election) {
        return ROOT + '/' + Paths.encode(election);
    }

    @Override
    public void close() {
        client.close();
    }
}
