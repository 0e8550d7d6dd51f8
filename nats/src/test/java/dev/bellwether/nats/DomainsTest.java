package dev.bellwether.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** JetStream that is somewhere else: in another domain, or in another account. */
class DomainsTest {
    /** So long that whoever waited for it is told from who did not. */
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofMinutes(2));

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void aCandidateOnALeafStandsInTheDomainOfTheHub() throws Exception {
        var port = Ports.free();
        try (var hub = new NatsServer(
                        Scripts.where("nats-server"),
                        "hub",
                        Ports.free(),
                        "domain: hub",
                        "leafnodes { listen: \"127.0.0.1:%d\" }".formatted(port));
                var leaf = new NatsServer(
                        Scripts.where("nats-server"),
                        "leaf",
                        Ports.free(),
                        "domain: leaf",
                        "leafnodes { remotes: [ { url: \"nats://127.0.0.1:%d\" } ] }".formatted(port))) {
            hub.awaitPort();
            leaf.awaitPort();
            handsOver(hub.uri("bucket=domains"), leaf.uri("bucket=domains&domain=hub"));
            handsOver(leaf.uri("bucket=domains&domain=hub"), hub.uri("bucket=domains&domain=hub"));
            assertThat(streams(hub)).isEqualTo(1);
            assertThat(streams(leaf)).as("kept in the hub, and not here").isZero();
        }
    }

    /** No server is there: that would be told if it were connected to first. That connection stayed open. */
    @ParameterizedTest
    @ValueSource(strings = {"domain=a*b", "domain=.hub", "prefix=hub.%3E", "prefix=hub%20API"})
    void whatCanBeNoneIsRefusedBeforeAnythingIsConnectedTo(String wrong) {
        var nobody = "nats://127.0.0.1:" + Ports.free() + "?bucket=domains&";
        assertThatThrownBy(() -> Elections.connect(nobody + wrong))
                .isExactlyInstanceOf(ElectionException.class)
                .hasMessageContaining(wrong.replaceAll("=.*", " \""));
    }

    @Test
    void aCandidateInAnotherAccountStandsByThePrefixOfItsImport() throws Exception {
        try (var server = NatsServers.alone("""
                accounts {
                  HUB {
                    jetstream: enabled
                    users: [ { user: hub, password: hub } ]
                    exports: [
                      { service: "$JS.API.>", response_type: stream }
                      { service: "$KV.shared.>" }
                      { service: "$JS.FC.>" }
                      { stream: "_INBOX.>" }
                    ]
                  }
                  APP {
                    users: [ { user: app, password: app } ]
                    imports: [
                      { service: { account: HUB, subject: "$JS.API.>" }, to: "hub.API.>" }
                      { service: { account: HUB, subject: "$KV.shared.>" }, to: "hub.API.$KV.shared.>" }
                      { service: { account: HUB, subject: "$JS.FC.>" } }
                      { stream: { account: HUB, subject: "_INBOX.>" } }
                    ]
                  }
                }
                """)) {
            var hub = "nats://hub:hub@127.0.0.1:" + server.port() + "?bucket=shared";
            var app = "nats://app:app@127.0.0.1:" + server.port() + "?bucket=shared&prefix=hub.API";
            handsOver(hub, app);
            handsOver(app, hub);
            hearsForLong(server, app);
        }
    }

    private static void hearsForLong(NatsServer server, String uri) {
        var hub = BucketClient.ourOptions().server("nats://hub:hub@127.0.0.1:" + server.port());
        try (var admin = Admin.of(hub.build());
                var elections = Elections.connect(uri);
                var watch = elections.election("overwritten").watch(who -> {})) {
            assertThat(watch).isNotNull();
            Eventually.eventually("it is watched", PATIENCE, () -> admin.isWatched("KV_shared", "overwritten"));
            admin.overwrite("shared", "overwritten");
            Eventually.eventually("all is heard", PATIENCE, () -> admin.isAllTold("KV_shared"));
        }
    }

    /** The one leads, the other follows it, and is told at once when it leaves. */
    private static void handsOver(String first, String second) throws Exception {
        var election = "handed-over-" + System.nanoTime();
        try (var one = Elections.connect(first);
                var other = Elections.connect(second);
                var auditor = new LeadershipAuditor()) {
            var leader = one.stand(election, CONFIG);
            auditor.audit(leader);
            var before = leader.await(PATIENCE).orElseThrow();
            var standby = other.stand(election, CONFIG);
            auditor.audit(standby);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(before.token());
        }
    }

    private static int streams(NatsServer server) {
        try (var admin = Admin.of(server.port())) {
            return admin.ask(connection ->
                    connection.jetStreamManagement().getStreamNames().size());
        }
    }
}
