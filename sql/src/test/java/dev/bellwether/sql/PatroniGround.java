package dev.bellwether.sql;

import dev.bellwether.fixtures.PatroniServers;
import dev.bellwether.fixtures.PatroniServers.Member;
import dev.bellwether.fixtures.PatroniServers.Replication;
import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;

/**
 * Three PostgreSQL under Patroni, synchronous and strict. When the primary is killed, Patroni has a standby take over,
 * and makes a standby of the dead one. Each candidate has a link to each.
 */
final class PatroniGround extends ServersGround implements BenchEnvironment.Server {
    private final PatroniServers servers;
    private Member victim;

    PatroniGround() {
        this(PatroniServers.start(3, Replication.STRICT));
    }

    private PatroniGround(PatroniServers servers) {
        super(
                "PostgreSQL under Patroni, synchronous",
                List.of(),
                servers.members().stream().map(Member::port).toList(),
                PostgresPair::uri);
        this.servers = servers;
        victim = servers.primary();
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
        super.close();
        servers.close();
    }
}
