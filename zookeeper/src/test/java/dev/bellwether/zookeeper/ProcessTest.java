package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A leader in a process of its own, which is killed, or frozen and thawed, and a candidate in ours. */
class ProcessTest {
    /** The session's timeout, too. */
    private static final Duration LEASE = Duration.ofSeconds(4);

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Instants of the monotonic clock between which the child led. */
    private record Reign(long firstNanos, long lastNanos) {}

    private final String election = "process-" + UUID.randomUUID();
    private final LeadershipAuditor auditor = new LeadershipAuditor();
    private final Elections elections = Elections.connect(SharedServer.uri());
    private final ChildProcess child =
            ChildProcess.start(ChildMain.class, SharedServer.uri(), election, LEASE.toString());

    @AfterEach
    void close() {
        child.close();
        elections.close();
        auditor.close();
    }

    private Candidacy follow() {
        var candidacy = elections.stand(
                election,
                CandidacyConfig.builder().candidate("heir").lease(LEASE).build());
        auditor.audit(candidacy);
        Eventually.eventually(
                "it follows the child",
                PATIENCE,
                () -> candidacy.status().following().filter("child"::equals).isPresent());
        return candidacy;
    }

    /** Waits until the child leads for the n-th time, and returns the token. */
    private long awaitLeads(int times) {
        return Long.parseLong(child.await("leads ", times));
    }

    /** Waits until the child's n-th reign has ended, as far as it knows. */
    private Reign awaitReign(int times) {
        var nanos = child.await("led ", times).split(" ", -1);
        return new Reign(Long.parseLong(nanos[0]), Long.parseLong(nanos[1]));
    }

    private static Mandate awaitLeads(Candidacy candidacy) {
        return Eventually.eventually("the heir leads", PATIENCE, candidacy::mandate);
    }

    /** The original's third test. */
    @Test
    void anotherLeadsWhenTheSessionOfOneWhoWasKilledHasRunOut() {
        var token = awaitLeads(1);
        var heir = follow();
        child.kill();
        var killed = System.nanoTime();
        var mandate = awaitLeads(heir);
        var took = Duration.ofNanos(System.nanoTime() - killed);
        assertThat(mandate.token()).as(Never.MARK + "a token falls").isGreaterThan(token);
        System.out.printf("killed; another led after %d ms, with sessions of %s%n", took.toMillis(), LEASE);
        assertThat(took).as("the timeout, and what a busy machine takes").isLessThan(LEASE.plusSeconds(30));
    }

    @Test
    void oneThatWasFrozenBeyondItsSessionNeverLeadsBesideItsSuccessor() {
        var token = awaitLeads(1);
        var heir = follow();
        child.freeze();
        var mandate = awaitLeads(heir);
        child.thaw();
        var reign = awaitReign(1);
        var since = auditor.firstSeenNanos(heir, mandate.token()).orElseThrow();
        assertThat(reign.lastNanos() - since)
                .as(Never.mark("two led at once: from when the heir led to when the child last did"))
                .isNegative();
        Eventually.throughout("the heir leads on", LEASE, mandate::isValid);
        assertThat(mandate.token()).as(Never.MARK + "a token falls").isGreaterThan(token);

        var closing = System.nanoTime();
        heir.close();
        var again = awaitLeads(2);
        assertThat(again).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
        assertThat(child.leave()).as("its exit code").isZero();
        assertThat(awaitReign(2).firstNanos() - closing)
                .as(Never.mark("two led at once: from when the heir began to leave to when the child led again"))
                .isPositive();
    }
}
