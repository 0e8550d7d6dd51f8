package dev.bellwether.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A store that forgets, and members that die under a leader. */
@Timeout(240)
class FaultsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));

    @Test
    void whenTheStoreHasForgottenALeaderNobodyLeadsBesideItAndTokensRise() throws Exception {
        try (var servers = EtcdServers.start(1);
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(servers.uri(""));
                var first = one.stand("forgotten", CONFIG);
                var two = Elections.connect(servers.uri(""))) {
            auditor.audit(first);
            assertThat(first.await(PATIENCE)).isPresent();
            servers.member(0).save();
            assertThat(first.await(PATIENCE)).isPresent();
            var second = two.stand("forgotten", CONFIG);
            auditor.audit(second);
            first.resign();
            var token = second.await(PATIENCE).orElseThrow().token();

            servers.member(0).restore(); // the first one's record is there again

            var later = Eventually.eventually(
                    "one leads under a higher token",
                    PATIENCE,
                    () -> first.mandate().or(second::mandate).filter(mandate -> mandate.token() > token));
            assertThat(later.token()).isGreaterThan(token);
        }
    }

    @Test
    void aLongLeaseRidesThroughTheDeathOfTheLeaderOfTheMembersAndOfTheMemberThatIsAsked() throws Exception {
        try (var servers = EtcdServers.start(3);
                var elections = Elections.connect(servers.uri(""));
                var leader = elections.stand("riding", LONG);
                var others = Elections.connect(servers.uri(""))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("riding", LONG);
            servers.leader().kill();
            var killed = System.nanoTime();
            Eventually.eventually(
                    "the lease is extended",
                    PATIENCE,
                    () -> leader.status()
                            .sinceProof()
                            .filter(age -> age.toNanos() < System.nanoTime() - killed)
                            .isPresent());
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    @Test
    void aMemberThatIsFrozenCostsAReadingAndNoLeadership() throws Exception {
        try (var servers = EtcdServers.start(3);
                var elections = Elections.connect(servers.uri(""));
                var leader = elections.stand("frozen", LONG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            servers.member(0).pause(); // the first of the URI
            assertThat(elections.election("frozen").leader()).isPresent();
            servers.member(0).resume();
            assertThat(leader.mandate()).contains(mandate);
        }
    }
}
