package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.PatroniServers;
import dev.bellwether.fixtures.PatroniServers.Member;
import dev.bellwether.fixtures.PatroniServers.Replication;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Finding.Level;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A line each of the table "Patroni" in docs/sql.md: when a token falls, when two lead, what the doctor says. */
@Tag("patroni")
@Timeout(300)
class PatroniTest {
    /** Longer than Patroni takes to give up a silent primary. */
    private static final Duration LONG = Duration.ofMinutes(2);

    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final String election = "patroni-" + UUID.randomUUID();

    // ---------------------------------------------------------------- synchronous

    /** First both of its processes, so that Patroni's own lease has to run out; then PostgreSQL alone. */
    @Test
    void strictForgetsNothingWhenThePrimaryIsKilled() throws Exception {
        try (var servers = PatroniServers.start(3, Replication.STRICT);
                var auditor = new LeadershipAuditor();
                var elections = Elections.connect(servers.uri());
                var others = Elections.connect(servers.uri());
                var one = elections.stand(election, config(LEASE));
                var two = others.stand(election, config(LEASE))) {
            auditor.audit(one);
            auditor.audit(two);
            assertThat(replication(servers.primary()).level()).isEqualTo(Level.OK);
            assertThat(replication(servers.primary()).says()).contains("synchronous");
            var last = 0L;
            for (var both : new boolean[] {true, false}) {
                var old = servers.primary();
                old.delayReplication(Duration.ofMillis(100)); // so that what does not wait is lost
                var mandate = mandate(one, two);
                elections.election(election).standDown();
                Eventually.eventually("it stands down", PATIENCE, () -> !mandate.isValid());
                var next = mandate(one, two);
                var since = System.nanoTime();
                if (both) {
                    old.kill();
                } else {
                    old.killPostgres();
                }
                assertThat(next.token()).as("NEVER: a token that does not rise").isGreaterThan(last);
                last = next.token();
                var primary = servers.primaryAfter(old);
                System.out.println("patroni: another primary " + (System.nanoTime() - since) / 1_000_000 + " ms after "
                        + (both ? "it and its Patroni were killed" : "PostgreSQL was killed"));
                assertThat(token(primary)).as("NEVER: a token that falls").isGreaterThanOrEqualTo(last);
                old.delayReplication(Duration.ZERO);
                if (both) {
                    old.start();
                }
                servers.awaitReplication(); // the old primary among the standbys
            }
            assertThat(mandate(one, two).token())
                    .as("NEVER: a token that does not rise")
                    .isGreaterThanOrEqualTo(last);
            assertThat(auditor.violations()).isEmpty();
        }
    }

