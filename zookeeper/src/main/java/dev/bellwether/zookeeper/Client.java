package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.States;

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

    /** Returns the timeout to ask for: sessions have whole milliseconds, and are to be no shorter than the lease. */
    static Duration timeoutFor(Duration lease) {
        return lease.plusNanos(999_999).truncatedTo(ChronoUnit.MILLIS);
    }

    /** Returns the id of the present session. */
    long sessionId() {
        return ask(ZooKeeper::getSessionId, 0L);
    }

    /** Returns what was negotiated with the server; zero if nothing was yet. */
    Duration timeout() {
        return Duration.ofMillis(ask(ZooKeeper::getSessionTimeout, 0));
    }

    boolean isConnected() {
        return ask(zooKeeper -> zooKeeper.getState().isConnected(), false);
    }

    boolean isReadOnly() {
        return ask(ZooKeeper::getState, States.CLOSED) == States.CONNECTEDREADONLY;
    }

    /** Returns whether a server has refused our credentials, and the client given up. */
    boolean wasRefused() {
        return ask(ZooKeeper::getState, States.CLOSED) == States.AUTH_FAILED;
    }

    private <T> T ask(Function<ZooKeeper, T> question, T withoutClient) {
        try {
            return question.apply(zooKeeper());
        } catch (Exception e) {
            return withoutClient;
        }
    }

    /** Returns the servers, one by one. */
    List<String> addresses() {
        var all = framework.getZookeeperClient().getCurrentConnectionString();
        var slash = all.indexOf('/');
        return List.of((slash < 0 ? all : all.substring(0, slash)).split(",", -1));
    }

    /**
     * Asks one server for a session for a lease of this length, which is closed at once; returns what was granted, or
     * empty if there is no answer.
     */
    Optional<Duration> granted(String address, Duration length, Duration patience) {
        var connected = new CountDownLatch(1);
        Watcher onConnect = event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        };
        try {
            var asking = new ZooKeeper(
                    address,
                    (int) Math.min(timeoutFor(length).toMillis(), Integer.MAX_VALUE),
                    onConnect,
                    zooKeeper().getClientConfig());
            var isAnswered = false;
            try {
                isAnswered = connected.await(patience.toMillis(), TimeUnit.MILLISECONDS);
                return isAnswered ? Optional.of(Duration.ofMillis(asking.getSessionTimeout())) : Optional.empty();
            } finally {
                if (isAnswered) {
                    close(asking);
                } else {
                    Sessions.CLOSERS.execute(() -> close(asking)); // which waits for the attempt to connect
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } catch (Exception e) {
            return Optional.empty();
        }
    }

    /** Waits until the server has answered, or an attempt to connect has failed: for as long as a session, at most. */
    private static void close(ZooKeeper asking) {
        try {
            asking.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
