package dev.bellwether.sql;

import dev.bellwether.fixtures.GaleraServers;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.FaultProxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Three nodes of Galera. */
final class GaleraGround extends ServersGround {
    private final GaleraServers servers;

    GaleraGround() {
        this(GaleraServers.start());
    }

    private GaleraGround(GaleraServers servers) {
        super(
                "Galera",
                servers.nodes(),
                servers.nodes().stream().map(GaleraServers.Node::port).toList(),
                ports -> "jdbc:mariadb:sequential://" + hosts(ports) + "/bellwether?user=root");
        this.servers = servers;
    }

    /** A candidate prefers a node of its own. */
    @Override
    public List<FaultProxy> links(int place) {
        var links = new ArrayList<>(super.links(place));
        Collections.rotate(links, -place);
        return links;
    }

    /** None does; the operator's is as good as any. */
    @Override
    public Server leader() {
        return servers.nodes().get(0);
    }

    @Override
    public void close() {
        super.close();
        servers.close();
    }
}