    /**
     * PostgreSQL wakes up, and Patroni does not yet: there are two that take themselves for the primary. The old one
     * confirms nothing.
     */
    @Test
    void strictLetsOneLeadWhenTheOldPrimaryWakesUp() throws Exception {
        try (var servers = PatroniServers.start(3, Replication.STRICT);
                var auditor = new LeadershipAuditor()) {
            var old = servers.primary();
            try (var elections = Elections.connect(old.uri());
                    var others = Elections.connect(servers.uri());
                    var leader = elections.stand(election, config(LEASE))) {
                auditor.audit(leader);
                var mandate = leader.await(PATIENCE).orElseThrow();
                old.pause();
                var primary = servers.primaryAfter(old);
                try (var successor = others.stand(election, config(LEASE))) {
                    auditor.audit(successor);
                    assertThat(successor.await(PATIENCE).orElseThrow().token())
                            .as("NEVER: a token that does not rise")
                            .isGreaterThan(mandate.token());
                    old.resumePostgres();
                    Eventually.eventually("it is awake", PATIENCE, old::takesItselfForPrimary);
                    assertThat(primary.takesItselfForPrimary()).isTrue();
                    Eventually.eventually(
                            "somebody asks the old primary to commit",
                            PATIENCE,
                            () -> old.answer("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                                    .equals("t"));
                    Eventually.throughout(
                            "the old primary elects nobody", LEASE.multipliedBy(2), () -> !leader.isLeader());
                    old.resume();
                    Eventually.eventually("it is a standby", PATIENCE, () -> old.is("replica"));
                    assertThat(leader.isLeader()).isFalse();
                }
            }
            assertThat(auditor.violations()).isEmpty();
        }
    }

    /** Without the strict mode, commits wait for nobody while no standby is there; so none of those may take over. */
    @Test
    void synchronousWithoutAStandbyLetsLeadersLeadAndNobodyTakeOver() throws Exception {
        try (var servers = PatroniServers.start(2, Replication.SYNCHRONOUS);
                var auditor = new LeadershipAuditor();
                var elections = Elections.connect(servers.uri());
                var others = Elections.connect(servers.uri());
                var one = elections.stand(election, config(LONG));
                var two = others.stand(election, config(LONG))) {
            auditor.audit(one);
            auditor.audit(two);
            var primary = servers.primary();
            var standby = other(servers, primary);
            var mandate = mandate(one, two);
            standby.kill();
            Eventually.eventually(
                    "Patroni has commits wait for nobody, and the doctor finds that",
                    PATIENCE,
                    () -> replication(primary).says().contains("nobody leads"));
            assertThat(replication(primary).level()).isEqualTo(Level.OK);
            elections.election(election).standDown();
            Eventually.eventually("it stands down", PATIENCE, () -> !mandate.isValid());
            var second = mandate(one, two);
            assertThat(second.token()).as("NEVER: a token that does not rise").isGreaterThan(mandate.token());
            primary.kill();
            standby.start();
            Eventually.eventually(
                    "Patroni refuses to promote it",
                    PATIENCE,
                    () -> standby.log().contains("not the healthiest"));
            assertThat(standby.takesItselfForPrimary()).isFalse();
            primary.start();
            assertThat(servers.primary()).isSameAs(primary);
            assertThat(token(primary)).as("NEVER: a token that falls").isGreaterThanOrEqualTo(second.token());
            assertThat(auditor.violations()).isEmpty();
        }
    }

    // ---------------------------------------------------------------- asynchronous

    @Test
    void asynchronousWithAStandbyBehindLetsTokensFallAndTwoLead() throws Exception {
        try (var servers = PatroniServers.start(2, Replication.ASYNCHRONOUS)) {
            var old = servers.primary();
            assertThat(replication(old).level()).isEqualTo(Level.WARNING);
            assertThat(replication(old).says()).contains("tokens fall", "two may lead");
            old.cutReplication();
            try (var elections = Elections.connect(old.uri());
                    var others = Elections.connect(servers.uri());
                    var leader = elections.stand(election, config(LONG))) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                old.kill();
                servers.primaryAfter(old);
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

    // ---------------------------------------------------------------- all at once

    @Test
    void noFaultMakesTwoLeadersWherePatroniIsStrict() {
        try (var ground = new PatroniGround()) {
            FaultBench.run(ground, Setting.of("patroni", Duration.ofSeconds(2)));
        }
    }

    // ---------------------------------------------------------------- small things

    private static Mandate mandate(Candidacy one, Candidacy two) {
        return Eventually.eventually(
                "somebody leads", PATIENCE, () -> one.mandate().or(two::mandate));
    }

    private static Member other(PatroniServers servers, Member one) {
        return servers.members().stream()
                .filter(member -> member != one)
                .findFirst()
                .orElseThrow();
    }

    private long token(Member member) {
        return Long.parseLong(
                member.answer("SELECT token FROM bellwether_election WHERE election = '" + election + "'"));
    }

    private static CandidacyConfig config(Duration lease) {
        return CandidacyConfig.ofLease(lease);
    }

    private static Finding replication(Member member) {
        return Doctor.only(Doctor.find(member.uri(), config(LEASE)), "replication");
    }
}
