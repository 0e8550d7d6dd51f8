package dev.bellwether.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.EtcdServer;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.Leading;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Proofs;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A store that forgets, and members that die under a leader. */
@Timeout(240)
class FaultsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));
    private static final int READERS = 12;

    @Test
    void whenTheStoreHasForgottenALeaderNobodyLeadsBesideItAndTokensRise() throws Exception {
        try (var servers = EtcdServers.start(1)) {
            Leading.nobodyLeadsBesideOneThatIsForgotten(servers.member(0), servers.uri(""), CONFIG);
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
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, killed));
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    /** As a balancer, or a node behind a Service that loses its power, forgets what went through it. */
    @Test
    void connectionsThatWereForgottenOnTheWayCostOneTryAndNoLeadership() throws Exception {
        try (var servers = EtcdServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var elections = Elections.connect("etcd://127.0.0.1:" + link.port());
                var leader = elections.stand("kept", CandidacyConfig.ofLease(Duration.ofSeconds(10)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            readAtOnce(elections, link);
            link.abandon();
            Eventually.throughout("the same mandate is valid", Duration.ofSeconds(15), mandate::isValid);
        }
    }

    /** Leaves as many connections behind as there are readers, since each of them waits. */
    private static void readAtOnce(Elections elections, FaultProxy link) throws Exception {
        var readers = Executors.newFixedThreadPool(READERS);
        try {
            link.delay(Duration.ofMillis(200));
            readers.invokeAll(Collections.nCopies(
                            READERS, () -> elections.election("kept").leader()))
                    .forEach(read -> assertThat(read).succeedsWithin(PATIENCE));
            link.heal();
        } finally {
            readers.shutdown();
        }
        assertThat(link.connections()).isGreaterThanOrEqualTo(READERS);
    }

    @Test
    void aStandbyGoesOnToListenAtAnotherMemberWhenItsOwnDies() throws Exception {
        try (var servers = EtcdServers.start(3)) {
            var leading = servers.leader();
            var others = servers.members().stream()
                    .filter(member -> !member.equals(leading))
                    .toList();
            var dying = others.get(0);
            try (var elections = Elections.connect(uri(others.get(1), leading, dying));
                    var leader = elections.stand("listened", LONG);
                    var standbys = Elections.connect(uri(dying, others.get(1), leading))) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                var standby = standbys.stand("listened", LONG);
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                Eventually.eventually(
                        "it listens",
                        PATIENCE,
                        () -> EtcdInfrastructure.number(EtcdInfrastructure.WATCHERS, dying.get("/metrics")) > 0);
                dying.kill();
                leader.resign();
                assertThat(standby.await(LONG.lease().dividedBy(4))
                                .orElseThrow()
                                .token())
                        .isGreaterThan(mandate.token());
            }
        }
    }

    private static String uri(EtcdServer... members) {
        return Stream.of(members)
                .map(member -> "127.0.0.1:" + member.port())
                .collect(Collectors.joining(",", "etcd://", "?presence=1h"));
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
