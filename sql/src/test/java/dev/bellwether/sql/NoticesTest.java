package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.View;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Notices on PostgreSQL: forged ones, malformed ones, and those that do not arrive. */
class NoticesTest {
    private static final Duration LEASE = Duration.ofSeconds(5);
    private static final Duration LONG = Duration.ofMinutes(10);
    /** Longer than the minute for which a listener polls once statements had to wait for a connection. */
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final PostgresServer server = PostgresServer.shared();
    private final String election = "notices-" + UUID.randomUUID();
    private final String table =
            "n" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);
    private final String uri = server.uri() + "&bellwether.table=" + table;
    private final Set<String> others = new TreeSet<>(); // who listened before this test

    /** Who may connect, and nothing else. */
    @BeforeEach
    void aStranger() throws SQLException {
        execute("CREATE ROLE stranger_" + table + " LOGIN");
        others.addAll(listeners());
    }

    @AfterEach
    void goesAway() throws SQLException {
        execute("DROP ROLE stranger_" + table);
    }

    @Test
    void forgedNoticesNeitherEndAnElectionNorDeposeItsLeader() throws Exception {
        try (var auditor = new LeadershipAuditor();
                var elections = Elections.connect(uri);
                var others = Elections.connect(uri);
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            auditor.audit(leader);
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var standby = others.stand(election, CandidacyConfig.ofLease(LEASE));
                    var stranger = stranger()) {
                auditor.audit(standby);
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                var channels = awaitChannels(2);
                var until = System.nanoTime() + LEASE.toNanos();
                while (System.nanoTime() - until < 0) {
                    for (var forged : forgeries(mandate.token())) {
                        for (var channel : channels) {
                            notify(stranger, channel, forged);
                        }
                    }
                    assertThat(mandate.isValid()).as("the leader's mandate").isTrue();
                    assertThat(standby.isLeader()).isFalse();
                    assertThat(standby.status().phase()).isNotEqualTo(dev.bellwether.Phase.CLOSED);
                    Eventually.throughout("a while", LEASE.dividedBy(20), () -> true);
                }
                leader.resign();
                assertThat(standby.await(PATIENCE).orElseThrow().token()).isEqualTo(mandate.token() + 1);
            }
        }
    }

    @Test
    void aForgedExtensionDoesNotPutTheStandbysToSleep() throws Exception {
        var lease = Duration.ofSeconds(2);
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var cut = Elections.connect(PostgresServer.uri(link.port()) + "&bellwether.table=" + table);
                var others = Elections.connect(uri)) {
            var leader = cut.stand(election, CandidacyConfig.ofLease(lease));
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var standby = others.stand(election, CandidacyConfig.ofLease(lease));
                    var stranger = stranger()) {
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                var channels = awaitChannels(2);
                link.cut();
                var until = System.nanoTime() + PATIENCE.toNanos();
                while (!standby.isLeader() && System.nanoTime() - until < 0) {
                    for (var channel : channels) {
                        notify(stranger, channel, notice(mandate.token(), "leader", "n-1", LONG, false, false, 0));
                        notify(stranger, channel, notice(mandate.token(), held(), nonce(), LONG, false, false, 0));
                        notify(stranger, channel, notice(mandate.token() + 5, "nobody", "n-2", LONG, false, false, 0));
                    }
                    Eventually.throughout("a while", lease.dividedBy(20), () -> true);
                }
                assertThat(standby.isLeader()).isTrue(); // not after ten minutes
                link.heal();
                leader.close();
            }
        }
    }

    @Test
    void malformedNoticesBreakNoConnection() throws Exception {
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect();
                var other = (LeaseStore) ConnectUri.parse(uri).connect();
                var stranger = stranger()) {
            var told = new LinkedBlockingQueue<View>();
            try (var watch = store.watch(election, told::add)) {
                assertThat(watch).isNotNull();
                var channels = awaitChannels(1);
                awaitListening(store, other, told);
                var before = listeners();
                var random = new Random(1);
                for (var i = 0; i < 200; i++) {
                    for (var channel : channels) {
                        notify(stranger, channel, malformed(random));
                    }
                }
                var claim = claim("first");
                assertThat(other.acquire(claim).toCompletableFuture().join().granted())
                        .isTrue();
                Eventually.eventually(
                        "it is told", PATIENCE, () -> told.stream().anyMatch(view -> view.heldUnder(claim.nonce())));
                assertThat(listeners()).as("the listening connections").isEqualTo(before);
            }
        }
    }

    @Test
    void anErrorOfOneThatIsToldDoesNotEndTheListening() throws Exception {
        try (var store = (LeaseStore) ConnectUri.parse(uri).connect();
                var other = (LeaseStore) ConnectUri.parse(uri).connect()) {
            var told = new LinkedBlockingQueue<View>();
            try (var bad = store.watch(election, view -> {
                        throw new OutOfMemoryError("pretended");
                    });
                    var good = store.watch(election, told::add)) {
                assertThat(bad).isNotSameAs(good);
                awaitChannels(1);
                for (var i = 0; i < 3; i++) {
                    var claim = claim("c" + i);
                    assertThat(other.acquire(claim).toCompletableFuture().join().granted())
                            .isTrue();
                    Eventually.eventually(
                            "it is told",
                            PATIENCE,
                            () -> told.stream().anyMatch(view -> view.heldUnder(claim.nonce())));
                    other.release(claim).toCompletableFuture().join();
                }
            }
        }
    }

    @Test
    void aListeningConnectionThatDiedSilentlyIsNoticed() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var elections = SqlElections.using(
                        new SplitDataSource(server.uri(), PostgresServer.uri(link.port())),
                        SqlConfig.builder().table(table).build(),
                        dev.bellwether.ElectionsConfig.defaults());
                var others = Elections.connect(uri);
                var leader = others.stand(election, CandidacyConfig.ofLease(LEASE))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                var before = Eventually.eventually(
                        "two listen", PATIENCE, () -> Optional.of(listeners()).filter(two -> two.size() == 2));
                link.abandon(); // what is connected; who connects from now on gets through
                Eventually.eventually("it listens again", PATIENCE, () -> !before.containsAll(listeners()));
                assertThat(standby.status().phase()).isEqualTo(dev.bellwether.Phase.STANDING_BY);
                assertThat(leader.isLeader()).isTrue();
            }
        }
    }

    @Test
    void whatWasMissedWhileNobodyListenedIsReadSoonHoweverRarelyOnePolls() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var elections = SqlElections.using(
                        new SplitDataSource(server.uri(), PostgresServer.uri(link.port())),
                        SqlConfig.builder()
                                .table(table)
                                .poll(Duration.ofDays(1))
                                .build(),
                        dev.bellwether.ElectionsConfig.defaults());
                var others = Elections.connect(uri);
                var leader = others.stand(election, CandidacyConfig.ofLease(LONG))) {
            assertThat(leader.await(PATIENCE)).isPresent();
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LONG))) {
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                awaitChannels(2);
                link.refuse();
                link.reset();
                Eventually.eventually(
                        "nobody listens there", PATIENCE, () -> listeners().size() == 1);
                leader.resign();
                link.heal();
                assertThat(standby.await(PATIENCE)).as("within " + LONG).isPresent();
            }
        }
    }

    /** A probe may be late by the machine's fault: only after three does the listener wait for a minute. */
    @Test
    void aProbeThatIsNotHeardIsSentAgainSoon() throws Exception {
        var config = new HikariConfig(); // to connect may take long, which is not to look as if there were no more
        config.setJdbcUrl(server.uri());
        config.setMaximumPoolSize(2);
        try (var pool = new HikariDataSource(config)) {
            var deaf = new DeafDataSource(new SplitDataSource(pool, server.uri()));
            try (var elections = SqlElections.using(
                            deaf, SqlConfig.builder().table(table).build(), dev.bellwether.ElectionsConfig.defaults());
                    var candidacy = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                assertThat(candidacy.await(PATIENCE)).isPresent();
                Eventually.eventually("it listens", PATIENCE, () -> deaf.listened() > 0);
                Eventually.eventually("it listens again and again", Duration.ofSeconds(55), () -> deaf.listened() == 3);
            }
        }
    }

    @Test
    void whoConnectedBeforeTheTableWasRestoredHearsOfWhoConnectedAfterwards() throws Exception {
        try (var before =
                (LeaseStore) ConnectUri.parse(uri + "&bellwether.poll=PT24H").connect()) {
            var told = new LinkedBlockingQueue<View>();
            try (var watch = before.watch(election, told::add)) {
                assertThat(watch).isNotNull();
                awaitChannels(1);
                awaitListening(before, before, told);
                for (var one : List.of(table, table + "_candidate")) {
                    execute("CREATE TABLE copy_of_" + one + " (LIKE " + one + " INCLUDING ALL)");
                    execute("INSERT INTO copy_of_" + one + " SELECT * FROM " + one);
                    execute("DROP TABLE " + one);
                    execute("ALTER TABLE copy_of_" + one + " RENAME TO " + one);
                }
                try (var after = (LeaseStore) ConnectUri.parse(uri).connect()) {
                    var claim = claim("second");
                    assertThat(after.acquire(claim).toCompletableFuture().join().granted())
                            .isTrue();
                    Eventually.eventually(
                            "it is told",
                            PATIENCE,
                            () -> told.stream().anyMatch(view -> view.heldUnder(claim.nonce())));
                }
            }
        }
    }

    @Test
    void whoWatchesAStoreThatIsClosedStartsNoThread() throws Exception {
        var store = (LeaseStore) ConnectUri.parse(uri).connect();
        store.close();
        var before = threads();
        store.watch(election, view -> {});
        assertThat(threads()).isEqualTo(before);
        assertThat(listeners()).isEmpty();
    }

    // ---------------------------------------------------------------- notices

    private List<String> forgeries(long token) {
        return List.of(
                notice(token, "leader", "n-1", LEASE, false, true, 0), // ended
                notice(token, "leader", "n-1", LEASE, false, false, 7), // deleted
                notice(token + 1_000, "nobody", "n-2", LEASE, false, false, 0), // replaced
                notice(token, "", "", Duration.ZERO, false, true, 0), // vacant and ended
                notice(token, "", "", Duration.ZERO, false, false, 0), // vacant
                notice(token, "leader", "n-1", LONG, false, false, 0),
                notice(Long.MAX_VALUE, "nobody", "n-3", LONG, true, true, Long.MAX_VALUE));
    }

    private String notice(
            long token,
            String candidate,
            String nonce,
            Duration remaining,
            boolean standDown,
            boolean ended,
            long era) {
        var micros = remaining.toNanos() / 1_000;
        return String.join(
                "\n",
                "a" + "0".repeat(32),
                election,
                Long.toString(token),
                candidate,
                nonce,
                "0",
                "",
                "0",
                Long.toString(micros),
                Long.toString(micros),
                standDown ? "1" : "0",
                ended ? "1" : "0",
                Long.toString(era),
                "1",
                Integer.toString(Integer.MIN_VALUE));
    }

    /** A notice of which some fields are not what they should be. */
    private String malformed(Random random) {
        var fields = new ArrayList<>(
                List.of(notice(1, "leader", "n-1", LEASE, false, false, 0).split("\n", -1)));
        var palette = List.of("", "x", "-", "9".repeat(30), "%", "a=%ZZ", "noequals", "\u0001", "0x7", "1.5");
        for (var i = 0; i <= random.nextInt(4); i++) {
            var field = random.nextInt(fields.size());
            if (field != 1 || random.nextBoolean()) {
                fields.set(field, palette.get(random.nextInt(palette.size())));
            }
        }
        if (random.nextInt(5) == 0) {
            fields.remove(random.nextInt(fields.size()));
        }
        return String.join("\n", fields);
    }

    private static void notify(Connection connection, String channel, String payload) throws SQLException {
        try (var statement = connection.prepareStatement("SELECT pg_notify(?, ?)")) {
            statement.setString(1, channel);
            statement.setString(2, payload);
            statement.execute();
        }
    }

    private Connection stranger() throws SQLException {
        return DriverManager.getConnection(server.uri().replace("user=postgres", "user=stranger_" + table));
    }

    /** What whoever listens can know of the holder. */
    private String held() {
        return list("SELECT candidate FROM " + table).get(0);
    }

    private String nonce() {
        return list("SELECT nonce FROM " + table).get(0);
    }

    // ---------------------------------------------------------------- who listens

    private List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("bellwether-sql-listen"))
                .sorted((a, b) -> a.getName().compareTo(b.getName()))
                .toList();
    }

    /** Returns the channels that somebody listens to, once as many connections do. */
    private Set<String> awaitChannels(int connections) {
        Eventually.eventually(
                connections + " listen", PATIENCE, () -> listeners().size() >= connections);
        return new TreeSet<>(list("SELECT substring(query FROM 'LISTEN (.*)') FROM pg_stat_activity WHERE pid IN ("
                + String.join(", ", listeners()) + ")"));
    }

    private Set<String> listeners() {
        var now = new TreeSet<>(
                list("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN bellwether%' AND state = 'idle'"));
        now.removeAll(others);
        return now;
    }

    /** Returns when announcements by the other reach the first. */
    private void awaitListening(LeaseStore store, LeaseStore other, LinkedBlockingQueue<View> told) {
        IntStream.range(0, 2).forEach(i -> {
            var claim = claim("warm-up" + i);
            other.acquire(claim).toCompletableFuture().join();
            Eventually.eventually(
                    store + " is told", PATIENCE, () -> told.stream().anyMatch(view -> view.heldUnder(claim.nonce())));
            other.release(claim).toCompletableFuture().join();
        });
    }

    private List<String> list(String sql) {
        var all = new ArrayList<String>();
        try (var connection = server.connect();
                var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            while (result.next()) {
                all.add(result.getString(1));
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return all;
    }

    private Claim claim(String candidate) {
        return new Claim(election, candidate, UUID.randomUUID().toString(), LONG, LONG, 0, Map.of());
    }

    private void execute(String sql) throws SQLException {
        Sql.execute(server.uri(), sql);
    }
}
