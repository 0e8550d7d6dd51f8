package dev.bellwether.sql;

import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A PostgreSQL with a synchronous standby. When it is killed, the standby takes over, and the dead one comes back as
 * the standby. Each candidate has a link to either.
 */
final class FailOverGround implements BenchEnvironment, BenchEnvironment.Server {
    private final PostgresPair pair = PostgresPair.start(true);
    private final List<List<FaultProxy>> links;

    FailOverGround(int places) {
        links = IntStream.range(0, places)
                .mapToObj(place -> pair.ports().stream()
                        .map(port -> FaultProxy.to("127.0.0.1", port))
                        .toList())
                .toList();
    }

    @Override
    public String describe() {
        return "PostgreSQL with synchronous fail-over";
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return PostgresPair.uri(links.get(place).stream().map(FaultProxy::port).toList());
    }

    @Override
    public String operatorsUri() {
        return PostgresPair.uri(pair.ports());
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
        links.forEach(of -> of.forEach(FaultProxy::close));
        pair.close();
    }
}
