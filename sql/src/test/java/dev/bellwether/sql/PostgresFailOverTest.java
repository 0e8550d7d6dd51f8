package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.PostgresPair;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Finding.Level;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A line each of the table "Fail-over of PostgreSQL" in docs/sql.md: when a token falls, when two lead, what the doctor
 * says.
 *
 * <p>The leader reaches the old primary only, the candidate that is to follow it both.
 */
@Tag("cluster")
@Timeout(180)
class PostgresFailOverTest {
    /** Long, where two are to be seen to lead. */
    private static final Duration LONG = Duration.ofSeconds(30);

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String election = "fail-over-" + UUID.randomUUID();

    // ---------------------------------------------------------------- asynchronous

    @Test
    void asynchronousWithAStandbyThatHasAllForgetsNothing() throws Exception {
        try (var pair = PostgresPair.start(false);
                var elections = Elections.connect(PostgresPair.uri(pair.ports()));
                var leader = elections.stand(election, config(LONG))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            assertThat(replication(pair).level()).isEqualTo(Level.WARNING);
            assertThat(replication(pair).says()).contains("tokens fall", "two may lead");
            pair.awaitStandbyHasAll();
            pair.primary().kill();
            pair.failOver();
            var since = System.nanoTime();
            awaitProof(leader, since);
            assertThat(leader.mandate()).contains(mandate);
            assertThat(token(pair)).isEqualTo(mandate.token());
        }
    }

