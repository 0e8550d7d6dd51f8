package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.Endpoint;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;

/**
 * Knows {@code zk://user:password@host:2181,host:2181/path?name=value}. User and password are digest credentials; with
 * {@code acl=creator} only they may touch what was created with them. The other names are those of
 * {@link ZooKeeperConfig}.
 */
public final class ZooKeeperProvider implements ElectionsProvider {
    private static final List<String> PARAMETERS = List.of("createElections", "tickTime", "acl");
    private static final Duration LOOK = Duration.ofMillis(300);
    private static final Duration CONNECTION_TIMEOUT = Duration.ofSeconds(10);

    /** For {@link java.util.ServiceLoader}. */
    public ZooKeeperProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("zk");
    }

    @Override
    public void check(ConnectUri uri) {
        uri.requireKnown(PARAMETERS);
        if (uri.authority().isEmpty()) {
            throw new ElectionException(uri + " names no servers: write zk://host:2181,host:2181/path");
        }
        config(uri);
        acl(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        check(uri);
        var config = config(uri);
        var acl = acl(uri);
        var where = "ZooKeeper at " + uri.authority();
        try {
            return new ZooKeeperArbiter(
                    Sessions.own(lease -> client(uri, lease, acl), config.tickTime(), where), config);
        } catch (UnavailableException e) {
            throw new UnavailableException(e.getMessage() + ": " + Endpoint.complaints(Endpoint.of(uri), LOOK), e);
        }
    }

    static ZooKeeperConfig config(ConnectUri uri) {
        var builder = ZooKeeperConfig.builder();
        if (!uri.path().isEmpty()) {
            builder.root(uri.path());
        }
        uri.flag("createElections").ifPresent(builder::createElections);
        uri.duration("tickTime").ifPresent(builder::tickTime);
        return builder.build();
    }

    private static CuratorFramework client(ConnectUri uri, Duration lease, List<ACL> acl) {
        var builder = CuratorFrameworkFactory.builder()
                .connectString(uri.authority())
                // the servers of the URI and no others: what the ensemble says of itself may be of use behind a gateway
                // only, and one that was left out may grant shorter sessions
                .ensembleTracker(false)
                .sessionTimeoutMs((int) Math.min(Client.timeoutFor(lease).toMillis(), Integer.MAX_VALUE))
                .connectionTimeoutMs((int) Math.min(lease.toMillis(), CONNECTION_TIMEOUT.toMillis()))
                .retryPolicy(new RetryOneTime(100)) // we send each request once
                .aclProvider(new ACLProvider() {
                    @Override
                    public List<ACL> getDefaultAcl() {
                        return acl;
                    }

                    @Override
                    public List<ACL> getAclForPath(String path) {
                        return acl;
                    }
                });
        uri.userInfo().ifPresent(user -> builder.authorization("digest", user.getBytes(StandardCharsets.UTF_8)));
        return builder.build();
    }

    private static List<ACL> acl(ConnectUri uri) {
        var name = uri.parameter("acl").orElse("open");
        return switch (name) {
            case "open" -> ZooDefs.Ids.OPEN_ACL_UNSAFE;
            case "creator" -> ZooDefs.Ids.CREATOR_ALL_ACL;
            default ->
                throw new ElectionException("acl is \"" + name + "\": it must be open or creator; for any other, use"
                        + " ZooKeeperElections.using with an ACLProvider");
        };
    }
}
