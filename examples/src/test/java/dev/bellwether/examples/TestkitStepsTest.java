package dev.bellwether.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.sim.Simulation;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The code in the Javadoc of the testkit, which another test compares with this. */
class TestkitStepsTest {
    @Test
    void aSilentInfrastructureEndsLeadershipAtTheDeadline() {
        try (var controlled = new ControlledElections()) {
            var candidacy = controlled.elections().stand("billing"); // what the code under test does
            var billing = controlled.election("billing");
            billing.acquire();
            assertThat(candidacy.isLeader()).isTrue();
            billing.goSilent();
            controlled.advance(Duration.ofSeconds(10)); // its lease: the deadline has passed
            assertThat(candidacy.isLeader()).isFalse();
        }
    }

    @Test
    @ExtendWith(BellwetherExtension.class)
    void aLeaderIsRevokedInOrder(ControlledElections controlled, Elections elections) {
        var log = new EventLog();
        elections.stand("billing", CandidacyConfig.builder().listener(log).build());
        controlled.election("billing").acquire();
        controlled.election("billing").revoke();
        assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 MOVED");
    }

    @Test
    void nobodyLeadsBesideAnother() {
        var uri = "memory:" + UUID.randomUUID();
        try (var one = Elections.connect(uri);
                var two = Elections.connect(uri);
                var auditor = new LeadershipAuditor()) {
            auditor.audit(one.stand("billing"));
            auditor.audit(two.stand("billing"));
            Eventually.eventually("somebody leads", Duration.ofSeconds(10), one.election("billing")::leader);
        } // throws if both ever led at once
    }

    @Test
    void theLeaderIsFoundWithoutSleeping() {
        try (var elections = Elections.connect("memory:" + UUID.randomUUID())) {
            var candidacy = elections.stand("billing");
            var billing = elections.election("billing");
            var leader = Eventually.eventually("somebody leads", Duration.ofSeconds(10), billing::leader);
            assertThat(leader.candidate()).isEqualTo(candidacy.candidate());
        }
    }

    @Test
    void theSimulatorRunsAnApplicationInManyWorlds() {
        var report = Simulation.of(() -> process -> process.elections()
                        .stand("billing", CandidacyConfig.ofLease(process.lease()))
                        .whileLeading(mandate -> process.sleep(Duration.ofMillis(20)))) // where the real code works
                .seeds(20)
                .run(); // throws a Violation, which names its seed
        assertThat(report.mandates()).isPositive();
    }
}
