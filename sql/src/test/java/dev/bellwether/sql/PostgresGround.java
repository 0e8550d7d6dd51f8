package dev.bellwether.sql;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.Ground;
import dev.bellwether.testkit.faults.SteppedClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** A PostgreSQL of its own, with a link for each candidate. */
final class PostgresGround implements Ground, Ground.Server {
    private final PostgresServer server = PostgresServer.start();
    private final Optional<Path> clock;
    private final List<FaultProxy> links;
    private Duration back = Duration.ZERO;

    PostgresGround(int places) {
        this(places, Optional.empty());
    }

    /** Gives the server a wall clock that can be set back, by libfaketime. */
    static PostgresGround withClock(int places, Path folder, String libfaketime) {
        var ground = new PostgresGround(places, Optional.of(folder.resolve("clock")));
        SteppedClock.set(folder.resolve("clock"), Duration.ZERO);
        ground.server.restart(SteppedClock.environmentOfServer(folder.resolve("clock"), libfaketime));
        return ground;
    }

    private PostgresGround(int places, Optional<Path> clock) {
        this.clock = clock;
        links = IntStream.range(0, places)
                .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
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
        return PostgresServer.uri(links.get(place).port());
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

    @Override
    public String name() {
        return "the database";
    }

    @Override
    public boolean hasClock() {
        return clock.isPresent();
    }

    @Override
    public void setBack(Duration by) {
        back = back.plus(by);
        SteppedClock.set(clock.orElseThrow(), back.negated());
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
        server.kill();
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
