package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Metrics;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.nats.NatsServer;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * That ours lacks the known weaknesses of Choria's elections. Those that no backend of ours may have are in the
 * contract; that a lost answer costs nothing, and that a close releases the key, in {@link ChoriasTestsTest}; of
 * missing rights, in {@link PermissionErrorsTest}.
 */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for an election of its own
class ChoriasWeaknessesTest {
    private static final Duration LEASE = Duration.ofSeconds(4);
    /** Longer than a test waits. */
    private static final Duration LONG = Duration.ofMinutes(3);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final NatsConfig CONFIG = NatsConfig.builder().bucket("weak").build();

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "weak-" + UUID.randomUUID();

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Test
    void aRefusedStandLeavesNothingHanging() throws Exception {
        try (var elections = Elections.connect(server.uri("bucket=brief&ttl=PT5S"))) {
            assertThatThrownBy(() -> elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(5))))
                    .isInstanceOf(ElectionException.class);
            var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE)); // the same election, and it works
            assertThat(leader.await(PATIENCE)).isPresent();
            leader.close();
            assertThat(leader.isLeader()).isFalse();
        }
    }

    @Test
    void isLeaderAnswersWhileARequestHangsAndTurnsFalseMeanwhile() throws Exception {
        try (var proxy = FaultProxy.to("127.0.0.1", server.port());
                var elections = proxied(proxy, ElectionsConfig.defaults());
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            proxy.cut(); // from here on every request hangs, and nothing below waits for one
            Eventually.eventually("a renewal is overdue", PATIENCE, () -> {
                var remaining = mandate.remaining();
                return remaining.compareTo(LEASE.dividedBy(2)) < 0;
            });
            Eventually.eventually("it leads no more", PATIENCE, () -> !leader.isLeader());
            assertThat(mandate.isValid()).isFalse();
            assertThat(leader.status().token()).isEqualTo(mandate.token());
            proxy.heal();
        }
    }

    @Test
    void aListenerMayAskAndCloseFromWithin() throws Exception {
        var self = new CompletableFuture<Candidacy>();
        var led = new CompletableFuture<Boolean>();
        try (var elections = Elections.connect(server.uri("bucket=weak"))) {
            var candidacy = elections.stand(
                    election,
                    CandidacyConfig.builder()
                            .lease(LONG)
                            .listener(event -> {
                                if (event instanceof LeadershipEvent.Acquired) {
                                    led.complete(self.join().isLeader()
                                            && self.join().status().token() > 0);
                                    self.join().close();
                                }
                            })
                            .build());
            self.complete(candidacy);
            candidacy.awaitClose();
            assertThat(led).isCompletedWithValue(true);
            try (var next = elections.stand(election, CandidacyConfig.ofLease(LONG))) {
                assertThat(next.await(PATIENCE)).as("the key was released").isPresent();
            }
        }
    }

    @Test
    void aListenerThatIsSlowDelaysNoRenewal() throws Exception {
        var free = new CountDownLatch(1);
        var log = new EventLog(event -> {
            if (event instanceof LeadershipEvent.Acquired) {
                free.await();
            }
        });
        try (var elections = Elections.connect(server.uri("bucket=weak"));
                var leader = elections.stand(
                        election,
                        CandidacyConfig.builder().lease(LEASE).listener(log).build())) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            Eventually.throughout("it leads on", LEASE.multipliedBy(3).dividedBy(2), mandate::isValid);
            free.countDown();
        }
    }

    @Test
    void aClaimThatIsClosedBeforeItIsAnsweredKeepsTheSeatFromNobody() throws Exception {
        try (var elections = Elections.connect(server.uri("bucket=weak"));
                var others = Elections.connect(server.uri("bucket=weak"))) {
            for (var i = 0; i < 40; i++) {
                elections.stand(election + i, CandidacyConfig.ofLease(LONG)).close();
                try (var next = others.stand(election + i, CandidacyConfig.ofLease(LONG))) {
                    assertThat(next.await(PATIENCE)).as("round " + i).isPresent();
                }
            }
        }
    }

    @Test
    void aClaimThatIsNotAnsweredIsNotTakenForALostOne() throws Exception {
        var attempts = new CopyOnWriteArrayList<Metrics.Attempt>();
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                attempts.add(attempt);
            }
        };
        try (var proxy = FaultProxy.to("127.0.0.1", server.port());
                var elections = proxied(
                        proxy, ElectionsConfig.builder().metrics(metrics).build())) {
            proxy.cut();
            var candidacy = elections.stand(election, CandidacyConfig.ofLease(LEASE));
            Eventually.eventually("it is told", PATIENCE, () -> attempts.contains(Metrics.Attempt.UNANSWERED));
            assertThat(attempts).containsOnly(Metrics.Attempt.UNANSWERED);
            proxy.heal();
            assertThat(candidacy.await(PATIENCE)).isPresent();
            Eventually.eventually(
                    "and confirmed",
                    PATIENCE,
                    () -> attempts.containsAll(List.of(Metrics.Attempt.WON, Metrics.Attempt.RENEWED)));
        }
    }

    @Test
    void aStandbySendsNothingWhileTheLeaderRenews() throws Exception {
        try (var admin = Admin.of(server.port());
                var elections = Elections.connect(server.uri("bucket=quiet"));
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE));
                var own = Admin.of(server.port());
                var others = NatsElections.using(
                        own.connection(), NatsConfig.builder().bucket("quiet").build(), ElectionsConfig.defaults())) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var standby = others.stand(election, CandidacyConfig.ofLease(LEASE));
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            // now and then it says that it is there still: so it is a matter of a quiet while, not of every one
            Eventually.eventually("nothing is sent for five renewals", PATIENCE, () -> {
                var sent = own.connection().getStatistics().getOutMsgs();
                var written = written(admin);
                Eventually.eventually("five renewals", PATIENCE, () -> written(admin) >= written + 5);
                return own.connection().getStatistics().getOutMsgs() == sent;
            });
            assertThat(standby.isLeader()).isFalse();
        }
    }

    @Test
    void aBackOffThatOutlastsTheTtlIsRefused() {
        try (var elections = Elections.connect(server.uri("bucket=backed&ttl=PT10S"));
                var choria = Elections.connect(server.uri("choria=true&bucket=choria-backed&ttl=PT10S"))) {
            for (var one : List.of(elections, choria)) {
                assertThatThrownBy(() -> one.stand(election, backedOff(Duration.ofMillis(6_001))))
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("standbyBackoff 6.001 s is longer than three fifths of the TTL 10 s");
                one.stand(election, backedOff(Duration.ofSeconds(6))).close();
            }
        }
    }

    @Test
    void aBackOffInTheUriIsThatOfItsCandidaciesUnlessTheySetTheirOwn() {
        try (var elections = Elections.connect(server.uri("bucket=backed&ttl=PT10S&backoff=PT6.001S"))) {
            assertThatThrownBy(() -> elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(2))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("standbyBackoff 6.001 s is longer than three fifths of the TTL 10 s");
            elections.stand(election, backedOff(Duration.ofSeconds(5))).close();
        }
        assertThatThrownBy(() -> Elections.connect(server.uri("backoff=PT0S")))
                .hasMessageContaining("backoff is 0 s: it must be longer than zero");
    }

    @Test
    void afterAShortOutageTheFormerLeaderLeadsWhileOthersBackOff() throws Exception {
        var query = "choria=true&bucket=choria-outage&ttl=PT20S&backoff=PT12S";
        try (var own = NatsServers.alone();
                var elections = Elections.connect(own.uri(query));
                var leader = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(15)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            try (var others = Elections.connect(own.uri(query));
                    var standby = others.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(15)))) {
                for (var outage = 0; outage < 2; outage++) {
                    own.kill();
                    own.start();
                    var back = System.nanoTime();
                    Eventually.eventually("it is proven again", PATIENCE, () -> Proofs.isProvenSince(leader, back));
                    assertThat(leader.mandate()).as("the same mandate").contains(mandate);
                    assertThat(standby.isLeader()).isFalse();
                }
            }
        }
    }

    @Test
    void aBackOffDelaysNeitherRenewalsNorAHandOver() throws Exception {
        var config = backedOff(Duration.ofHours(1)).toBuilder().lease(LEASE).build(); // in a bucket without a TTL
        try (var elections = Elections.connect(server.uri("bucket=weak"));
                var others = Elections.connect(server.uri("bucket=weak"))) {
            var leader = elections.stand(election, config);
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand(election, config);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            Eventually.throughout("it leads on", LEASE.multipliedBy(3).dividedBy(2), mandate::isValid);
            leader.close();
            assertThat(standby.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aWinnerByChoriasRulesThatBacksOffConfirmsBeforeTheServerDropsItsKey() throws Exception {
        try (var elections = Elections.connect(server.uri("choria=true&bucket=choria-confirmed&ttl=PT4S"));
                var leader = elections.stand(election, backedOff(Duration.ofMillis(2_400)))) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void anEvenNumberOfReplicasOrMoreThanFiveIsRefused() {
        for (var replicas : new int[] {0, 2, 4, 6, 7}) {
            assertThatThrownBy(() -> Elections.connect(server.uri("bucket=many&replicas=" + replicas)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("must be 1, 3 or 5");
        }
    }

    private static CandidacyConfig backedOff(Duration longest) {
        return CandidacyConfig.builder()
                .lease(Duration.ofSeconds(2))
                .standbyBackoff(longest)
                .build();
    }

    private static Elections proxied(FaultProxy proxy, ElectionsConfig config) {
        var client = BucketClient.owning(Admin.of(proxy.port()).connection(), "nats://proxied", CONFIG);
        return Elections.over(LeaseStore.over(NatsRecordStore.open(client, CONFIG)), config);
    }

    /** Returns how often something was written to the bucket that no other test uses. */
    private static long written(Admin admin) {
        return admin.ask(connection -> connection
                .jetStreamManagement()
                .getStreamInfo("KV_quiet")
                .getStreamState()
                .getLastSequence());
    }
}
