package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link.Way;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What consumers read while applications of all kinds write and the database is taken away from two relays, one of
 * which leads: rights are withdrawn and given back, the server is frozen, the network is cut. Seconds by default;
 * {@code -Dbellwether.load.seconds=600} for ten minutes on each database, {@code -Dbellwether.load.seed} for the same
 * faults again.
 */
class RelayUnderLoadTest {
    private static final Duration TIME = Duration.ofSeconds(Long.getLong("bellwether.load.seconds", 12));

    /** After so many a relay must have noticed one. */
    private static final int MOST_FAULTS = 30;

    private static final int WRITERS = 8;

    /** A database that can be taken away. */
    private interface Victim {
        int port();

        /** Returns how relays reach it by a port, and that of the server for all others if the port is 0. */
        String uri(int port, String user);

        void pause();

        void resume();

        /** Returns the statements that let a new user serve a table. */
        List<String> welcome(String user, OutboxTable table);

        String user(String user);
    }

    private static Victim postgres() {
        var server = PostgresServer.shared();
        return new Victim() {
            @Override
            public int port() {
                return server.port();
            }

            @Override
            public String uri(int port, String user) {
                return PostgresServer.uri(port).replace("user=postgres", "user=" + user);
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
            public List<String> welcome(String user, OutboxTable table) {
                return List.of("CREATE ROLE " + user + " LOGIN");
            }

            @Override
            public String user(String user) {
                return user;
            }
        };
    }

    private static Victim mysql(Kind kind) {
        var server = MysqlFamilyServer.shared(kind);
        return new Victim() {
            @Override
            public int port() {
                return server.port();
            }

            @Override
            public String uri(int port, String user) {
                return MysqlFamilyServer.uri(port).replace("user=root", "user=" + user);
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
            public List<String> welcome(String user, OutboxTable table) {
                var create = "CREATE USER " + user(user);
                return kind == Kind.MYSQL
                        ? List.of(
                                create,
                                "GRANT XA_RECOVER_ADMIN ON *.* TO " + user(user),
                                "GRANT SELECT ON performance_schema.metadata_locks TO " + user(user))
                        : List.of(create);
            }

            @Override
            public String user(String user) {
                return "'" + user + "'@'%'";
            }
        };
    }

    @Test
    void postgresIsRelayedInOrderWhateverIsTakenAway() throws Exception {
        inOrder(postgres(), "postgres", OutboxForm.PLAIN);
    }

    @Test
    void rotatedTableIsRelayedInOrderWhateverIsTakenAway() throws Exception {
        inOrder(postgres(), "postgres", OutboxForm.ROTATED);
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"MARIADB", "MYSQL"})
    void mysqlAndMariaDbAreRelayedInOrderWhateverIsTakenAway(Kind kind) throws Exception {
        inOrder(mysql(kind), "root", OutboxForm.PLAIN);
    }

    private static boolean hasFaulted(RelayStage stage) {
        return stage.events.stream().anyMatch(RelayEvent.Faulted.class::isInstance);
    }

    private static void inOrder(Victim victim, String owner, OutboxForm form) throws Exception {
        var seed = Long.getLong("bellwether.load.seed", System.nanoTime() & 0xffff_ffffL);
        var random = new Random(seed);
        var links = new ArrayList<FaultProxy>();
        try (var stage = new RelayStage(Servers.dataSource(victim.uri(victim.port(), owner)), form);
                var one = FaultProxy.to("127.0.0.1", victim.port());
                var other = FaultProxy.to("127.0.0.1", victim.port());
                var committed = stage.reader(true);
                var uncommitted = stage.reader(false);
                var writers = new MixedWriters(stage.database, stage.table, stage.topic, 40, seed)) {
            links.addAll(List.of(one, other));
            var user = "r" + stage.name;
            user = user.substring(0, Math.min(30, user.length()));
            for (var sql : victim.welcome(user, stage.table)) {
                stage.execute(sql);
            }
            var rights = new Rights(stage, victim.user(user), form);
            rights.giveAll();
            var relays = new ArrayList<OutboxRelay>();
            for (var link : links) {
                relays.add(stage.relay(
                        more -> more.candidate("relay-" + link.port())
                                .maxTransactionRecords(100)
                                .maxBackoff(Duration.ofMillis(200))
                                .databaseTimeout(Duration.ofMillis(700))
                                .standDownAfter(Duration.ofSeconds(1))
                                .lease(Duration.ofSeconds(4)),
                        Servers.dataSource(victim.uri(link.port(), user)),
                        KafkaProducer::new));
            }
            writers.begin(WRITERS);
            var faults = new ArrayList<String>();
            var until = System.nanoTime() + TIME.toNanos();
            while (System.nanoTime() - until < 0 || (faults.size() < MOST_FAULTS && !hasFaulted(stage))) {
                pause(random, 1_000);
                faults.add(fault(random, victim, links, rights));
                committed.poll();
                uncommitted.poll();
            }
            var written = writers.end();
            stage.awaitEmpty();
            check(written, seed, committed, uncommitted);
            if (form == OutboxForm.ROTATED) {
                var rows =
                        written.values().stream().mapToLong(Integer::longValue).sum();
                Eventually.eventually(
                        "parts are emptied while relays go on",
                        RelayStage.PATIENCE,
                        () -> stage.number("SELECT count(*) FROM " + stage.table.name()) < rows / 2);
            }
            assertThat(relays.stream().mapToLong(relay -> relay.stats().get(0).strays()))
                    .as("NEVER: rows found by the sweep only, with seed %s, after %s", seed, faults)
                    .containsOnly(0L);
            assertThat(hasFaulted(stage)).as("with seed %s: %s", seed, faults).isTrue();
            System.out.println(faults.size() + " faults, " + committed.ledger().records() + " records, "
                    + stage.events.stream()
                            .filter(RelayEvent.LeaderRefreshed.class::isInstance)
                            .count()
                    + " sessions, seed " + seed + ": " + faults);
        }
    }

    private static String fault(Random random, Victim victim, List<FaultProxy> links, Rights rights)
            throws SQLException {
        var link = links.get(random.nextInt(links.size()));
        IntFunction<String> name = kind -> List.of("frozen", "cut", "cut one way", "reset", "all cut", "no right")
                .get(kind);
        var kind = random.nextInt(6);
        switch (kind) {
            case 0 -> {
                victim.pause();
                pause(random, 2_000);
                victim.resume();
            }
            case 1, 2 -> {
                link.cut(kind == 1 ? Way.BOTH : List.of(Way.values()).get(random.nextInt(Way.values().length)));
                pause(random, 3_000);
                link.heal();
            }
            case 3 -> {
                link.refuse();
                link.reset();
                pause(random, 2_000);
                link.heal();
            }
            case 4 -> {
                links.forEach(each -> each.cut(Way.BOTH));
                pause(random, 1_500);
                links.forEach(FaultProxy::heal);
            }
            default -> {
                var right = rights.withdraw(random);
                pause(random, 2_000);
                rights.giveAll();
                return name.apply(kind) + " to " + right;
            }
        }
        return name.apply(kind);
    }

    private static void pause(Random random, int mostMillis) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100 + random.nextInt(mostMillis)));
    }

    /** What the relays' user may do. */
    private record Rights(RelayStage stage, String user, OutboxForm form) {
        void giveAll() throws SQLException {
            if (form == OutboxForm.ROTATED) {
                var rotated = new RotatedStore(stage.table, RelayStage.SMALL);
                stage.execute("GRANT SELECT, INSERT ON " + stage.table.done() + " TO " + user);
                for (var part = 0; part < RelayStage.SMALL.parts(); part++) {
                    stage.execute("GRANT SELECT, TRUNCATE ON " + rotated.part(part) + ", " + rotated.donePart(part)
                            + " TO " + user);
                }
            }
            for (var table : tables()) {
                stage.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO " + user);
            }
        }

        String withdraw(Random random) throws SQLException {
            var rotated = form == OutboxForm.ROTATED;
            var right =
                    List.of("SELECT", rotated ? "INSERT" : "DELETE", "UPDATE").get(random.nextInt(3));
            // rows are updated in the relays' own table alone
            var table = right.equals("UPDATE")
                    ? stage.table.relay()
                    : right.equals("INSERT") ? stage.table.done() : tables().get(random.nextInt(2));
            stage.execute("REVOKE " + right + " ON " + table + " FROM " + user);
            return right + " " + table;
        }

        private List<String> tables() {
            return List.of(stage.table.name(), stage.table.relay(), stage.table.parked());
        }
    }

    private static void check(Map<String, Integer> written, long seed, Reader... readers) {
        for (var reader : readers) {
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(written));
            assertThat(reader.faults(written))
                    .as("NEVER: out of order or lost, with seed %s", seed)
                    .isEmpty();
            assertThat(reader.deduped().faults(written))
                    .as("NEVER: out of order or lost for who drops event ids, with seed %s", seed)
                    .isEmpty();
            assertThat(reader.deduped().repeats()).isZero();
        }
    }
}
