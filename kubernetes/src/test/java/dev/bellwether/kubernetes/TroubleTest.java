package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.kubernetes.ClusterAccess.Surroundings;
import dev.bellwether.kubernetes.StubServer.Reply;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.servers.Ports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** URIs that are wrong, servers that are, or are gone, and what becomes of a leader. */
@Tag("kubernetes")
@Timeout(300)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final CandidacyConfig LONG = CandidacyConfig.ofLease(Duration.ofSeconds(40));
    private static final int PLACES = 50;

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

    @ParameterizedTest
    @ValueSource(strings = {"hush\nhush", "hush-hush-\u20ac"})
    void aTokenThatNoHeaderMayHaveIsRefusedWithoutShowingIt(String text) throws IOException {
        var token = Files.writeString(folder.resolve("token"), text);
        try (var stub = new StubServer(request -> Reply.of(200, "{}"))) {
            assertThatThrownBy(() -> Elections.connect(stub.uri("payments", token)))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("holds a line break, or another character")
                    .hasMessageNotContaining("hush")
                    .hasNoCause();
        }
    }

    @Test
    void aLineBreakAtTheEndOfATokenInAKubeconfigFileIsNoPartOfIt() {
        assertThat(new FreshText("hush\n").current()).isEqualTo("hush");
    }

    /** What waits for its turn has less of its time left for an answer, which says nothing of the server. */
    @Test
    void aRequestThatGetsItsTurnShortlyBeforeItsTimeIsOverIsNoBreak() throws IOException {
        var token = Files.writeString(folder.resolve("token"), "hush-hush");
        var answers = new CompletableFuture<Reply>();
        try (var stub = new StubServer(request -> answers.join())) {
            var client = client(stub, token);
            Eventually.eventually("one is sent shortly before its time is over", PATIENCE, () -> {
                var places = new ArrayDeque<CompletableFuture<String>>();
                for (var place = 0; place < PLACES; place++) {
                    var taken = new CompletableFuture<String>();
                    places.add(taken);
                    var unused = client.members().write(Urgency.KEEP, PATIENCE, (member, left) -> taken);
                }
                var timeout = Duration.ofMillis(500);
                var until = System.nanoTime() + timeout.toNanos();
                var late = client.get(Urgency.KEEP, "get", client.leases("/x"), timeout);
                while (until - System.nanoTime() > TimeUnit.MILLISECONDS.toNanos(50)) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
                places.forEach(place -> place.complete("")); // and it is sent
                assertThat(late).failsWithin(PATIENCE);
                assertThat(client.session()).isEqualTo("0");
                return late.handle((answer, error) -> String.valueOf(error).contains("did not answer"))
                        .join();
            });
            assertThat(client.get(Urgency.KEEP, "get", client.leases("/x"), Duration.ofMillis(500)))
                    .as("one that has its whole time")
                    .failsWithin(PATIENCE);
            assertThat(client.session()).isEqualTo("1");
        } finally {
            answers.complete(Reply.absent("x"));
        }
    }

    @Test
    void noMoreIsOneThatWaitedUntilTheServerMayBeAskedAgain() throws IOException {
        var token = Files.writeString(folder.resolve("token"), "hush-hush");
        var answers = new CompletableFuture<Reply>();
        var isFirst = new AtomicBoolean(true);
        try (var stub = new StubServer(request -> isFirst.getAndSet(false)
                ? new Reply(429, Map.of("Retry-After", "1"), "{\"kind\":\"Status\",\"message\":\"later\"}")
                : answers.join())) {
            var client = client(stub, token);
            assertThat(client.get(Urgency.KEEP, "get", client.leases("/x"), PATIENCE))
                    .failsWithin(PATIENCE);
            var late = client.get(Urgency.KEEP, "get", client.leases("/x"), Duration.ofMillis(1_100));
            assertThat(late)
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class)
                    .withMessageContaining("did not answer");
            assertThat(client.session()).isEqualTo("0");
        } finally {
            answers.complete(Reply.absent("x"));
        }
    }

    /** As of a server whose cache is behind its store: all was listed again, as fast as it answered. */
    @Test
    void aVersionThatIsGoneAsSoonAsItWasListedIsNotListedAgainAtOnce() throws Exception {
        var token = Files.writeString(folder.resolve("token"), "hush-hush");
        var lists = 10;
        var listed = new CountDownLatch(lists);
        var gone = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}}\n";
        try (var stub = new StubServer(request -> {
            if (request.uri().contains("watch=true")) {
                return Reply.of(200, gone);
            }
            listed.countDown();
            return Reply.list();
        })) {
            var begun = System.nanoTime();
            try (var watch = new KubernetesWatch(client(stub, token), false)) {
                watch.add("x", heard -> {});
                assertThat(listed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofSeconds(4));
            }
        }
    }

    private static KubernetesClient client(StubServer stub, Path token) {
        var settings = KubernetesSettings.of(ConnectUri.parse(stub.uri("payments", token)));
        var access = ClusterAccess.of(settings, Surroundings.real());
        return new KubernetesClient(settings, access, access::client);
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
        Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, begun));
    }
}
