package dev.bellwether.sql;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.LinkedLeaseStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A database as the contract wants it. Confined to the thread of the test. */
class SqlInfrastructure implements Infrastructure {
    private final String name;
    private final String uri;
    private final List<FaultProxy> proxies = new ArrayList<>();

    SqlInfrastructure(String name, String uri) {
        this.name = name;
        this.uri = uri;
    }

    @Override
    public String describe() {
        return name;
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect(inAnotherTimeZone(uri), config);
    }

    /** Returns the address at which a session is in another time zone than those before it, where sessions have one. */
    String inAnotherTimeZone(String address) {
        return address;
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var link = LinkedLeaseStore.to((SqlLeaseStore) ConnectUri.parse(uri).connect());
        return new Linked(Elections.over(link, config), link);
    }

    @Override
    public Map<String, Long> leftovers() {
        return Map.of(
                "elections", count("SELECT count(*) FROM bellwether_election"),
                "candidates", count("SELECT count(*) FROM bellwether_election_candidate"));
    }

    final FaultProxy proxied(int port) {
        var proxy = FaultProxy.to("127.0.0.1", port);
        proxies.add(proxy);
        return proxy;
    }

    final long count(String sql) {
        return Sql.number(uri, sql);
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
    }
}
