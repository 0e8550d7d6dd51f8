package dev.bellwether.testkit.zookeeper;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Servers of ZooKeeper as the ground of a fault bench, with so many places as they have links.
 *
 * @param uri what contestants connect to, from the addresses of the servers
 */
public record ZooKeeperGround(ZooKeeperServers all, int places, UnaryOperator<String> uri) implements BenchEnvironment {

    @Override
    public String describe() {
        return "ZooKeeper on " + all.servers().size() + " servers";
    }

    @Override
    public String uri(int place) {
        return uri.apply(all.addresses(place));
    }

    @Override
    public String operatorsUri() {
        return uri.apply(all.addresses());
    }

    @Override
    public List<FaultProxy> links(int place) {
        return all.servers().stream().map(server -> server.link(place)).toList();
    }

    @Override
    public List<Server> servers() {
        return List.copyOf(all.servers());
    }

    @Override
    public Server leader() {
        return all.leader();
    }
}
