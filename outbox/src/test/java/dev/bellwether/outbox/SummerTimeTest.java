package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.outbox.OutboxAdmin.BlockedRecord;
import dev.bellwether.outbox.OutboxAdmin.Waits;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An hour is an hour, also when clocks are set forward or back in the time zone of the database's sessions. */
class SummerTimeTest {
    private static final long FORWARD = 1_711_846_800; // in seconds since 1970, in a zone like London's
    private static final long BACK = 1_729_990_800;
    private static final long HALF_AN_HOUR = 1_800;

    private enum Change {
        TO_SUMMER_TIME(FORWARD),
        TO_WINTER_TIME(BACK);

        private final long at;

        Change(long at) {
            this.at = at;
        }
    }

    /** Connections for which it is this time in that zone. */
    private static DataSource at(DataSource database, String zone, long seconds) {
        return with(database, "SET time_zone = '" + zone + "'", "SET timestamp = " + seconds);
    }

    private static DataSource in(DataSource database, String zone) {
        return with(database, "SET time_zone = '" + zone + "'");
    }

    /** Connections on which this has been said. */
    static DataSource with(DataSource database, String... statements) {
        return FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
            var result = FaultyDatabase.call(database, method, arguments);
            if (result instanceof Connection connection) {
                execute(connection, statements);
            }
            return result;
        });
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (var statement = connection.createStatement()) {
            for (var sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** Makes a time zone, since a server knows none unless somebody has told it. */
    private static String zone(DataSource database) throws SQLException {
        var name = Servers.fresh("zone");
        try (var connection = database.getConnection()) {
            execute(
                    connection,
                    "INSERT INTO mysql.time_zone (Use_leap_seconds) VALUES ('N')",
                    "SET @id = last_insert_id()",
                    "INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('" + name + "', @id)",
                    "INSERT INTO mysql.time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST,"
                            + " Abbreviation) VALUES (@id, 0, 0, 0, 'W'), (@id, 1, 3600, 1, 'S')",
                    "INSERT INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id)"
                            + " VALUES (@id, 0, 0), (@id, " + FORWARD + ", 1), (@id, " + BACK + ", 0)");
        }
        return name;
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void ageAndSilenceAreThoseOfAClockThatNobodySets(InboxTest.Database on) throws Exception {
        var database = on.source();
        var zone = zone(database);
        for (var change : Change.values()) {
            var table = OutboxTable.named(Servers.fresh("summer"));
            try (var before = at(database, zone, change.at - HALF_AN_HOUR).getConnection()) {
                OutboxSchema.create(before, table);
                Outbox.of(table).stash(before, List.of(Message.of("t", "k", "0")));
                var store = Store.of(before, table);
                var epoch = store.acquire(before, new Store.Claim("x", 0, 1, "relay", true))
                        .epoch();
                store.report(before, 0, epoch, -1, 0, 0);
            }
            var after = at(database, zone, change.at + HALF_AN_HOUR);
            for (var state : List.of(
                    OutboxAdmin.of(after, table).state(),
                    OutboxAdmin.of(after, table).quickState())) {
                assertThat(state.oldest()).as("%s", change).isEqualTo(Duration.ofHours(1));
                assertThat(state.shards().get(0).silent()).as("%s", change).isEqualTo(Duration.ofHours(1));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void inboxForgetsWhatIsOldByAClockThatNobodySets(InboxTest.Database on) throws Exception {
        var database = on.source();
        var zone = zone(database);
        for (var change : Change.values()) {
            var inbox = Inbox.of("x").in(Servers.fresh("inbox"));
            try (var before = at(database, zone, change.at - HALF_AN_HOUR).getConnection()) {
                inbox.create(before);
                before.setAutoCommit(false);
                inbox.once(before, "event", () -> {});
                before.commit();
            }
            var after = at(database, zone, change.at + HALF_AN_HOUR);
            assertThat(inbox.forget(after, Duration.ofMinutes(61)))
                    .as("%s", change)
                    .isZero();
            assertThat(inbox.forget(after, Duration.ofMinutes(59)))
                    .as("%s", change)
                    .isOne();
        }
    }

    /** Sessions may be of another zone than this process: a server is set to UTC, and an operator sits in Berlin. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void whenSomethingWasIsToldAlikeInEveryZone(InboxTest.Database on) throws Exception {
        var table = OutboxTable.named(Servers.fresh("zones"));
        var began = Instant.now();
        var blocked = new BlockedRecord(0, 1, "t", Waits.KEY, Instant.parse("2026-03-29T02:30:00.123Z"), "too large");
        try (var connection = in(on.source(), "+05:00").getConnection()) {
            OutboxSchema.create(connection, table);
            var store = Store.of(connection, table);
            var epoch = store.acquire(connection, new Store.Claim("x", 0, 1, "relay", true))
                    .epoch();
            store.writeBlocked(connection, 0, epoch, List.of(blocked));
            execute(
                    connection,
                    "INSERT INTO " + table.parked() + " (id, event_id, topic, reason) VALUES (2, uuid(), 't', 'r')");
        }
        var admin = OutboxAdmin.of(in(on.source(), "-08:00"), table);
        var shard = admin.state().shards().get(0);
        assertThat(List.of(shard.since(), shard.seen(), admin.parked(1).get(0).parked()))
                .allSatisfy(time -> assertThat(time).isBetween(began.minusSeconds(60), began.plusSeconds(600)));
        assertThat(admin.blocked(1)).containsExactly(blocked);
    }
}
