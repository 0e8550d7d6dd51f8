package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.kubernetes.StubServer.Reply;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.servers.Ports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** URIs that are wrong, servers that are, or are gone, and what becomes of a leader. */
@Tag("kubernetes")
@Timeout(300)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "k8s:Payments|must be of the form k8s:namespace",
                "k8s://host:6443/payments|must be of the form k8s:namespace",
                "k8s:a/b|must be of the form k8s:namespace",
                "k8s:payments?presence=10ms|it must be a second at least",
                "k8s:payments?lease=1s|unknown parameter \"lease\"",
            })
    void aUriThatIsWrongIsRefusedBeforeAnythingIsConnected(String uri, String says) {
        assertThatThrownBy(() -> ConnectUri.parse(uri).check())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(says);
    }

    @Test
    void whereNobodyListensTheMessageSaysSo() throws IOException {
        var port = Ports.free();
        var file = Files.writeString(
                folder.resolve("nobody"),
                "{current-context: x, contexts: [{name: x, context: {cluster: x}}], clusters: [{name: x, cluster:"
                        + " {server: 'http://127.0.0.1:" + port + "'}}]}");
        assertThatThrownBy(() -> Elections.connect("k8s:default?kubeconfig=" + file))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContainingAll("127.0.0.1:" + port, "refused");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200|<html>|false|does not answer as an API server with Leases does",
                "404|404 page not found|false|does not answer as an API server with Leases does",
                "404|{\"kind\":\"Status\",\"message\":\"the server could not find the requested resource\"}|false|does not answer",
                "500|{\"kind\":\"Status\",\"message\":\"etcdserver: request timed out\"}|true|request timed out",
                "503|no healthy upstream|true|no healthy upstream",
                "429|Too many requests|true|Too many requests",
                "401|{\"kind\":\"Status\",\"message\":\"Unauthorized\"}|false|its token or certificate has expired",
            })
    void whatAServerSaysIsToldAndWhatPassesIsWaitedFor(int status, String body, boolean passes, String says)
            throws IOException {
        var token = Files.writeString(folder.resolve("token"), "hush-hush");
        try (var stub = new StubServer(request -> Reply.of(status, body))) {
            assertThatThrownBy(() -> Elections.connect(stub.uri("payments", token)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(says)
                    .hasMessageNotContaining("hush-hush")
                    .satisfies(error ->
                            assertThat(error instanceof UnavailableException).isEqualTo(passes));
        }
    }

    @Test
    void theDoctorTellsOfTheServerAndOfWhatItDoesNotTell() {
        try (var servers = KubernetesServers.start(1, 1);
                var backend = ConnectUri.parse(servers.uri("doctor", "")).connect()) {
            assertThat(backend.findings(CONFIG))
                    .noneMatch(finding -> finding.level() == Finding.Level.ERROR)
                    .anyMatch(finding -> finding.says().contains("Leases of namespace doctor at 127.0.0.1:"))
                    .anyMatch(finding -> finding.says().contains("a higher resourceVersion is a later one"))
                    .anyMatch(finding -> finding.about().equals("rights") && finding.level() == Finding.Level.WARNING)
                    .anyMatch(finding -> finding.says().contains("in the etcd of the API server"));
        }
    }

    @Test
    void whenTheStoreHasForgottenALeaderNobodyLeadsBesideItAndTokensRise() throws Exception {
        try (var servers = KubernetesServers.start(1, 1);
                var auditor = new LeadershipAuditor();
                var one = Elections.connect(servers.uri("default", ""));
                var first = one.stand("forgotten", CONFIG);
                var two = Elections.connect(servers.uri("default", ""))) {
            auditor.audit(first);
            assertThat(first.await(PATIENCE)).isPresent();
            servers.etcd().member(0).save();
            assertThat(first.await(PATIENCE)).isPresent();
            var second = two.stand("forgotten", CONFIG);
            auditor.audit(second);
            first.resign();
            var token = second.await(PATIENCE).orElseThrow().token();

            servers.member(0).kill(); // as the documentation of a restore demands
            servers.etcd().member(0).restore(); // the first one's record is there again
            servers.member(0).start();
            servers.awaitLeases(0);

            var later = Eventually.eventually(
                    "one leads under a higher token",
                    PATIENCE,
                    () -> first.mandate().or(second::mandate).filter(mandate -> mandate.token() > token));
            assertThat(later.token()).isGreaterThan(token);
        }
    }

    @Test
    void aLongLeaseRidesThroughARestartAndAFrozenServerAndACutLink() throws Exception {
        try (var servers = KubernetesServers.start(1, 1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var elections = Elections.connect("k8s:default?kubeconfig=" + servers.kubeconfig(link.port()));
                var leader = elections.stand("riding", LONG);
                var others = Elections.connect(servers.uri("default", ""))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("riding", LONG);
            servers.member(0).kill();
            servers.member(0).start();
            servers.awaitLeases(0);
            proves(leader);
            servers.member(0).pause();
            Eventually.throughout(
                    "it is frozen",
                    Duration.ofSeconds(2),
                    () -> leader.mandate().isPresent());
            servers.member(0).resume();
            proves(leader);
            link.cut();
            Eventually.throughout(
                    "it is cut", Duration.ofSeconds(2), () -> leader.mandate().isPresent());
            link.heal();
            proves(leader);
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }

    private static void proves(Candidacy leader) {
        var begun = System.nanoTime();
        Eventually.eventually(
                "the lease is extended",
                PATIENCE,
                () -> leader.status()
                        .sinceProof()
                        .filter(age -> age.toNanos() < System.nanoTime() - begun)
                        .isPresent());
    }
}
