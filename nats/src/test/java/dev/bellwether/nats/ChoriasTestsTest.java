package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What Choria tests of its elections, and what befalls a key. That ours lacks their weaknesses is in
 * {@link ChoriasWeaknessesTest}.
 */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for an election of its own
class ChoriasTestsTest {
    private static final Duration LEASE = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String BUCKET = "bucket=seeds";

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "seed-" + UUID.randomUUID();

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Test
    void tenMembersNeverHaveTwoLeadersThoughTheKeyIsDeletedOrCorruptedAllTheTime() throws Exception {
        var clients = new ArrayList<Elections>();
        var logs = new ArrayList<EventLog>();
        try (var auditor = new LeadershipAuditor();
                var admin = Admin.of(server.port())) {
            var members = new ArrayList<Candidacy>();
            for (var i = 0; i < 10; i++) {
                var client = Elections.connect(server.uri(BUCKET));
                clients.add(client);
                var log = new EventLog();
                logs.add(log);
                var member = client.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(LEASE)
                                .candidate("m" + i)
                                .listener(log)
                                .build());
                auditor.audit(member);
                members.add(member);
            }
            var other = election + "-other";
            var calm = clients.get(0).stand(other, CandidacyConfig.ofLease(Duration.ofSeconds(10)));
            clients.get(1).stand(other, CandidacyConfig.ofLease(Duration.ofSeconds(10)));
            Eventually.eventually(
                    "the other election has a leader",
                    PATIENCE,
                    () -> clients.get(0).election(other).leader().isPresent());
            var undisturbed = clients.get(0).election(other).leader();
            var bucket = admin.ask(connection -> connection.keyValue("seeds"));
            var kills = 0;
            var until = System.nanoTime() + Duration.ofSeconds(10).toNanos();
            while (System.nanoTime() - until < 0) {
                Eventually.eventually(
                        "one leads", PATIENCE, () -> members.stream().anyMatch(Candidacy::isLeader));
                if (kills % 2 == 0) {
                    bucket.delete(election);
                } else {
                    bucket.put(election, "garbage");
                }
                kills++;
                var killed = System.nanoTime();
                Eventually.eventually(
                        "400 ms have passed",
                        PATIENCE,
                        () -> System.nanoTime() - killed
                                > Duration.ofMillis(400).toNanos());
            }
            assertThat(kills).isGreaterThanOrEqualTo(4);
            var won = logs.stream()
                    .mapToLong(log -> log.count(LeadershipEvent.Acquired.class))
                    .sum();
            var lost = logs.stream()
                    .mapToLong(log -> log.count(LeadershipEvent.Fenced.class))
                    .sum();
            assertThat(won).isGreaterThanOrEqualTo(4);
            assertThat(lost).isGreaterThanOrEqualTo(3);
            assertThat(clients.get(0).election(other).leader()).isEqualTo(undisturbed);
            assertThat(calm.status().lastCause()).isEmpty();
        } finally {
            clients.forEach(Elections::close);
        }
    }

    @Test
    void aTtlThatIsTooShortIsRefusedWithTheReason() {
        assertThatThrownBy(() -> Elections.connect(server.uri("bucket=short&ttl=PT0.1S")))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("ttl is 100 ms");
        try (var elections = Elections.connect(server.uri("bucket=five&ttl=PT5S"))) {
            assertThatThrownBy(() -> elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(5))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("not shorter than the TTL 5 s");
            var candidacy = elections.stand(election, CandidacyConfig.ofLease(Duration.ofMillis(4_900)));
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
        }
    }

    @Test
    void aKeyThatAnOperatorDeletedIsNotTakenWhileTheOldLeaderMayLead() throws Exception {
        var lease = Duration.ofSeconds(4);
        try (var admin = Admin.of(server.port());
                var proxy = dev.bellwether.testkit.FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var cutOff = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                BucketClient.owning(
                                        Admin.of(proxy.port()).connection(), "nats://proxied", config("seeds")),
                                config("seeds"))),
                        dev.bellwether.ElectionsConfig.defaults());
                var others = Elections.connect(server.uri(BUCKET))) {
            var victim = cutOff.stand(election, CandidacyConfig.ofLease(lease));
            auditor.audit(victim);
            Mandate before = victim.await(PATIENCE).orElseThrow();
            proxy.cut(); // it does not hear of what follows
            admin.ask(connection -> connection.keyValue("seeds")).delete(election);
            var late = others.stand(election, CandidacyConfig.ofLease(lease)); // who never saw the record
            auditor.audit(late);
            var after = late.await(PATIENCE).orElseThrow();
            assertThat(after.token()).isGreaterThan(before.token());
        }
    }

    @Test
    void aStreamThatWasPurgedUnderAStandbyIsNotTakenWhileTheOldLeaderMayLead() throws Exception {
        var lease = Duration.ofSeconds(4);
        try (var admin = Admin.of(server.port());
                var proxy = dev.bellwether.testkit.FaultProxy.to("127.0.0.1", server.port());
                var auditor = new LeadershipAuditor();
                var cutOff = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                BucketClient.owning(
                                        Admin.of(proxy.port()).connection(), "nats://proxied", config("purged")),
                                config("purged"))),
                        dev.bellwether.ElectionsConfig.defaults());
                var others = Elections.connect(server.uri("bucket=purged"))) {
            var victim = cutOff.stand(election, CandidacyConfig.ofLease(lease));
            auditor.audit(victim);
            Mandate before = victim.await(PATIENCE).orElseThrow();
            var standby = others.stand(election, CandidacyConfig.ofLease(lease));
            auditor.audit(standby);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            proxy.cut();
            admin.ask(connection -> connection.jetStreamManagement().purgeStream("KV_purged"));
            var after = standby.await(PATIENCE).orElseThrow();
            assertThat(after.token()).isGreaterThan(before.token());
        }
    }

    @Test
    void aWriteWhoseAnswerWasLostIsAdoptedAndNoGroundToStandDown() throws Exception {
        try (var proxy = dev.bellwether.testkit.FaultProxy.to("127.0.0.1", server.port());
                var elections = Elections.over(
                        LeaseStore.over(NatsRecordStore.open(
                                BucketClient.owning(
                                        Admin.of(proxy.port()).connection(), "nats://proxied", config("seeds")),
                                config("seeds"))),
                        dev.bellwether.ElectionsConfig.defaults())) {
            var log = new EventLog();
            var leader = elections.stand(
                    election,
                    CandidacyConfig.builder()
                            .lease(Duration.ofSeconds(9))
                            .listener(log)
                            .build());
            var mandate = leader.await(PATIENCE).orElseThrow();
            proxy.cut(dev.bellwether.testkit.Link.Way.ANSWERS);
            Eventually.eventually(
                    "a renewal went unanswered",
                    PATIENCE,
                    () -> mandate.remaining().toMillis() < 3_500);
            proxy.reset(); // the answer is lost for good
            proxy.heal();
            Eventually.eventually(
                    "the mandate is extended",
                    PATIENCE,
                    () -> mandate.remaining().toMillis() > 5_000);
            assertThat(log.turns()).containsExactly("Acquired " + mandate.token());
        }
    }

    @Test
    void aBucketThatWasMadeAgainIsNoticedBeforeATokenFalls() throws Exception {
        try (var admin = Admin.of(server.port());
                var elections = Elections.connect(server.uri("bucket=anew"))) {
            var log = new EventLog();
            var leader = elections.stand(
                    election,
                    CandidacyConfig.builder().lease(LEASE).listener(log).build());
            var before = leader.await(PATIENCE).orElseThrow();
            Eventually.eventually(
                    "it has renewed",
                    PATIENCE,
                    () -> leader.status().sinceProof().isPresent());
            admin.ask(connection -> {
                var management = connection.jetStreamManagement();
                var found = management.getStreamInfo("KV_anew").getConfiguration();
                management.deleteStream("KV_anew");
                return management.addStream(
                        StreamConfiguration.builder(found).firstSequence(0).build());
            });
            Eventually.eventually(
                    "the candidacy fails, or leads under a higher token",
                    PATIENCE,
                    () -> log.last(LeadershipEvent.Failed.class).isPresent()
                            || leader.mandate()
                                    .filter(mandate -> mandate.token() > before.token())
                                    .isPresent());
            assertThat(leader.status().token()).isGreaterThanOrEqualTo(before.token());
        }
    }

    @Test
    void onServersThatAnnounceItTokensRiseFromOneBucketToTheNextOfItsName() throws Exception {
        try (var newer = new NatsServer(Scripts.where("nats-server-cluster"), "newer", Ports.free(), "")) {
            newer.awaitPort();
            var last = 0L;
            for (var i = 0; i < 3; i++) {
                try (var elections = Elections.connect(newer.uri(BUCKET));
                        var leader = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(10)))) {
                    var token = leader.await(PATIENCE).orElseThrow().token();
                    assertThat(token).isGreaterThan(last);
                    last = token;
                }
                try (var admin = Admin.of(newer.port())) {
                    Boolean deleted = admin.ask(
                            connection -> connection.jetStreamManagement().deleteStream("KV_seeds"));
                    assertThat(deleted).isTrue();
                }
            }
        }
    }

    @Test
    void closeReleasesTheKeyAtOnceAndTellsTheLoss() throws Exception {
        var log = new EventLog();
        try (var elections = Elections.connect(server.uri(BUCKET));
                var others = Elections.connect(server.uri(BUCKET))) {
            var leader = elections.stand(
                    election,
                    CandidacyConfig.builder()
                            .lease(Duration.ofMinutes(1))
                            .listener(log)
                            .build());
            var mandate = leader.await(PATIENCE).orElseThrow();
            leader.close();
            leader.close(); // does not hang, as the original's stop does
            assertThat(log.turns())
                    .containsExactly("Acquired " + mandate.token(), "Revoked " + mandate.token() + " RESIGNED");
            var next = others.stand(election, CandidacyConfig.ofLease(Duration.ofMinutes(1)));
            assertThat(next.await(Duration.ofSeconds(20))).isPresent();
        }
    }

    private static NatsConfig config(String bucket) {
        return NatsConfig.builder().bucket(bucket).build();
    }
}
