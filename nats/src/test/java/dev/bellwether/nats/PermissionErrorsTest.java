package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.nats.NatsServer;
import io.nats.client.Options;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * With the rights that Choria's brokers grant to those who only stand in elections: to ask after the bucket and to
 * write keys, and to hear answers in an inbox of their own. They may not read keys, nor watch them.
 */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for an election of its own
class PermissionErrorsTest {
    private static final Duration TTL = Duration.ofSeconds(4);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(2));
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String INBOX = "choria.reply.0c1d2e3f";
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final String USER =
            "{ user: %1$s, password: %1$s, permissions: { publish: { allow: [%2$s] }, subscribe: { allow: [\"*.reply.0c1d2e3f.>\"] } } }";
    private static final String INFO = "\"$JS.API.STREAM.INFO.KV_CHORIA_LEADER_ELECTION\"";
    private static final String KEYS = "\"$KV.CHORIA_LEADER_ELECTION.>\"";

    @SuppressWarnings("NullAway.Init")
    private static NatsServer server;

    private final String election = "restricted-" + SERIAL.incrementAndGet();

    @BeforeAll
    static void startServer() {
        server = NatsServers.alone("""
                accounts {
                  choria {
                    jetstream: enabled
                    users: [
                      { user: broker, password: broker }
                      %s
                      %s
                      %s
                    ]
                    exports: [
                      { service: %4$s, accounts: [provisioning] }
                      { service: "$KV.CHORIA_LEADER_ELECTION.provisioner", accounts: [provisioning] }
                    ]
                  }
                  provisioning {
                    users: [
                      %5$s
                    ]
                    imports: [
                      { service: { account: choria, subject: %4$s }, to: "choria.streams.STREAM.INFO.KV_CHORIA_LEADER_ELECTION" }
                      { service: { account: choria, subject: "$KV.CHORIA_LEADER_ELECTION.provisioner" } }
                    ]
                  }
                }
                """.formatted(
                        USER.formatted("elector", INFO + ", " + KEYS),
                        USER.formatted("onlooker", INFO),
                        USER.formatted("stranger", KEYS),
                        INFO,
                        USER.formatted(
                                "provisioner",
                                "\"choria.streams.STREAM.INFO.KV_CHORIA_LEADER_ELECTION\","
                                        + " \"$KV.CHORIA_LEADER_ELECTION.provisioner\"")));
        Elections.connect(uri("broker", "choria=true&ttl=PT4S")).close(); // the bucket is the broker's to make
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    @Test
    void withNoMoreThanTheseRightsACandidateLeadsAndIsSucceededByAnother() throws Exception {
        try (var one = Elections.connect(elector());
                var other = Elections.connect(elector());
                var auditor = new LeadershipAuditor()) {
            var leader = one.stand(election, CONFIG);
            auditor.audit(leader);
            var before = leader.await(PATIENCE).orElseThrow();
            var standby = other.stand(election, CONFIG);
            auditor.audit(standby);
            Eventually.throughout("it goes on to lead, and alone", TTL.multipliedBy(2), before::isValid);
            leader.close();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(before.token());
        }
    }

    @Test
    void withNoMoreThanTheseRightsNobodyLeadsTogetherWithACandidateOfChorias() throws Exception {
        try (var broker = broker();
                var elections = Elections.connect(elector())) {
            var bucket = broker.connection().keyValue(NatsConfig.CHORIA_BUCKET);
            Candidacy ours;
            try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO)) {
                Eventually.eventually("theirs leads", PATIENCE, theirs::isLeader);
                ours = elections.stand(election, CONFIG);
                Eventually.throughout("theirs leads on, and alone", TTL.multipliedBy(3), () -> !ours.isLeader());
                assertThat(theirs.isLeader()).isTrue();
            }
            assertThat(ours.await(PATIENCE)).isPresent();
            assertThat(bucket.get(election).getValueAsString()).isEqualTo(ours.candidate());
            try (var theirs = new ChoriaLike(bucket, election, "theirs", TTL, Duration.ZERO)) {
                Eventually.throughout("ours leads on, and alone", TTL.multipliedBy(2), () -> !theirs.isLeader());
                assertThat(ours.isLeader()).isTrue();
                bucket.delete(election); // as choria election evict does
                var evicted = ours.mandate().orElseThrow();
                Eventually.eventually("it is heard", PATIENCE, () -> !evicted.isValid());
                Eventually.eventually("one leads", PATIENCE, () -> {
                    assertThat(theirs.isLeader() && ours.isLeader()).isFalse();
                    return theirs.isLeader() || ours.isLeader();
                });
            }
        }
    }

    @Test
    void aConnectionOfTheApplicationsWithTheseRightsWillDo() throws Exception {
        try (var admin = Admin.of(Options.builder()
                        .server("nats://127.0.0.1:" + server.port())
                        .userInfo("elector", "elector")
                        .inboxPrefix(INBOX)
                        .build());
                var elections = NatsElections.using(
                        admin.connection(), NatsConfig.builder().choria(true).build(), ElectionsConfig.defaults());
                var leader = elections.stand(election, CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void theProvisioningAccountStandsByItsImportForTheOneElectionThatItMay() throws Exception {
        var log = new EventLog();
        try (var elections = Elections.connect(uri("provisioner", "choria=true&prefix=choria.streams&inbox=" + INBOX));
                var leader = elections.stand("provisioner", CONFIG);
                var other = elections.stand(
                        "other",
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(2))
                                .listener(log)
                                .build())) {
            assertThat(leader.await(PATIENCE)).isPresent();
            assertThat(failure(log)).contains("may not publish to $KV.CHORIA_LEADER_ELECTION.other");
            assertThat(other.isLeader()).isFalse();
            assertThat(leader.isLeader()).isTrue();
        }
    }

    @Test
    void whoMayNotReadIsToldWhichRightIsMissingWhenHeAsksWhoLeads() throws Exception {
        try (var elections = Elections.connect(elector())) {
            var seat = elections.election(election);
            assertThatThrownBy(seat::leader)
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("$JS.API.STREAM.MSG.GET.KV_CHORIA_LEADER_ELECTION");
            assertThatThrownBy(seat::standDown)
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("$JS.API.STREAM.MSG.GET.KV_CHORIA_LEADER_ELECTION");
        }
    }

    @Test
    void aMissingRightToWriteEndsTheCandidacyAndIsNamed() throws Exception {
        var log = new EventLog();
        try (var elections = Elections.connect(uri("onlooker", "choria=true&inbox=" + INBOX));
                var candidacy = elections.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(2))
                                .listener(log)
                                .build())) {
            assertThat(failure(log)).contains("may not publish to $KV.CHORIA_LEADER_ELECTION." + election);
            assertThat(candidacy.isLeader()).isFalse();
        }
    }

    @Test
    void aMissingRightToAskAfterTheBucketIsNamed() {
        assertThatThrownBy(() -> Elections.connect(uri("stranger", "choria=true&inbox=" + INBOX)))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("may not publish to $JS.API.STREAM.INFO.KV_CHORIA_LEADER_ELECTION");
    }

    @Test
    void aMissingRightToHearAnswersIsNamedAndTheWayOut() {
        assertThatThrownBy(() -> Elections.connect(uri("elector", "choria=true")))
                .isInstanceOf(ElectionException.class)
                .isNotInstanceOf(UnavailableException.class)
                .hasMessageContaining("may not subscribe to _INBOX.")
                .hasMessageContaining("(inbox)");
    }

    @Test
    void outsideOfChoriasBucketsTheRightToReadIsNeededAndNamed() throws Exception {
        var log = new EventLog();
        try (var elections = Elections.connect(uri("elector", "bucket=CHORIA_LEADER_ELECTION&inbox=" + INBOX));
                var candidacy = elections.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(2))
                                .listener(log)
                                .build())) {
            assertThat(failure(log)).contains("may not publish to $JS.API.STREAM.MSG.GET.KV_CHORIA_LEADER_ELECTION");
            assertThat(candidacy.isLeader()).isFalse();
        }
    }

    @Test
    void theRightsThatTheDocumentsListAreEnough() throws Exception {
        var rights = """
                "$JS.API.STREAM.INFO.KV_elections", "$JS.API.STREAM.CREATE.KV_elections",
                "$JS.API.STREAM.MSG.GET.KV_elections", "$JS.API.STREAM.PURGE.KV_elections",
                "$JS.API.CONSUMER.CREATE.KV_elections.>", "$KV.elections.>\"""";
        var lease = CandidacyConfig.ofLease(Duration.ofMinutes(3)); // longer than a test waits
        try (var ordinary = NatsServers.alone("authorization { users: [ " + USER.formatted("app", rights) + " ] }")) {
            var uri = "nats://app:app@127.0.0.1:" + ordinary.port() + "?bucket=elections&inbox=" + INBOX;
            try (var one = Elections.connect(uri);
                    var other = Elections.connect(uri)) {
                var leader = one.stand(election, lease);
                assertThat(leader.await(PATIENCE)).isPresent();
                var standby = other.stand(election, lease);
                Eventually.eventually(
                        "both are listed",
                        PATIENCE,
                        () -> other.election(election).candidates().size() == 2);
                assertThat(other.election(election).standDown()).isTrue();
                assertThat(standby.await(PATIENCE)).isPresent();
                leader.close();
                Eventually.eventually(
                        "who left is listed no more",
                        PATIENCE,
                        () -> other.election(election).candidates().size() == 1);
            }
        }
    }

    @Test
    void howeverManySubjectsAreRefusedTheNextOneIsHeard() {
        var rights = new PermissionErrors();
        for (var i = 0; i <= 1_000; i++) {
            refuse(rights, "$KV.elections." + i);
        }
        var sent = System.nanoTime();
        refuse(rights, "$JS.API.CONSUMER.CREATE.KV_elections");

        assertThat(rights.missing("$JS.API.CONSUMER."))
                .contains("may not publish to $JS.API.CONSUMER.CREATE.KV_elections: grant that right");
        assertThat(rights.watched("$JS.API.CONSUMER.CREATE.KV_elections", sent, new CompletableFuture<>()))
                .isCompletedExceptionally();
    }

    private static void refuse(PermissionErrors rights, String subject) {
        assertThat(rights.heard("Permissions Violation for Publish to \"" + subject + '"'))
                .isTrue();
    }

    private static String failure(EventLog log) {
        var failed = (LeadershipEvent.Failed)
                Eventually.eventually("it fails", PATIENCE, () -> log.last(LeadershipEvent.Failed.class))
                        .event();
        return String.valueOf(failed.error().getMessage());
    }

    private static Admin broker() {
        return Admin.of(BucketClient.ourOptions()
                .server("nats://127.0.0.1:" + server.port())
                .userInfo("broker", "broker")
                .build());
    }

    private static String elector() {
        return uri("elector", "choria=true&inbox=" + INBOX);
    }

    private static String uri(String user, String query) {
        return "nats://" + user + ':' + user + "@127.0.0.1:" + server.port() + '?' + query;
    }
}
