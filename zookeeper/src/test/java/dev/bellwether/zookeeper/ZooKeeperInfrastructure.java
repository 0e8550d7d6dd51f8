package dev.bellwether.zookeeper;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.testkit.FreeNumbers;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.zookeeper.ZooKeeperServer;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.Map;

/** ZooKeeper servers that the tests of one JVM share. */
class ZooKeeperInfrastructure implements Infrastructure {
    /** How many clients of one test can be cut off at a time. */
    static final int LINKS = 3;
    /** How many clients of those that run side by side. */
    static final int ALL_LINKS = 6 * LINKS;

    private static final FreeNumbers NUMBERS = new FreeNumbers(ALL_LINKS);

    private final ZooKeeperServers servers;
    private final FreeNumbers.Taken links = NUMBERS.begin();

    ZooKeeperInfrastructure(ZooKeeperServers servers) {
        this.servers = servers;
    }

    /**
     * A lone server is named twice: ZooKeeper's client waits a second before it tries the same address again, beside
     * the up to one second that it always waits.
     */
    static String uri(String addresses) {
        var twice = addresses.contains(",") ? addresses : addresses + ',' + addresses.replace("127.0.0.1", "127.1");
        return "zk://" + twice + "?tickTime=" + Duration.ofMillis(ZooKeeperServers.TICK_MILLIS);
    }

    @Override
    public String describe() {
        return "ZooKeeper on " + servers.servers().size() + " server(s)";
    }

    @Override
    public Map<Capability, String> lacks() {
        return Map.of(Capability.JOINT, "the server counts its tokens");
    }

    @Override
    public Duration lease() {
        return Duration.ofMillis(1_500);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(uri(servers.addresses()), config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var number = links.next();
        var link = servers.link(number);
        link.heal();
        return new Linked(Elections.connect(uri(servers.addresses(number)), config), link);
    }

    @Override
    public boolean queues() {
        return true;
    }

    @Override
    public Map<String, Long> leftovers() {
        var leader = servers.leader();
        return Map.of(
                "nodes", leader.figure("zk_znode_count"),
                "ephemerals", leader.figure("zk_ephemerals_count"),
                "sessions", leader.figure("zk_global_sessions"),
                "watches", sum("zk_watch_count"),
                "connections", sum("zk_num_alive_connections"));
    }

    private long sum(String figure) {
        return servers.servers().stream()
                .mapToLong(server -> server.figure(figure))
                .sum();
    }

    @Override
    public void restartServer() {
        servers.servers().forEach(server -> {
            server.kill();
            server.start();
        });
    }

    @Override
    public void pauseServer() {
        servers.servers().forEach(ZooKeeperServer::pause);
    }

    @Override
    public void resumeServer() {
        servers.servers().forEach(ZooKeeperServer::resume);
    }

    @Override
    public void close() {
        links.close();
    }
}
