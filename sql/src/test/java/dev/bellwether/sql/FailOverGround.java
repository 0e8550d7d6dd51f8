package dev.bellwether.sql;

import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;

/**
 * A PostgreSQL with a synchronous standby. When it is killed, the standby takes over, and the dead one comes back as
 * the standby. Each candidate has a link to either.
 */
final class FailOverGround extends ServersGround implements BenchEnvironment.Server {
    private final PostgresPair pair;

    FailOverGround() {
        this(PostgresPair.start(true));
    }

    private FailOverGround(PostgresPair pair) {
        super("PostgreSQL with synchronous fail-over", List.of(), pair.ports(), PostgresPair::uri);
        this.pair = pair;
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
        pair.primary().pause();
    }

    @Override
    public void resume() {
        pair.primary().resume();
    }

    @Override
    public void kill() {
        pair.primary().kill();
    }

    @Override
    public void start() {
        pair.failOver();
        pair.rebuildStandby();
    }

    @Override
    public void close() {
        super.close();
        pair.close();
    }
}
