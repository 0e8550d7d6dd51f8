package dev.bellwether.sql;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.Ground;
import dev.bellwether.testkit.faults.SteppedClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** A MariaDB of its own, with a link for each candidate. */
final class MariaDbGround implements Ground, Ground.Server {
    private final MysqlFamilyServer server;
    private final Path clock;
    private final List<FaultProxy> links;
    private Duration back = Duration.ZERO;

    /** Gives the server a wall clock that can be set back, by libfaketime. */
    MariaDbGround(int places, Path folder, String libfaketime) {
        clock = folder.resolve("clock");
        SteppedClock.set(clock, Duration.ZERO);
        server = MysqlFamilyServer.start(Kind.MARIADB_PLAIN, SteppedClock.environmentOfServer(clock, libfaketime));
        links = IntStream.range(0, places)
                .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
                .toList();
    }

    @Override
    public String describe() {
        return "MariaDB";
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return MysqlFamilyServer.uri(links.get(place).port()) + "&connectTimeout=3000&sessionVariables=time_zone='"
                + TimeZones.offsetOf(TimeZones.ALL.get(place)) + "'";
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
        return true;
    }

    @Override
    public void setBack(Duration by) {
        back = back.plus(by);
        SteppedClock.set(clock, back.negated());
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
