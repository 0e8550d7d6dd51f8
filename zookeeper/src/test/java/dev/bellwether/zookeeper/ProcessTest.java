package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
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

    private final String election = "process-" + UUID.randomUUID();
    private final LeadershipAuditor auditor = new LeadershipAuditor();
    private final Elections elections = Elections.connect(SharedServer.uri());
    private final Child child = new Child(SharedServer.uri(), election, LEASE);

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

    private static Mandate awaitLeads(Candidacy candidacy) {
        return Eventually.eventually("the heir leads", PATIENCE, candidacy::mandate);
    }

    /** The original's third test. */
    @Test
    void anotherLeadsWhenTheSessionOfOneWhoWasKilledHasRunOut() {
        var token = child.awaitLeads(1);
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
        var token = child.awaitLeads(1);
        var heir = follow();
        child.freeze();
        var mandate = awaitLeads(heir);
        child.thaw();
        var reign = child.awaitReign(1);
        var since = auditor.firstSeenNanos(heir, mandate.token()).orElseThrow();
        assertThat(reign.lastNanos() - since)
                .as(Never.mark("two led at once: from when the heir led to when the child last did"))
                .isNegative();
        Eventually.throughout("the heir leads on", LEASE, mandate::isValid);
        assertThat(mandate.token()).as(Never.MARK + "a token falls").isGreaterThan(token);

        var closing = System.nanoTime();
        heir.close();
        var again = child.awaitLeads(2);
        assertThat(again).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
        assertThat(child.leave()).as("its exit code").isZero();
        assertThat(child.awaitReign(2).firstNanos() - closing)
                .as(Never.mark("two led at once: from when the heir began to leave to when the child led again"))
                .isPositive();
    }
}
