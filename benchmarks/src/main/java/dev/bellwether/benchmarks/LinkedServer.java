package dev.bellwether.benchmarks.sql;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.Ground;
import java.util.List;
import java.util.stream.Stream;

/** The server lives; the ways to it need not. */
final class LinkedServer implements Ground {
    private final dev.bellwether.benchmarks.sql.Server server; // not one of the ground's
    private final List<FaultProxy> links;

    LinkedServer(dev.bellwether.benchmarks.sql.Server server, int places) {
        this.server = server;
        links = Stream.generate(() -> FaultProxy.to("127.0.0.1", server.port()))
                .limit(places)
                .toList();
    }

    @Override
    public String describe() {
        return "PostgreSQL";
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return uriOf(links.get(place).port());
    }

    @Override
    public String operatorsUri() {
        return uriOf(server.port());
    }

    /** Without time-outs of the driver: each has those of its own. */
    private static String uriOf(int port) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    @Override
    public List<FaultProxy> links(int place) {
        return List.of(links.get(place));
    }

    @Override
    public void close() {
        links.forEach(FaultProxy::close);
    }
}
