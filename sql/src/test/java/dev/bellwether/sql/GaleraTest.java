package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.GaleraServers;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What docs/sql.md says of Galera, on three nodes. */
@Tag("cluster")
@Timeout(300)
class GaleraTest {
    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final int ROUNDS = 200;

    @SuppressWarnings("NullAway.Init")
    private static GaleraServers servers;

    private final String election = "galera-" + UUID.randomUUID();

    @BeforeAll
    static void start() {
        servers = GaleraServers.start();
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @Test
    void theDoctorRefusesIt() {
        for (var node : servers.nodes()) {
            var found = Doctor.only(Doctor.find(node.uri(), CandidacyConfig.ofLease(LEASE)), "replication");
            assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(found.says()).contains("Galera", "guard", "two may lead");
        }
    }

    /** Three claim at once, each on its own node. */
    @Test
    void claimsOnDifferentNodesAreDecidedByTheClusterInOrder() {
        var stores = new ArrayList<LeaseStore>();
        try {
            servers.nodes()
                    .forEach(node ->
                            stores.add((LeaseStore) ConnectUri.parse(node.uri()).connect()));
            var grants = 0;
            for (var round = 0; round < ROUNDS; round++) {
                var name = election + round;
                var answers = new ArrayList<CompletableFuture<Answer>>();
                for (var i = 0; i < stores.size(); i++) {
                    answers.add(stores.get(i).acquire(claim(name, "c" + i)).toCompletableFuture());
                }
                var tokens = new HashMap<Long, Integer>();
                for (var answer : answers) {
                    try {
                        var given = answer.join();
                        if (given.granted()) {
                            tokens.merge(given.view().token(), 1, Integer::sum);
                            grants++;
                        }
                    } catch (CompletionException e) {
                        // a conflict: unknown
                    }
                }
                assertThat(tokens.values().stream().mapToInt(n -> n).sum())
                        .as("NEVER: several were granted one seat at once")
                        .isLessThanOrEqualTo(1);
            }
            System.out.println("galera: " + grants + " grants in " + ROUNDS + " rounds of three claims");
            assertThat(grants).isPositive();
        } finally {
            stores.forEach(LeaseStore::close);
        }
    }

    /** Its lock is on its own node only. */
    @Test
    void aGuardedTransactionDoesNotKeepOthersFromTheSeat() throws Exception {
        var guard = SqlGuard.defaults();
        var passed = 0;
        var broken = 0;
        try (var here = (LeaseStore)
                        ConnectUri.parse(servers.nodes().get(0).uri()).connect();
                var there = (LeaseStore)
                        ConnectUri.parse(servers.nodes().get(1).uri()).connect();
                var connection = servers.nodes().get(0).connect()) {
            try (var statement = connection.createStatement()) {
                statement.execute(
                        "CREATE TABLE IF NOT EXISTS guarded (id bigint AUTO_INCREMENT PRIMARY KEY, token bigint)");
            }
            for (var round = 0; round < ROUNDS; round++) {
                var name = election + "-guard-" + round;
                var first = claim(name, "first");
                var token =
                        here.acquire(first).toCompletableFuture().join().view().token();
                connection.setAutoCommit(false);
                guard.check(connection, new Trusting(name, "first", token));
                try (var statement = connection.createStatement()) {
                    statement.execute("INSERT INTO guarded (token) VALUES (" + token + ")");
                }
                here.release(first).toCompletableFuture().join();
                var granted = granted(there, claim(name, "second"));
                try {
                    connection.commit();
                    if (granted) {
                        broken++;
                    }
                } catch (SQLException e) {
                    connection.rollback();
                }
                passed += granted ? 1 : 0;
                connection.setAutoCommit(true);
            }
        }
        System.out.println("galera: " + passed + " of " + ROUNDS + " seats were granted under another's guard, and "
                + broken + " guarded transactions were committed after that");
        assertThat(passed).as("seats that were granted under another's guard").isPositive();
    }

    @Test
    void theFaultBench() {
        try (var ground = new GaleraGround()) {
            FaultBench.run(ground, Setting.of("galera", Duration.ofSeconds(2)));
        }
    }

    private static boolean granted(LeaseStore store, Claim claim) {
        try {
            return store.acquire(claim).toCompletableFuture().join().granted();
        } catch (CompletionException e) {
            return false;
        }
    }

    private static Claim claim(String name, String candidate) {
        return new Claim(name, candidate, UUID.randomUUID().toString(), LEASE, LEASE, 0, Map.of());
    }
}
