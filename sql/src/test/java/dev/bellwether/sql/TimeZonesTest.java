package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.testkit.Eventually;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The clock of a database is one, in whatever time zone a session is, and at the changes to and from summer time. */
class TimeZonesTest {
    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final long TOLERANCE_MICROS = Duration.ofMinutes(1).toNanos() / 1_000;

    @TempDir
    private static Path folder;

    private final String election = "zones-" + UUID.randomUUID();

    static Stream<String> databases() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri(),
                "jdbc:h2:mem:zones;DB_CLOSE_DELAY=-1",
                "jdbc:sqlite:" + folder.resolve("zones.db"));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void sessionsInDifferentTimeZonesReadOneClock(String uri) throws SQLException {
        var clocks = new ArrayList<Long>();
        for (var zone : TimeZones.ALL) {
            try (var connection = connect(uri, zone)) {
                clocks.add(clock(connection));
            }
        }
        assertThat(spread(clocks))
                .as("microseconds between the first and the last")
                .isBetween(0L, TOLERANCE_MICROS);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aSeatThatIsHeldIsRefusedInEveryTimeZone(String uri) throws SQLException {
        ConnectUri.parse(uri).connect().close(); // the tables
        try (var here = connect(uri, "UTC")) {
            assertThat(verdict(here, "first")).isEqualTo(SeatTable.Verdict.GRANTED);
        }
        for (var zone : TimeZones.ALL) {
            try (var there = connect(uri, zone)) {
                assertThat(verdict(there, zone)).as(zone).isEqualTo(SeatTable.Verdict.REFUSED);
            }
        }
    }

    @Test
    void processesInDifferentTimeZonesShareAServerOfH2() throws Exception {
        var lease = Duration.ofSeconds(5);
        try (var server = new H2Server(folder);
                var elections = Elections.connect(server.uri() + ";TIME ZONE=UTC");
                var leader = elections.stand(election, CandidacyConfig.ofLease(lease))) {
            assertThat(leader.await(Duration.ofSeconds(60))).isPresent();
            try (var child = ChildMain.stand(server.uri(), election, lease, Map.of("TZ", "Asia/Kolkata"))) {
                child.await("stands");
                Eventually.throughout(
                        "it waits",
                        lease.plusSeconds(1),
                        () -> child.heard("leads ").isEmpty());
            }
        }
    }

    /** In one child's world it is the day before the clocks of Berlin are changed, in the other's the day after. */
    @Test
    void aChangeToSummerTimeDoesNotMoveTheClock() {
        var uris = List.of("jdbc:h2:mem:summer;DB_CLOSE_DELAY=-1", "jdbc:sqlite:" + folder.resolve("summer.db"));
        var before = clocksIn("2027-03-27T12:00:00Z", "+01:00", uris);
        var after = clocksIn("2027-03-29T12:00:00Z", "+02:00", uris);
        for (var i = 0; i < uris.size(); i++) {
            assertThat(Math.abs(after.get(i) - before.get(i)))
                    .as("ms by which " + uris.get(i) + " has moved against UTC")
                    .isLessThan(TOLERANCE_MICROS / 1_000);
        }
    }

    /** Returns by how many milliseconds the clocks of databases are ahead of the child's, which goes by UTC. */
    private static List<Long> clocksIn(String instant, String offset, List<String> uris) {
        var ahead = Duration.between(Instant.now(), Instant.parse(instant)).toSeconds();
        try (var child = ChildProcess.start(
                Map.of(
                        "TZ",
                        "Europe/Berlin",
                        "LD_PRELOAD",
                        Scripts.where("libfaketime"),
                        "FAKETIME",
                        "+" + ahead,
                        "DONT_FAKE_MONOTONIC",
                        "1",
                        "FAKETIME_FORCE_MONOTONIC_FIX",
                        "0"),
                ClockMain.class,
                uris.toArray(String[]::new))) {
            assertThat(child.await("offset ")).isEqualTo(offset);
            return uris.stream()
                    .map(uri -> Long.parseLong(child.await(uri + " is ahead by ms: ")))
                    .toList();
        }
    }

    private SeatTable.Verdict verdict(Connection connection, String candidate) throws SQLException {
        var claim = new Claim(election, candidate, UUID.randomUUID().toString(), LEASE, LEASE, 0, Map.of());
        return seats(connection)
                .acquire(connection, List.of(claim), Set.of())
                .of(election)
                .verdict();
    }

    private static SeatTable seats(Connection connection) throws SQLException {
        var dialect = Dialect.of(connection);
        return dialect == Dialect.POSTGRESQL
                ? new PostgresSeats(SqlConfig.defaults(), "bellwether_0", "nobody")
                : new SeatTable(dialect, SqlConfig.defaults());
    }

    private static Connection connect(String uri, String zone) throws SQLException {
        var connection = DriverManager.getConnection(uri);
        for (var sql : TimeZones.statement(Dialect.of(connection), zone)) {
            try (var statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
        return connection;
    }

    private static long clock(Connection connection) throws SQLException {
        return number(connection, "SELECT " + Dialect.of(connection).now());
    }

    private static long spread(List<Long> clocks) {
        var statistics = clocks.stream().flatMapToLong(LongStream::of).summaryStatistics();
        return statistics.getMax() - statistics.getMin();
    }
}
