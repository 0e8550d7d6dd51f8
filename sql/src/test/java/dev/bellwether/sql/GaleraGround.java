package dev.bellwether.sql;

import dev.bellwether.fixtures.GaleraServers;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Three nodes of Galera. Each candidate has a link to each, and prefers a node of its own. */
final class GaleraGround implements BenchEnvironment {
    private static final int PLACES = 3;

    private final GaleraServers servers = GaleraServers.start();
    private final List<List<FaultProxy>> links = IntStream.range(0, PLACES)
            .mapToObj(place -> servers.nodes().stream()
                    .map(node -> FaultProxy.to("127.0.0.1", node.port()))
                    .toList())
            .toList();

    @Override
    public String describe() {
        return "Galera";
    }

    @Override
    public int places() {
        return PLACES;
    }

    @Override
    public String uri(int place) {
        return IntStream.range(0, PLACES)
                .mapToObj(i -> "127.0.0.1:"
                        + links.get(place).get((place + i) % PLACES).port())
                .collect(Collectors.joining(",", "jdbc:mariadb:sequential://", "/bellwether?user=root"));
    }

    @Override
    public String operatorsUri() {
        return servers.nodes().get(0).uri();
    }

    @Override
    public List<FaultProxy> links(int place) {
        return links.get(place);
    }

    @Override
    public List<Server> servers() {
        return List.copyOf(servers.nodes());
    }

    /** None does; the operator's is as good as any. */
    @Override
    public Server leader() {
        return servers.nodes().get(0);
    }

    @Override
    public void close() {
        links.forEach(of -> of.forEach(FaultProxy::close));
        servers.close();
    }
}
