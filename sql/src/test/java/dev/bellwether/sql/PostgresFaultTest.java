package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.number;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * What the contract cannot ask of every backend: a killed server, an empty pool, a frozen leader, clocks that disagree.
 */
class PostgresFaultTest {
    /** Half of it is left when a renewal is due: long against a stall of a busy machine. */
    private static final Duration LEASE = Duration.ofSeconds(5);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LONG = Duration.ofMinutes(2);
    private static final Duration HOUR = Duration.ofHours(1);

    private final PostgresServer server = PostgresServer.shared();
    private final String election = "fault-" + UUID.randomUUID();

    @Test
    void aServerThatIsKilledAndComesBackBeforeTheDeadlineCostsNothing() throws Exception {
        var lease = Duration.ofSeconds(20);
        try (var elections = Elections.connect(server.uri());
                var leader = elections.stand(election, CandidacyConfig.ofLease(lease));
                var standbys = Elections.connect(server.uri())) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var standby = standbys.stand(election, CandidacyConfig.ofLease(lease))) {
                server.crashAndRestart();
                var restarted = System.nanoTime();
                Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, restarted));
                assertThat(leader.mandate()).contains(mandate);
                assertThat(standby.isLeader()).isFalse();
                leader.resign(); // and what is announced arrives again
                assertThat(standby.await(lease.dividedBy(2)).orElseThrow().token())
                        .isGreaterThan(mandate.token());
            }
        }
    }

    @Test
    void anEmptyPoolCostsTheMandateOnlyIfItStaysEmptyUntilTheDeadline() throws Exception {
        var deaf = SqlConfig.builder().listen(false).build(); // one that listens would give up its connection
        try (var pool = pool(2);
                var elections = SqlElections.using(pool, deaf, ElectionsConfig.defaults());
                var auditor = new LeadershipAuditor();
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            auditor.audit(leader);
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var one = pool.getConnection();
                    var two = pool.getConnection()) {
                Eventually.eventually(
                        "half of the time is used up",
                        PATIENCE,
                        () -> mandate.remaining().compareTo(LEASE.dividedBy(2)) < 0);
                assertThat(one).isNotSameAs(two);
            }
            Eventually.eventually(
                    "the lease is extended", PATIENCE, () -> mandate.remaining().compareTo(LEASE.dividedBy(2)) > 0);
            assertThat(mandate.isValid()).isTrue();
            try (var one = pool.getConnection();
                    var two = pool.getConnection()) {
                Eventually.eventually("the mandate runs out", PATIENCE, () -> !mandate.isValid());
                assertThat(one).isNotSameAs(two);
            }
            assertThat(leader.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
            assertThat(leader.status().lastCause()).contains(Cause.UNREACHABLE);
        }
    }

    @Test
    void statementsThatNobodyWaitsForAnyMoreDoNotPileUpInTheServer() throws Exception {
        var table = "locked_" + UUID.randomUUID().toString().substring(0, 8);
        var waiting = "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::bigint"
                + " FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" + table + "%'";
        try (var elections = Elections.connect(server.uri() + "&bellwether.table=" + table);
                var leader = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(1)));
                var ours = server.connect();
                var looks = server.connect()) {
            assertThat(leader.await(PATIENCE)).isPresent();
            ours.setAutoCommit(false);
            try (var statement = ours.createStatement()) {
                statement.execute("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE");
            }
            var until = System.nanoTime() + Duration.ofSeconds(20).toNanos();
            while (System.nanoTime() - until < 0) {
                assertThat(number(looks, waiting))
                        .as("seconds for which a backend waits")
                        .isLessThan(10);
                Eventually.throughout("a while", Duration.ofMillis(200), () -> true);
            }
            ours.rollback();
            assertThat(leader.await(PATIENCE)).as("free again").isPresent();
        }
    }

    @Test
    void aRequestOfALongLeaseThatHangsHoldsUpTheOthersForSecondsAtMost() throws Exception {
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var store = (LeaseStore)
                        ConnectUri.parse(PostgresServer.uri(link.port())).connect()) {
            var term = Duration.ofMinutes(20);
            var claim = new Claim(election, "c", UUID.randomUUID().toString(), term, term, 0, Map.of());
            var token = store.acquire(claim).toCompletableFuture().join().view().token();
            link.abandon(); // what is connected; who connects from now on gets through
            var hangs = store.renew(List.of(new Lease(claim, token, term))).get(0);
            Eventually.eventually("another is answered", PATIENCE, () -> {
                try {
                    return store.read(election + "-other")
                            .toCompletableFuture()
                            .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                            .join()
                            .holder()
                            .isEmpty();
                } catch (CompletionException e) {
                    return false; // it was busy
                }
            });
            assertThat(hangs.toCompletableFuture()).isCompletedExceptionally();
        }
    }

    @Test
    void aPoolOfTheUsersGetsItsConnectionsBackAsTheyWere() throws Exception {
        try (var pool = pool(2)) {
            for (var i = 0; i < 3; i++) {
                try (var elections = SqlElections.using(pool);
                        var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                    assertThat(leader.await(PATIENCE)).isPresent();
                }
                Eventually.eventually(
                        "both are idle again",
                        PATIENCE,
                        () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            }
            try (var one = pool.getConnection();
                    var two = pool.getConnection()) {
                for (var connection : new Connection[] {one, two}) {
                    assertThat(connection.getAutoCommit()).isTrue();
                    assertThat(connection.getNetworkTimeout()).isZero();
                    try (var statement = connection.createStatement();
                            var listening = statement.executeQuery("SELECT pg_listening_channels()")) {
                        assertThat(listening.next()).isFalse();
                    }
                }
            }
        }
    }

    @Test
    void whatAPoolLendsWithoutCommittingByItselfIsCommittedAnyway() throws Exception {
        var config = new HikariConfig();
        config.setJdbcUrl(server.uri());
        config.setMaximumPoolSize(2);
        config.setAutoCommit(false);
        try (var pool = new HikariDataSource(config)) {
            try (var elections = SqlElections.using(pool);
                    var others = Elections.connect(server.uri());
                    var leader = elections.stand(election, CandidacyConfig.ofLease(LONG))) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                try (var standby = others.stand(election, CandidacyConfig.ofLease(LONG))) {
                    Eventually.eventually(
                            "the others see it",
                            PATIENCE,
                            () -> standby.status().following().equals(Optional.of(leader.candidate())));
                    leader.resign(); // of which they would hear after a lease only, were it not committed
                    assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
                }
            }
            try (var connection = pool.getConnection()) {
                assertThat(connection.getAutoCommit()).isFalse();
            }
        }
    }

    @Test
    void aLeaseCountsFromTheRequestNotFromTheBeginningOfATransaction() throws Exception {
        var term = Duration.ofMinutes(5);
        var seats = new PostgresSeats(SqlConfig.defaults(), "bellwether_0", "nobody");
        Elections.connect(server.uri()).close(); // the tables
        try (var connection = server.connect()) {
            var claim = new Claim(election, "c", UUID.randomUUID().toString(), term, term, 0, Map.of());
            assertThat(seats.acquire(connection, List.of(claim), Set.of())
                            .of(election)
                            .row()
                            .token())
                    .isEqualTo(1);
            connection.setAutoCommit(false);
            number(connection, "SELECT 1 FROM pg_sleep(0.01)"); // the transaction has begun
            var requested =
                    number(connection, "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)");
            assertThat(seats.renew(connection, List.of(new Lease(claim, 1, term)))
                            .of(election)
                            .verdict())
                    .isEqualTo(SeatTable.Verdict.GRANTED);
            assertThat(number(
                            connection,
                            "SELECT expires_at FROM bellwether_election WHERE election = '" + election + "'"))
                    .isGreaterThanOrEqualTo(requested + term.toMillis() * 1_000);
            connection.rollback();
        }
    }

    @Test
    void aLeaderFrozenForThreeLeasesHasLostAndItsGuardedTransactionFails() throws Exception {
        try (var child = ChildMain.stand(server.uri(), election, LEASE);
                var elections = Elections.connect(server.uri())) {
            var before = Long.parseLong(child.await("leads "));
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                child.freeze();
                var frozen = System.nanoTime();
                var mandate = standby.await(PATIENCE).orElseThrow();
                assertThat(mandate.token()).isGreaterThan(before);
                Eventually.eventually(
                        "three leases have passed",
                        PATIENCE,
                        () -> System.nanoTime() - frozen > LEASE.multipliedBy(3).toNanos());
                child.thaw();
                assertThat(child.await("frozen, then leads ")).isEqualTo("false, guard refused");
            }
        }
    }

    @Test
    void aLeaderWhoseClockIsAnHourAheadLeadsLikeAnyOther() throws Exception {
        try (var child = ChildMain.stand(server.uri(), election, LEASE, clockAheadBy(HOUR));
                var elections = Elections.connect(server.uri())) {
            assertThat(Long.parseLong(child.await("clock ")) - System.currentTimeMillis())
                    .isGreaterThan(HOUR.minusMinutes(5).toMillis());
            child.await("leads ");
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                Eventually.throughout("the standby waits", LEASE.plusSeconds(2), () -> !standby.isLeader());
                child.kill();
                assertThat(standby.await(PATIENCE)).isPresent(); // not after an hour
            }
        }
    }

    @Test
    void aStandbyWhoseClockIsAnHourAheadWaitsLikeAnyOther() throws Exception {
        try (var elections = Elections.connect(server.uri());
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var child = ChildMain.stand(server.uri(), election, LEASE, clockAheadBy(HOUR))) {
                child.await("stands");
                Eventually.throughout("it waits", LEASE.plusSeconds(2), mandate::isValid);
                assertThat(child.heard("leads ")).isEmpty();
                leader.resign();
                assertThat(Long.parseLong(child.await("leads "))).isGreaterThan(mandate.token());
            }
        }
    }

    @Test
    void aClockOfTheDatabaseThatWasSetBackDelaysTheSuccessorByALeaseAtMost() throws Exception {
        try (var child = ChildMain.stand(server.uri(), election, LEASE);
                var elections = Elections.connect(server.uri())) {
            var before = Long.parseLong(child.await("leads "));
            child.kill();
            execute("UPDATE bellwether_election SET expires_at = expires_at + 3600000000 WHERE election = '" + election
                    + "'"); // what a clock that was set back by an hour looks like
            try (var standby = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
                assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(before);
            }
        }
    }

    @Test
    void aDatabaseThatDoesNotDeliverWhatIsAnnouncedIsPolled() throws Exception {
        try (var pool = pool(4);
                var elections = SqlElections.using(new DeafDataSource(pool));
                var others = Elections.connect(server.uri());
                var leader = others.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(60)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (Candidacy standby = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(60)))) {
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                leader.resign();
                assertThat(standby.await(Duration.ofSeconds(20)).orElseThrow().token())
                        .isGreaterThan(mandate.token());
            }
        }
    }

    @Test
    void withoutListeningTheSeatPassesOnAtTheNextPoll() throws Exception {
        var config =
                SqlConfig.builder().listen(false).poll(Duration.ofMillis(100)).build();
        try (var pool = pool(2);
                var elections = SqlElections.using(pool, config, ElectionsConfig.defaults());
                var others = Elections.connect(server.uri());
                var leader = others.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(60)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(60)));
            assertThat(standby.await(Duration.ofMillis(300))).isEmpty();
            assertThat(pool.getHikariPoolMXBean().getTotalConnections()).isLessThanOrEqualTo(2);
            leader.resign();
            assertThat(standby.await(Duration.ofSeconds(20)).orElseThrow().token())
                    .isGreaterThan(mandate.token());
            standby.close();
        }
    }

    /** As on a disk that is stalled, or while a synchronous standby is away. */
    @Test
    void aClaimThatHangsInItsCommitIsReleasedInTheEndAndNotDeniedBefore() throws Exception {
        var table = "slow_" + UUID.randomUUID().toString().substring(0, 8);
        var key = table.hashCode();
        var lease = Duration.ofSeconds(3);
        try (var store = (LeaseStore) ConnectUri.parse(server.uri() + "&bellwether.table=" + table)
                        .connect();
                var gate = server.connect()) {
            execute("CREATE FUNCTION " + table + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN LOOP BEGIN"
                    + " PERFORM pg_advisory_xact_lock_shared(" + key + "); RETURN NULL;"
                    + " EXCEPTION WHEN query_canceled OR lock_not_available THEN NULL; END; END LOOP; END $$");
            execute("CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON " + table + " DEFERRABLE INITIALLY DEFERRED"
                    + " FOR EACH ROW WHEN (NEW.token > OLD.token) EXECUTE FUNCTION " + table + "()");
            gate.setAutoCommit(false);
            try (var statement = gate.createStatement()) {
                statement.execute("SELECT pg_advisory_xact_lock(" + key + ")");
            }
            var claim = new Claim(election, "c", UUID.randomUUID().toString(), lease, lease, 0, Map.of());
            assertThat(store.acquire(claim).toCompletableFuture()).failsWithin(PATIENCE);
            assertThat(store.release(claim).toCompletableFuture())
                    .as("it may be carried out yet")
                    .failsWithin(PATIENCE);
            gate.rollback();
            Eventually.eventually("it is carried out, and then released", PATIENCE, () -> {
                try {
                    return store.release(claim).toCompletableFuture().join().granted();
                } catch (CompletionException e) {
                    return false; // it hangs still
                }
            });
        }
    }

    private HikariDataSource pool(int size) {
        var config = new HikariConfig();
        config.setJdbcUrl(server.uri());
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(0);
        return new HikariDataSource(config);
    }

    private void execute(String sql) throws SQLException {
        Sql.execute(server.uri(), sql);
    }

    /** What fakes the wall clock of a JVM and nothing else. */
    private static Map<String, String> clockAheadBy(Duration offset) {
        return Map.of(
                "LD_PRELOAD",
                Scripts.where("libfaketime"),
                "FAKETIME",
                "+" + offset.toSeconds(),
                "DONT_FAKE_MONOTONIC",
                "1",
                "FAKETIME_FORCE_MONOTONIC_FIX",
                "0");
    }
}
