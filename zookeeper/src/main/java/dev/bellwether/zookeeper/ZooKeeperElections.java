package dev.bellwether.zookeeper;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import org.apache.curator.framework.CuratorFramework;

/**
 * Elections on Apache ZooKeeper: one election is one node, and the first of its ephemeral sequential children leads.
 *
 * <p>{@code Elections.connect("zk://host:2181,host:2181/path")} is the same by URI, with sessions of its own: one for each length of
 * lease, whose timeout is the lease. Here all candidacies live in the one session of the given client: a lease must not be longer than
 * the timeout that was negotiated with the servers, and a crash costs that timeout, however short the lease.
 */
public final class ZooKeeperElections {
    private ZooKeeperElections() {}

    /** Holds elections over this client, with default settings. */
    public static Elections using(CuratorFramework client) {
        return using(client, ZooKeeperConfig.defaults(), ElectionsConfig.defaults());
    }

    /**
     * Holds elections over this client, which must have been started, and stays open when the elections are closed. Namespace, ACL
     * provider and credentials are the client's. Close it after the elections.
     *
     * @throws dev.bellwether.ElectionException if the client was not started
     * @throws dev.bellwether.UnavailableException if it does not connect
     */
    public static Elections using(CuratorFramework client, ZooKeeperConfig config, ElectionsConfig electionsConfig) {
        var where = "ZooKeeper at " + client.getZookeeperClient().getCurrentConnectionString();
        var session = Session.borrowed(client, config.tickTime(), where);
        return Elections.over(new ZooKeeperArbiter(new LentSession(session), config), electionsConfig);
    }
}
