package dev.bellwether.sql;

import dev.bellwether.fixtures.DatabaseServer;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PgBouncer.Mode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.SteppedClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** A database of its own, with a link for each candidate. */
final class DatabaseGround implements BenchEnvironment, BenchEnvironment.Server {
    private final String what;
    private final DatabaseServer server;
    private final Runnable kill;
    private final Uri uri;
    private final Optional<Path> clock;
    private final boolean mayBlockAll;
    private final List<FaultProxy> links;
    private Duration back = Duration.ZERO;

    /** How the candidate at a place reaches the server by a port. */
    private interface Uri {
        String of(int place, int port);
    }

    private DatabaseGround(
            String what,
            DatabaseServer server,
            Runnable kill,
            Uri uri,
            int places,
            Optional<Path> clock,
            boolean mayBlockAll) {
        this.what = what;
        this.server = server;
        this.kill = kill;
        this.uri = uri;
        this.clock = clock;
        this.mayBlockAll = mayBlockAll;
        links = IntStream.range(0, places)
                .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
                .toList();
    }

    /** On PostgreSQL. */
    static DatabaseGround postgres(int places) {
        return postgres(places, PostgresServer.start(), Optional.empty());
    }

    /** The same, with a wall clock that can be set back, by libfaketime. */
    static DatabaseGround postgres(int places, Path folder, String libfaketime) {
        var clock = clock(folder);
        var server = PostgresServer.start();
        server.restart(SteppedClock.environmentOfServer(clock, libfaketime));
        return postgres(places, server, Optional.of(clock));
    }

    private static DatabaseGround postgres(int places, PostgresServer server, Optional<Path> clock) {
        return new DatabaseGround(
                "PostgreSQL", server, server::kill, (place, port) -> PostgresServer.uri(port), places, clock, false);
    }

    /** On PostgreSQL through PgBouncer. */
    static DatabaseGround pgBouncer(int places, Mode mode) {
        var server = new BouncedPostgres(mode);
        return new DatabaseGround(
                "PostgreSQL behind PgBouncer",
                server,
                server::kill,
                (place, port) -> PostgresServer.uri(port),
                places,
                Optional.empty(),
                false);
    }

    /**
     * On MariaDB or MySQL, with a wall clock that can be set back, by libfaketime; the candidates live in different
     * time zones.
     */
    static DatabaseGround mysqlFamily(Kind kind, int places, Path folder, String libfaketime) {
        var clock = clock(folder);
        var server = MysqlFamilyServer.start(kind, SteppedClock.environmentOfServer(clock, libfaketime));
        return new DatabaseGround(
                kind == Kind.MYSQL ? "MySQL" : "MariaDB",
                server,
                server::kill,
                (place, port) -> MysqlFamilyServer.uri(port) + "&connectTimeout=3000&sessionVariables=time_zone='"
                        + TimeZones.offsetOf(TimeZones.ALL.get(place)) + "'",
                places,
                Optional.of(clock),
                false);
    }

    /**
     * On a server of H2, which has no limit for a transaction whose client is silent: see docs/sql.md. It is stopped in
     * order, and not killed: H2 2.5.252 forgot what it had committed seconds before, though WRITE_DELAY was 0, so that
     * two processes were given one token (docs/evidence.md).
     */
    static DatabaseGround h2(int places, Path folder) {
        var server = new H2Server(folder);
        return new DatabaseGround(
                "H2", server, server::stop, (place, port) -> H2Server.uri(port), places, Optional.empty(), true);
    }

    private static Path clock(Path folder) {
        var clock = folder.resolve("clock");
        SteppedClock.set(clock, Duration.ZERO);
        return clock;
    }

    @Override
    public String describe() {
        return what;
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return uri.of(place, links.get(place).port());
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
    public boolean frozenMayBlockAll() {
        return mayBlockAll;
    }

    @Override
    public boolean vanishedMayBlockAll() {
        return mayBlockAll;
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
        kill.run();
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
