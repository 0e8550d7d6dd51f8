package dev.bellwether.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.ConsulServer;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.Leading;
import dev.bellwether.http.HttpClients;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Proofs;
import dev.bellwether.testkit.servers.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** URIs that are wrong, servers that are, or are gone, and what becomes of a leader. */
@Timeout(240)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(3));
    private static final Duration LONG = Duration.ofSeconds(40);
    private static final int PLACES = 64;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "consul:host|must be of the form consul://host:8500/prefix",
                "consul:///prefix|must be of the form consul://host:8500/prefix",
                "consul://my_consul:8500/x|the host name my_consul:8500 holds an underscore",
                "consul://me:secret@host|with ?token=",
                "consul://host/a//b|must be of the form",
                "consul://host/a\"b|the prefix of letters, digits",
                "consul://host:99999|write a number from 1 to 65535",
                "consul://host?presence=10ms|it must be a second at least",
                "consul://host?lease=1s|unknown parameter \"lease\"",
                "consul://host?tls=false&keystore=x|names certificates and speaks no TLS",
                "consul://host?token=my%0Asecret@|the token holds a line break, or another character",
                "consul://host?token=mysecret@%E2%82%AC|the token holds a line break, or another character",
            })
    void aUriThatIsWrongIsRefusedBeforeAnythingIsConnected(String uri, String says) {
        assertThatThrownBy(() -> ConnectUri.parse(uri).check())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(says)
                .hasMessageNotContaining("secret@");
    }

    @Test
    void aLineBreakAtTheEndOfATokenIsNoPartOfIt() {
        var settings = ConsulSettings.of(ConnectUri.parse("consul://host?token=hush%0A"));
        assertThat(settings.token()).isEqualTo("hush");
    }

    @Test
    void whereNobodyListensTheMessageSaysSo() {
        assertThatThrownBy(() -> Elections.connect("consul://127.0.0.1:" + Ports.free()))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("refused");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200|<html>|false|does not answer as Consul's HTTP API does",
                "404|404 page not found|false|does not answer as Consul's HTTP API does",
                "500|No cluster leader|true|No cluster leader",
                "500|rpc error making call: stream closed|true|stream closed",
                "429|Your IP is issuing too many concurrent connections|true|too many concurrent connections",
                "503|rate limit reached, try again later|true|rate limit",
                "500|rpc error: tls: handshake message exceeds maximum of 65536 bytes|true|exceeds maximum",
                "503|upstream response exceeds buffer|true|exceeds buffer",
                "413|Request body too large, max size: 524288 bytes|false|Give the candidate less metadata",
                "500|No path to datacenter|false|Correct dc=",
                "403|Permission denied|false|It wants a token",
            })
    void whatAnAgentSaysIsToldAndWhatPassesIsWaitedFor(int status, String body, boolean passes, String says)
            throws IOException {
        try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, status, body));
            thread.setDaemon(true);
            thread.start();
            assertThatThrownBy(() -> Elections.connect("consul://127.0.0.1:" + server.getLocalPort()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(says)
                    .satisfies(error ->
                            assertThat(error instanceof UnavailableException).isEqualTo(passes));
        }
    }

    @Test
    void aStandbyGoesOnToListenAtAnotherAgentWhenItsOwnDies() throws Exception {
        try (var servers = ConsulServers.start(3)) {
            var leading = servers.leader();
            var others = servers.members().stream()
                    .filter(member -> !member.equals(leading))
                    .toList();
            var dying = others.get(0);
            try (var elections = Elections.connect(uri(others.get(1), leading, dying));
                    var leader = elections.stand("listened", CandidacyConfig.ofLease(LONG));
                    var standbys = Elections.connect(uri(dying, others.get(1), leading))) {
                var mandate = leader.await(PATIENCE).orElseThrow();
                var standby = standbys.stand("listened", CandidacyConfig.ofLease(LONG));
                Eventually.eventually(
                        "it follows",
                        PATIENCE,
                        () -> standby.status().following().isPresent());
                Eventually.eventually(
                        "it is listed, and asks nothing more",
                        PATIENCE,
                        () -> elections.election("listened").candidates().size() == 2);
                dying.kill();
                leader.resign();
                assertThat(standby.await(LONG.dividedBy(4)).orElseThrow().token())
                        .isGreaterThan(mandate.token());
            }
        }
    }

    private static String uri(ConsulServer... members) {
        return Stream.of(members)
                .map(member -> "127.0.0.1:" + member.port())
                .collect(Collectors.joining(",", "consul://", "?presence=1h"));
    }

    /** Says the same to every request. */
    private static void answer(ServerSocket server, int status, String body) {
        answer(server, status, body, () -> {});
    }

    private static void answer(ServerSocket server, int status, String body, Runnable afterEach) {
        while (!server.isClosed()) {
            try (var socket = server.accept();
                    var lines = new Scanner(socket.getInputStream(), StandardCharsets.UTF_8)) {
                for (var line = lines.nextLine(); !line.isEmpty(); line = lines.nextLine()) {
                    assertThat(line).as("of the head of the request").isNotBlank();
                }
                var bytes = body.getBytes(StandardCharsets.UTF_8);
                socket.getOutputStream()
                        .write(("HTTP/1.1 " + status + " So\r\nContent-Length: " + bytes.length
                                        + "\r\nConnection: close\r\n\r\n" + body)
                                .getBytes(StandardCharsets.UTF_8));
                afterEach.run();
            } catch (IOException | NoSuchElementException e) {
                // the next one
            }
        }
    }

    /** A leader whose reads are limited, and that has to read because of that, loses its lease. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "429|rate limit exceeded, try again later or against a different server|true",
                "503|rate limit exceeded for operation that can only be performed by the leader|true",
                "500|No cluster leader|false",
            })
    void thatAnAgentWasAskedTooMuchIsNoBreakThoughAnotherIsAskedNext(int status, String body, boolean isSame)
            throws IOException {
        try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, status, body));
            thread.setDaemon(true);
            thread.start();
            var uri = ConnectUri.parse("consul://127.0.0.1:" + server.getLocalPort() + ",127.0.0.1:" + Ports.free());
            var client = new ConsulClient(ConsulSettings.of(uri), HttpClients.of(uri));
            var session = client.session();
            assertThat(client.write(Urgency.KEEP, "[]", PATIENCE)).failsWithin(PATIENCE);
            assertThat(client.members().preferred()).isEqualTo(1);
            assertThat(client.session().equals(session)).isEqualTo(isSame);
        }
    }

    /** What waits for its turn has less of its time left for an answer, which says nothing of the agent. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRequestThatGetsItsTurnShortlyBeforeItsTimeIsOverIsNoBreak(boolean writes) throws Exception {
        try (var servers = ConsulServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port());
                var other = FaultProxy.to("127.0.0.1", servers.member(0).port())) {
            var uri = ConnectUri.parse("consul://127.0.0.1:" + link.port() + ",127.0.0.1:" + other.port());
            var client = new ConsulClient(ConsulSettings.of(uri), HttpClients.of(uri));
            var query = List.of("consistent");
            assertThat(client.read(Urgency.KEEP, ConsulClient.keys("x"), query, PATIENCE))
                    .succeedsWithin(PATIENCE);
            var session = client.session();
            link.delay(Duration.ofMillis(200)); // each way
            Eventually.eventually("one is sent shortly before its time is over", PATIENCE, () -> {
                var places = new ArrayDeque<CompletableFuture<String>>();
                for (var place = 0; place < PLACES; place++) {
                    var taken = new CompletableFuture<String>();
                    places.add(taken);
                    var unused = client.members().write(Urgency.KEEP, PATIENCE, (member, left) -> taken);
                }
                var isSent = new AtomicBoolean();
                var timeout = Duration.ofMillis(500);
                var until = System.nanoTime() + timeout.toNanos();
                HttpMembers.Attempt<ConsulClient.Answer> asking = (member, left) -> {
                    isSent.set(true);
                    return client.ask(member, ConsulClient.keys("x"), query, left);
                };
                var late = writes
                        ? client.members().write(Urgency.KEEP, timeout, asking)
                        : client.members().read(Urgency.KEEP, timeout, asking);
                while (until - System.nanoTime() > TimeUnit.MILLISECONDS.toNanos(50)) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
                places.forEach(place -> place.complete("")); // and it is sent
                assertThat(late).failsWithin(PATIENCE);
                if (isSent.get()) {
                    assertThat(client.session()).isEqualTo(session);
                }
                return isSent.get();
            });
            link.cut();
            var renewal = client.read(Urgency.KEEP, ConsulClient.keys("x"), query, Duration.ofSeconds(2));
            assertThat(renewal).as("one that had its whole time goes on").succeedsWithin(PATIENCE);
            assertThat(client.session()).as("when it has had no answer").isNotEqualTo(session);
        }
    }

    /** As behind a proxy that drops the index: each query was answered at once, and reads all there is. */
    @Test
    void aBlockingQueryThatDoesNotBlockIsNotAskedAgainAtOnce() throws Exception {
        try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var uri = ConnectUri.parse("consul://127.0.0.1:" + server.getLocalPort());
            var client = new ConsulClient(ConsulSettings.of(uri), ReplaceableClient.of(HttpClient.newHttpClient()));
            var answers = 5;
            var answered = new CountDownLatch(answers);
            var thread = new Thread(() -> answer(server, 200, "[]", answered::countDown));
            thread.setDaemon(true);
            thread.start();
            try (var watch = new ConsulWatch(client, "bellwether/")) {
                var begun = System.nanoTime();
                watch.add("bellwether/x", heard -> {});
                assertThat(answered.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(1_500));
            }
        }
    }

    /** Which says nothing of the agent. */
    @Test
    void aWatchThatAnExecutorRefusesStaysWithItsAgent() throws Exception {
        var asked = new LinkedBlockingQueue<Integer>();
        var client = new CompletableFuture<ConsulClient>();
        var full = HttpClient.newBuilder()
                .executor(task -> {
                    asked.add(client.join().members().preferred());
                    throw new RejectedExecutionException("planted");
                })
                .build();
        var uri = ConnectUri.parse("consul://127.0.0.1:" + Ports.free() + ",127.0.0.1:" + Ports.free());
        client.complete(new ConsulClient(ConsulSettings.of(uri), ReplaceableClient.of(full)));
        try (var watch = new ConsulWatch(client.join(), "bellwether/")) {
            watch.add("bellwether/x", heard -> {});
            for (var tries = 0; tries < 3; tries++) {
                assertThat(asked.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isZero();
            }
        }
    }

    @Test
    void aQueryThatIsGivenUpIsOver() throws IOException {
        try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var uri = ConnectUri.parse("consul://127.0.0.1:" + server.getLocalPort());
            var asked = new ConsulClient(ConsulSettings.of(uri), ReplaceableClient.of(HttpClient.newHttpClient()))
                    .ask(0, ConsulClient.keys("x"), List.of("wait=60s"), RequestTime.of(PATIENCE));
            try (var socket = server.accept()) {
                socket.setSoTimeout((int) PATIENCE.dividedBy(4).toMillis());
                assertThat(socket.getInputStream().read()).isPositive();
                assertThat(asked.cancel(true)).isTrue();
                assertThat(socket.getInputStream().readAllBytes())
                        .as("the rest, and that the connection is closed")
                        .isNotEmpty();
            }
        }
    }

    @Test
    void theDoctorTellsOfOneServerAndOfOneThatKeepsNothing() {
        try (var servers = ConsulServers.start(1);
                var backend = ConnectUri.parse(servers.uri("")).connect()) {
            assertThat(backend.findings(CONFIG))
                    .noneMatch(finding -> finding.level() == Finding.Level.ERROR)
                    .anyMatch(finding -> finding.says().contains("no failure is tolerated"))
                    .anyMatch(finding -> finding.says().contains("is Consul 1."));
        }
        try (var servers = ConsulServers.start(1, "-dev");
                var backend = ConnectUri.parse(servers.uri("")).connect()) {
            assertThat(backend.findings(CONFIG))
                    .anyMatch(finding -> finding.level() == Finding.Level.ERROR
                            && finding.says().contains("keeps nothing on disk"));
        }
    }

    @ParameterizedTest
    @CsvSource({"500, No cluster leader, quorum", "403, Permission denied, rights"})
    void whatAgentsDoNotTellKeepsNothingElseBack(int status, String body, String about) throws IOException {
        try (var server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, status, body));
            thread.setDaemon(true);
            thread.start();
            var uri = ConnectUri.parse("consul://127.0.0.1:" + server.getLocalPort());
            var settings = ConsulSettings.of(uri);
            assertThat(ConsulDoctor.findings(settings, new ConsulClient(settings, HttpClients.of(uri))))
                    .hasSize(2)
                    .allMatch(finding -> finding.level() == Finding.Level.WARNING)
                    .anyMatch(finding ->
                            finding.about().equals(about) && finding.says().contains("how many servers there are"));
        }
    }

    @Test
    void whenTheStoreHasForgottenALeaderNobodyLeadsBesideItAndTokensRise() throws Exception {
        try (var servers = ConsulServers.start(1)) {
            Leading.nobodyLeadsBesideOneThatIsForgotten(servers.member(0), servers.uri(""), CONFIG);
        }
    }

    @Test
    void aLongLeaseRidesThroughTheDeathOfTheServersLeaderAndAFrozenOne() throws Exception {
        // renewed every few seconds, and still long compared with how long a busy machine takes to choose a leader
        var config = CandidacyConfig.builder()
                .lease(Duration.ofMinutes(5))
                .renewInterval(LONG.dividedBy(4))
                .build();
        try (var servers = ConsulServers.start(3);
                var elections = Elections.connect(servers.uri(""));
                var leader = elections.stand("riding", config);
                var others = Elections.connect(servers.uri(""))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = others.stand("riding", config);
            var dead = servers.leader();
            dead.kill();
            var killed = System.nanoTime();
            Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, killed));
            dead.start();
            Eventually.eventually(
                    "all are there",
                    PATIENCE,
                    () -> dead.get("/v1/kv/x?consistent&keys").isEmpty()
                            && dead.get("/v1/status/leader").contains(":"));
            servers.member(0).pause(); // the first of the URI
            assertThat(Eventually.eventually("it is read", PATIENCE, () -> {
                        try {
                            return elections.election("riding").leader();
                        } catch (UnavailableException e) { // another may have to be chosen
                            return Optional.<Leader>empty();
                        }
                    }))
                    .isNotNull();
            servers.member(0).resume();
            assertThat(leader.mandate()).contains(mandate);
            leader.resign();
            assertThat(standby.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }
}
