package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A bucket of three replicas loses its leader, and a server loses the others. */
class ClusterFaultsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LONG = Duration.ofSeconds(40);
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final String BUCKET = "faults";
    /** Its own, since the common pool has one thread for each processor. */
    private static final Executor THREADS = task -> new Thread(task).start();

    @SuppressWarnings("NullAway.Init")
    private NatsCluster cluster;

    private final String election = "fault-" + UUID.randomUUID();

    @BeforeEach
    void startServers() {
        cluster = new NatsCluster();
    }

    @AfterEach
    void stopServers() {
        cluster.close();
    }

    @Test
    void allWhoMakeTheBucketAtOnceConnect() {
        for (var i = 0; i < 15; i++) {
            var uri = cluster.uri("replicas=3&bucket=" + BUCKET + i);
            var connecting = IntStream.range(0, 4)
                    .mapToObj(number -> CompletableFuture.supplyAsync(() -> Elections.connect(uri), THREADS))
                    .toList();
            connecting.forEach(one -> one.join().close());
        }
    }

    @Test
    void aLongLeaseRidesThroughTheDeathOfTheBucketsLeader() throws Exception {
        try (var elections = Elections.connect(cluster.uri("bucket=" + BUCKET));
                var leader = elections.stand(election, CandidacyConfig.ofLease(LONG));
                var others = Elections.connect(cluster.uri("bucket=" + BUCKET))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand(election, CandidacyConfig.ofLease(LONG));
            cluster.server(cluster.leader(BUCKET)).kill();
            var killed = System.nanoTime();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, killed));
            System.out.printf(
                    "a bucket's leader was killed, and a lease extended %d ms later%n",
                    (System.nanoTime() - killed) / 1_000_000);
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    @Test
    void aShortLeaseIsLostWithTheBucketsLeaderAndWonAgainUnderAHigherToken() throws Exception {
        try (var auditor = new LeadershipAuditor();
                var elections = Elections.connect(cluster.uri("bucket=" + BUCKET));
                var one = elections.stand(election, CandidacyConfig.ofLease(LEASE));
                var others = Elections.connect(cluster.uri("bucket=" + BUCKET))) {
            auditor.audit(one);
            var before = one.await(PATIENCE).orElseThrow();
            try (var other = others.stand(election, CandidacyConfig.ofLease(LEASE))) {
                auditor.audit(other);
                cluster.server(cluster.leader(BUCKET)).kill();
                Eventually.eventually(
                        "one leads, under a new mandate or the old one still",
                        PATIENCE,
                        () -> one.isLeader() || other.isLeader());
                Eventually.eventually(
                        "a token is not lower",
                        PATIENCE,
                        () -> one.mandate()
                                .or(other::mandate)
                                .filter(mandate -> mandate.token() >= before.token())
                                .isPresent());
            }
        }
    }

    @Test
    void whoIsPartitionedWithAMinorityLosesAndTheMajoritysCandidateLeads() throws Exception {
        // made while all are there, with a replica on each
        Elections.connect(cluster.uri("bucket=" + BUCKET)).close();
        var config = NatsConfig.builder().bucket(BUCKET).build();
        try (var there = cluster.admin(NatsCluster.LONELY);
                var here = cluster.admin(0);
                var auditor = new LeadershipAuditor();
                var lonely = NatsElections.using(there.connection(), config, ElectionsConfig.defaults());
                var majority = NatsElections.using(here.connection(), config, ElectionsConfig.defaults())) {
            var victim = lonely.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(victim);
            var before = victim.await(PATIENCE).orElseThrow();
            var standby = majority.stand(election, CandidacyConfig.ofLease(LEASE));
            auditor.audit(standby);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            cluster.partition();
            var after = standby.await(PATIENCE).orElseThrow();
            assertThat(after.token()).isGreaterThan(before.token());
            assertThat(victim.isLeader()).isFalse();
            Eventually.throughout("the minority elects nobody", LEASE.multipliedBy(2), () -> !victim.isLeader());
            cluster.heal();
            Eventually.eventually(
                    "one leads, under no lower token", // choosing leaders anew may cost a lease as short as this
                    PATIENCE,
                    () -> standby.mandate()
                            .or(victim::mandate)
                            .filter(mandate -> mandate.token() >= after.token())
                            .isPresent());
        }
    }

    @Test
    void replicasOnAServerThatMayAcceptTwoWritesForOneAreRefused() {
        try (var old = new NatsCluster("nats-server");
                var admin = old.admin(0)) {
            if (admin.connection().getServerInfo().isSameOrNewerThanVersion("2.15.1")) {
                return; // this system has no such server
            }
            assertThatThrownBy(() -> Elections.connect(old.uri("replicas=3&bucket=old")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("two would lead");
            try (var elections = Elections.connect(old.uri("bucket=one"));
                    var leader = elections.stand(election, CandidacyConfig.ofLease(LONG))) {
                Eventually.eventually("with one replica it leads", PATIENCE, leader::isLeader);
            }
        }
    }
}