    @Test
    void asynchronousWithAStandbyBehindLetsTokensFallAndTwoLead() throws Exception {
        try (var pair = PostgresPair.start(false);
                var elections = Elections.connect(pair.primary().uri());
                var others = Elections.connect(PostgresPair.uri(pair.ports()))) {
            pair.awaitStandbyHasAll();
            pair.cutReplication();
            try (var leader = elections.stand(election, config(LONG))) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                pair.primary().kill();
                pair.failOver();
                try (var successor = others.stand(election, config(LONG))) {
                    var second = successor.await(PATIENCE).orElseThrow();
                    assertThat(second.token())
                            .as("a token that was given before")
                            .isLessThanOrEqualTo(mandate.token());
                    assertThat(mandate.isValid() && second.isValid())
                            .as("two lead")
                            .isTrue();
                }
            }
        }
    }

    @Test
    void asynchronousWithAnOldPrimaryThatLivesLetsTwoLeadForAsLongAsItDoes() throws Exception {
        try (var pair = PostgresPair.start(false);
                var elections = Elections.connect(pair.primary().uri());
                var leader = elections.stand(election, config(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            pair.awaitStandbyHasAll();
            pair.cutReplication();
            pair.failOver();
            try (var others = Elections.connect(pair.primary().uri());
                    var successor = others.stand(election, config(LEASE))) {
                var second = successor.await(PATIENCE).orElseThrow();
                assertThat(second.token()).isEqualTo(mandate.token() + 1);
                Eventually.throughout(
                        "both lead, each on its own primary",
                        LEASE.multipliedBy(2),
                        () -> leader.isLeader() && successor.isLeader());
            }
        }
    }

    // ---------------------------------------------------------------- synchronous

    @Test
    void synchronousForgetsNothingWhateverThePrimaryHadDoneWhenItDied() throws Exception {
        try (var pair = PostgresPair.start(true);
                var auditor = new LeadershipAuditor();
                var elections = Elections.connect(PostgresPair.uri(pair.ports()));
                var others = Elections.connect(PostgresPair.uri(pair.ports()));
                var one = elections.stand(election, config(LEASE));
                var two = others.stand(election, config(LEASE))) {
            auditor.audit(one);
            auditor.audit(two);
            assertThat(replication(pair).level()).isEqualTo(Level.OK);
            assertThat(replication(pair).says()).contains("synchronous");
            var last = 0L;
            for (var round = 0; round < 3; round++) {
                pair.delayReplication(Duration.ofMillis(100)); // so that what does not wait is lost
                var mandate = mandate(one, two);
                elections.election(election).standDown();
                Eventually.eventually("it stands down", PATIENCE, () -> !mandate.isValid());
                var next = mandate(one, two);
                pair.primary().kill();
                assertThat(next.token()).as("NEVER: a token that does not rise").isGreaterThan(last);
                last = next.token();
                pair.failOver();
                assertThat(token(pair)).as("NEVER: a token that falls").isGreaterThanOrEqualTo(last);
                pair.rebuildStandby();
            }
            mandate(one, two);
            assertThat(auditor.violations()).isEmpty();
        }
    }

    @Test
    void synchronousWithoutAStandbyLetsNobodyLeadAndTheFailOverForgetsNothing() throws Exception {
        requireNobodyLeadsWithoutAStandby("");
    }

    /** Where the application's own commits do not wait for the standby, ours do. */
    @Test
    void synchronousForgetsNothingWhereTheSessionCommitsLocally() throws Exception {
        requireNobodyLeadsWithoutAStandby("&options=-c%20synchronous_commit=local");
    }

    private void requireNobodyLeadsWithoutAStandby(String more) throws Exception {
        try (var pair = PostgresPair.start(true);
                var auditor = new LeadershipAuditor();
                var elections = Elections.connect(pair.primary().uri() + more);
                var others = Elections.connect(PostgresPair.uri(pair.ports()) + more);
                var leader = elections.stand(election, config(LEASE))) {
            auditor.audit(leader);
            var mandate = leader.await(PATIENCE).orElseThrow();
            pair.cutReplication();
            Eventually.eventually("the mandate ends, since no commit is confirmed", PATIENCE, () -> !mandate.isValid());
            Eventually.throughout("nobody leads", LEASE.multipliedBy(2), () -> !leader.isLeader());
            pair.primary().kill();
            pair.failOver();
            try (var successor = others.stand(election, config(LEASE))) {
                auditor.audit(successor);
                assertThat(successor.await(PATIENCE).orElseThrow().token())
                        .as("NEVER: a token that does not rise")
                        .isGreaterThan(mandate.token());
            }
            assertThat(auditor.violations()).isEmpty();
        }
    }

    @Test
    void synchronousWithAnOldPrimaryThatLivesLetsOneLead() throws Exception {
        try (var pair = PostgresPair.start(true);
                var auditor = new LeadershipAuditor();
                var elections = Elections.connect(pair.primary().uri());
                var leader = elections.stand(election, config(LEASE))) {
            auditor.audit(leader);
            var mandate = leader.await(PATIENCE).orElseThrow();
            pair.cutReplication();
            pair.failOver();
            try (var others = Elections.connect(pair.primary().uri());
                    var successor = others.stand(election, config(LEASE))) {
                auditor.audit(successor);
                assertThat(successor.await(PATIENCE).orElseThrow().token())
                        .as("NEVER: a token that does not rise")
                        .isGreaterThan(mandate.token());
                Eventually.throughout("the old primary elects nobody", LEASE.multipliedBy(2), () -> !leader.isLeader());
            }
            assertThat(auditor.violations()).isEmpty();
        }
    }

    /** The server then says that it has committed, with a warning that no driver looks at. */
    @Test
    void synchronousWhereSomebodyCancelsAWaitingCommitLetsTokensFallAndTwoLead() throws Exception {
        try (var pair = PostgresPair.start(true);
                var elections = Elections.connect(pair.primary().uri());
                var others = Elections.connect(PostgresPair.uri(pair.ports()))) {
            pair.awaitStandbyHasAll();
            pair.cutReplication();
            try (var leader = elections.stand(election, config(LONG))) {
                Eventually.eventually("it leads", PATIENCE, () -> {
                    pair.primary()
                            .answer("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                                    + " WHERE wait_event = 'SyncRep'");
                    return leader.isLeader();
                });
                var mandate = leader.mandate().orElseThrow();
                pair.primary().kill();
                pair.failOver();
                try (var successor = others.stand(election, config(LONG))) {
                    var second = successor.await(PATIENCE).orElseThrow();
                    assertThat(second.token())
                            .as("a token that was given before")
                            .isLessThanOrEqualTo(mandate.token());
                    assertThat(mandate.isValid() && second.isValid())
                            .as("two lead")
                            .isTrue();
                }
            }
        }
    }

    /**
     * After the restart the server shows a commit that nobody confirmed. Whoever claimed asks for the seat anew by then,
     * and gives back what it finds.
     */
    @Test
    void synchronousWhereThePrimaryRestartsWithoutItsStandbyLetsNobodyLead() throws Exception {
        try (var pair = PostgresPair.start(true);
                var elections = Elections.connect(pair.primary().uri());
                var others = Elections.connect(PostgresPair.uri(pair.ports()));
                var store = (LeaseStore) ConnectUri.parse(pair.primary().uri()).connect()) {
            store.acquire(new Claim(election, "first", "n", LEASE, LEASE, 0, Map.of()))
                    .toCompletableFuture()
                    .join();
            try (var claimant = elections.stand(election, config(LONG))) {
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> claimant.status().following().isPresent());
                pair.awaitStandbyHasAll();
                pair.cutReplication();
                Eventually.eventually(
                        "its claim waits for the standby",
                        PATIENCE,
                        () -> pair.primary()
                                .answer("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                                        + " AND query LIKE '%FOR UPDATE OF e SKIP LOCKED%'")
                                .equals("1"));
                pair.primary().crashAndRestart();
                assertThat(token(pair)).as("what nobody confirmed").isEqualTo(2);
                Eventually.throughout("nobody leads", LEASE.multipliedBy(3), () -> !claimant.isLeader());
                pair.primary().kill();
                pair.failOver();
                try (var successor = others.stand(election, config(LEASE))) {
                    assertThat(successor.await(PATIENCE).orElseThrow().token()).isEqualTo(2);
                    assertThat(claimant.isLeader()).isFalse();
                }
            }
        }
    }

    // ---------------------------------------------------------------- all at once

    @Test
    void noFaultMakesTwoLeadersWhereFailOverIsSynchronous() {
        try (var ground = new FailOverGround()) {
            FaultBench.run(ground, Setting.of("postgres-fail-over", Duration.ofSeconds(2)));
        }
    }

    // ---------------------------------------------------------------- small things

    private static Mandate mandate(Candidacy one, Candidacy two) {
        return Eventually.eventually(
                "somebody leads", PATIENCE, () -> one.mandate().or(two::mandate));
    }

    private static void awaitProof(Candidacy leader, long sinceNanos) {
        Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, sinceNanos));
    }

    private long token(PostgresPair pair) {
        return Long.parseLong(
                pair.primary().answer("SELECT token FROM bellwether_election WHERE election = '" + election + "'"));
    }

    private static CandidacyConfig config(Duration lease) {
        return CandidacyConfig.ofLease(lease);
    }

    private static Finding replication(PostgresPair pair) {
        return Doctor.only(Doctor.find(PostgresServer.uri(pair.primary().port()), config(LEASE)), "replication");
    }
}
