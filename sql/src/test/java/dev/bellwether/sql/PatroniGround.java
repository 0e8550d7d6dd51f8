package dev.bellwether.sql;

import dev.bellwether.fixtures.PatroniServers;
import dev.bellwether.fixtures.PatroniServers.Member;
import dev.bellwether.fixtures.PatroniServers.Replication;
import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Three PostgreSQL under Patroni, synchronous and strict. When the primary is killed, Patroni has a standby take over,
 * and makes a standby of the dead one. Each candidate has a link to each.
 */
final class PatroniGround implements BenchEnvironment, BenchEnvironment.Server {
    private static final int PLACES = 3;

    private final PatroniServers servers = PatroniServers.start(3, Replication.STRICT);
    private final List<List<FaultProxy>> links = IntStream.range(0, PLACES)
            .mapToObj(place -> servers.members().stream()
                    .map(member -> FaultProxy.to("127.0.0.1", member.port()))
                    .toList())
            .toList();
    private Member victim = servers.primary();

    @Override
    public String describe() {
        return "PostgreSQL under Patroni, synchronous";
    }

    @Override
    public int places() {
        return PLACES;
    }

    @Override
    public String uri(int place) {
        return PostgresPair.uri(links.get(place).stream().map(FaultProxy::port).toList());
    }

    @Override
    public String operatorsUri() {
        return servers.uri();
    }

    @Override
    public List<FaultProxy> links(int place) {
        return links.get(place);
    }

    @Override
    public List<Server> servers() {
        return List.of(this);
    }

    @Override
    public String name() {
        return "the primary";
    }

    @Override
    public void pause() {
        victim = servers.primary();
        victim.pause();
    }

    @Override
    public void resume() {
        victim.resume();
    }

    @Override
    public void kill() {
        victim = servers.primary();
        victim.killPostgres();
    }

    @Override
    public void start() {
        servers.primaryAfter(victim);
        servers.awaitReplication();
    }

    @Override
    public void close() {
        links.forEach(of -> of.forEach(FaultProxy::close));
        servers.close();
    }
}
