package dev.bellwether.sql;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.Ground;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A server of H2 of its own, with a link for each candidate. It is stopped in order, and not killed: H2 2.5.252 forgot what it had
 * committed seconds before, though WRITE_DELAY was 0, so that two processes were given one token (docs/evidence.md).
 */
final class H2Ground implements Ground, Ground.Server {
    private final H2Server server;
    private final List<FaultProxy> links;

    H2Ground(int places, Path folder) {
        server = new H2Server(folder);
        links = IntStream.range(0, places)
                .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
                .toList();
    }

    @Override
    public String describe() {
        return "H2";
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return H2Server.uri(links.get(place).port());
    }

    @Override
    public String operatorsUri() {
        return server.uri();
    }

    @Override
    public List<FaultProxy> links(int place) {
        return List.of(links.get(place));
    }

    @Override
    public List<Server> servers() {
        return List.of(this);
    }

    /** H2 has no limit for a transaction whose client is silent: see docs/sql.md. */
    @Override
    public boolean frozenMayBlockAll() {
        return true;
    }

    @Override
    public boolean vanishedMayBlockAll() {
        return true;
    }

    @Override
    public String name() {
        return "the database";
    }

    @Override
    public void pause() {
        server.pause();
    }

    @Override
    public void resume() {
        server.resume();
    }

    @Override
    public void kill() {
        server.stop();
    }

    @Override
    public void start() {
        server.startAgain();
    }

    @Override
    public void close() {
        links.forEach(FaultProxy::close);
        server.close();
    }
}
