package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Names;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/**
 * Elections on Apache ZooKeeper: one election is one node, and the first of its ephemeral sequential children leads.
 *
 * <p>{@code Elections.connect("zk://host:2181,host:2181/path")} is the same by URI, with sessions of its own: one for
 * each length of lease, whose timeout is the lease. Here all candidacies live in the one session of the given client: a
 * lease must not be longer than the timeout that was negotiated with the servers, and a crash costs that timeout,
 * however short the lease.
 */
public final class ZooKeeperElections {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private ZooKeeperElections() {}

    /** Holds elections over this client, with default settings. */
    public static Elections using(CuratorFramework client) {
        return using(client, ZooKeeperConfig.defaults(), ElectionsConfig.defaults());
    }

    /**
     * Holds elections over this client, which must have been started, and stays open when the elections are closed.
     * Namespace, ACL provider and credentials are the client's. Close it after the elections.
     *
     * @throws dev.bellwether.ElectionException if the client was not started
     * @throws dev.bellwether.UnavailableException if it does not connect
     */
    public static Elections using(CuratorFramework client, ZooKeeperConfig config, ElectionsConfig electionsConfig) {
        return Elections.over(where(client), () -> arbiter(client, config), electionsConfig);
    }

    /**
     * Deletes all candidates of an election, and leaves the election: anybody who stands hears that it has {@code
     * Ended}, the leader once its work has ended; others may join when the last of them has left. One that has
     * {@linkplain dev.bellwether.Election#end ended} remains so. Unlike {@link dev.bellwether.Election#delete}, this
     * keeps the election's node, with its data and ACL: for elections whose nodes only an administrator makes.
     *
     * <p>Returns when the order has been recorded. Idempotent. Does nothing if there is no such election.
     *
     * @throws dev.bellwether.ElectionException if it is refused, say for lack of rights
     * @throws dev.bellwether.UnavailableException if there is no answer
     */
    public static void deleteCandidates(CuratorFramework client, ZooKeeperConfig config, String election) {
        var arbiter = arbiter(client, config);
        try {
            arbiter.dismiss(Names.election(election))
                    .toCompletableFuture()
                    .orTimeout(PATIENCE.toNanos(), TimeUnit.NANOSECONDS)
                    .join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof ElectionException cause
                    ? cause
                    : new UnavailableException(
                            "no answer from " + arbiter.describe() + " within " + Durations.show(PATIENCE), e);
        } finally {
            arbiter.close();
        }
    }

    private static String where(CuratorFramework client) {
        return "ZooKeeper at " + client.getZookeeperClient().getCurrentConnectionString();
    }

    private static ZooKeeperArbiter arbiter(CuratorFramework client, ZooKeeperConfig config) {
        return new ZooKeeperArbiter(
                Sessions.lent(SeatSession.borrowed(client, config.tickTime(), where(client))), config);
    }
}
