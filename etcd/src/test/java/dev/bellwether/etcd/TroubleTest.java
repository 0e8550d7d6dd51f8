package dev.bellwether.etcd;

import static dev.bellwether.fixtures.Doctor.only;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.BusyPool;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.fixtures.EtcdServer;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.http.HttpClients;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.servers.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.security.Security;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said when something is wrong, and what the doctor finds. */
@Timeout(240)
class TroubleTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(12));

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "etcd:host; must be of the form etcd://host:2379/prefix",
                "etcd:///prefix; must be of the form etcd://host:2379/prefix",
                "etcd://one,,two/x; must be of the form etcd://host:2379/prefix",
                "etcd://user@host/x; user:password@",
                "etcd://host:port/x; must be of the form etcd://host:2379/prefix",
                "etcd://one,host:66443/x; the port of host:66443 is none: write a number from 1 to 65535",
                "etcd://one,my_etcd/x; the host name my_etcd holds an underscore",
                "etcd://host/x?bucket=y; unknown parameter \"bucket\"",
                "etcd://host/x?presence=soon; presence is \"soon\"",
                "etcd://host/x?presence=1ms; presence is 1 ms",
                "etcd://host/x?sharing=-1; sharing is \"-1\"",
                "etcd://host/x?tls=maybe; true or false",
                "etcd://host/x?tls=false&truststore=y; names certificates and speaks no TLS"
            })
    void aUriThatIsWrongIsRefusedBeforeAnythingIsAsked(String uri, String right) {
        assertThatThrownBy(() -> new EtcdProvider().check(ConnectUri.parse(uri)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(right);
    }

    @Test
    void nobodyAtTheAddressIsToldAsThat() {
        var port = Ports.free();
        assertThatThrownBy(() -> Elections.connect("etcd://127.0.0.1:" + port))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("connection to 127.0.0.1:" + port + " refused");
    }

    @Test
    void aServerThatIsNotEtcdIsNamedAsThat() throws Exception {
        for (var said : List.of("<html>Welcome</html>", "{\"leader\":\"me\"}", "")) {
            try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
                var thread = new Thread(() -> answer(server, said, new AtomicInteger()), "no-etcd");
                thread.setDaemon(true);
                thread.start();
                assertThatThrownBy(() -> Elections.connect("etcd://127.0.0.1:" + server.getLocalPort()))
                        .as(said)
                        .isInstanceOf(ElectionException.class)
                        .isNotInstanceOf(UnavailableException.class)
                        .hasMessageContaining("does not answer as etcd's JSON gateway does");
            }
        }
    }

    /** Such as of a proxy whose servers are being started: who connects lazily tries again. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "503 Service Unavailable|<html>none</html>",
                "503 Service Unavailable|503 Service Unavailable",
                "502 Bad Gateway|''",
                "429 Too Many Requests|{\"message\":\"later\"}"
            })
    void whatStandsBeforeTheMembersAndHasNoneMayHaveOneLater(String status, String said) throws Exception {
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, status, said, new AtomicInteger()), "no-etcd-yet");
            thread.setDaemon(true);
            thread.start();
            assertThatThrownBy(() -> Elections.connect("etcd://127.0.0.1:" + server.getLocalPort()))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("it said: " + status.substring(0, 3) + ' ');
        }
    }

    @Test
    void versionsThatLoseWhatTheyAcknowledgedAreTold() {
        assertThat(said("3.5.2", 3)).startsWith("ERROR").contains("etcd#13766");
        assertThat(said("3.5.4", 1)).startsWith("ERROR").contains("etcd 3.5.4 as the only member", "etcd#14370");
        assertThat(said("3.4.20", 1)).startsWith("ERROR");
        assertThat(said("3.4.9", 1)).startsWith("ERROR");
        for (var version : List.of("3.4.21", "3.5.5", "3.5.30", "3.6.0")) {
            assertThat(said(version, 1)).startsWith("OK");
        }
        assertThat(said("3.5.4", 3)).startsWith("OK");
    }

    private static String said(String version, long voters) {
        var finding = EtcdDoctor.version(Set.of(version), voters);
        return finding.level() + " " + finding.says();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "<html>login of s3cr3t failed</html>",
                "{\"header\":\"\",\"code\":3,\"message\":\"authentication failed: s3cr3t\"}",
                "{\"header\":{},\"token\":\"to\\nken\"}"
            })
    void whatAServerSaysIsToldWithoutSecrets(String said) throws Exception {
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, said, new AtomicInteger()), "no-etcd");
            thread.setDaemon(true);
            thread.start();
            assertThatThrownBy(() -> Elections.connect("etcd://app:s3cr3t@127.0.0.1:" + server.getLocalPort()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageNotContaining("s3cr3t")
                    .hasMessageNotContaining("to\nken");
        }
    }

    @Test
    void anAnswerThatBeginsAndDoesNotEndIsNone() throws Exception {
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var settings = EtcdSettings.of(ConnectUri.parse("etcd://127.0.0.1:" + server.getLocalPort()));
            var asked = new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient()))
                    .read(RequestLimiter.Urgency.LOOK, "kv/range", "{}", Duration.ofMillis(500));
            try (var socket = server.accept()) {
                socket.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{".getBytes(UTF_8));
                assertThatThrownBy(() -> asked.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .hasCauseInstanceOf(UnavailableException.class)
                        .hasMessageContaining("did not answer kv/range within");
                assertThat(socket.getInputStream().readAllBytes())
                        .as("the connection is closed")
                        .isNotEmpty();
            }
        }
    }

    @Test
    void aReadingWhoseConnectionBreaksIsAskedForOnceMore() {
        try (var servers = EtcdServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port())) {
            var client = client(link);
            assertThat(look(client)).succeedsWithin(PATIENCE);
            for (var i = 0; i < 20; i++) {
                link.cut();
                var asked = client.read(RequestLimiter.Urgency.LOOK, "kv/range", "{\"key\":\"YQ==\"}", PATIENCE);
                link.reset();
                link.heal();
                assertThat(asked).succeedsWithin(PATIENCE);
            }
        }
    }

    @Test
    void anOutageMakesNoMoreThanOneClientInPlaceOfTheOldOne() {
        try (var servers = EtcdServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port())) {
            var client = client(link);
            assertThat(look(client)).succeedsWithin(PATIENCE);
            var before = httpClients();
            link.cut();
            for (var tries = 0; tries < 15; tries++) {
                assertThat(look(client)).failsWithin(PATIENCE);
            }
            assertThat(httpClients()).isLessThanOrEqualTo(before + 1);
            link.heal();
            assertThat(look(client)).succeedsWithin(PATIENCE);
        }
    }

    @Test
    void aStreamGoesOnWhenItsClientIsReplaced() throws Exception {
        try (var servers = EtcdServers.start(1);
                var link = FaultProxy.to("127.0.0.1", servers.member(0).port())) {
            var client = client(link);
            var watch = "{\"create_request\":{\"key\":\"YQ==\"}}";
            try (var lines = client.stream(0, "watch", watch, PATIENCE).get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                var heard = lines.iterator();
                assertThat(heard.next()).contains("created");
                var before = httpClients();
                Eventually.eventually("there is another client", PATIENCE, () -> {
                    assertThat(look(client)).succeedsWithin(PATIENCE);
                    link.abandonOne(1); // the stream's is the first
                    assertThat(look(client)).failsWithin(PATIENCE);
                    return httpClients() > before;
                });
                System.gc(); // which takes the old one, if nothing is under way on it
                assertThat(look(client)).succeedsWithin(PATIENCE);
                servers.member(0).ask("kv/put", "{\"key\":\"YQ==\"}");
                assertThat(CompletableFuture.supplyAsync(heard::next))
                        .succeedsWithin(PATIENCE)
                        .asString()
                        .contains("YQ==");
            }
        }
    }

    /** From Java 26 on that time would be one for all of the stream, and not for its beginning only. */
    @Test
    void aStreamIsAskedForWithoutATimeThatWouldEndItAndAllElseWithOne() throws Exception {
        try (var servers = EtcdServers.start(1)) {
            var requests = new CopyOnWriteArrayList<HttpRequest>();
            var client = new EtcdClient(
                    EtcdSettings.of(ConnectUri.parse(servers.uri(""))),
                    ReplaceableClient.of(new HeardClient(HttpClient.newHttpClient(), requests::add)));
            assertThat(client.read(RequestLimiter.Urgency.LOOK, "kv/range", "{\"key\":\"YQ==\"}", PATIENCE))
                    .succeedsWithin(PATIENCE);
            client.stream(0, "watch", "{\"create_request\":{\"key\":\"YQ==\"}}", PATIENCE)
                    .get(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                    .close();
            assertThat(requests)
                    .extracting(
                            request -> request.uri().getPath(),
                            request -> request.timeout().isPresent())
                    .containsExactly(tuple("/v3/kv/range", true), tuple("/v3/watch", false));
        }
    }

    private static EtcdClient client(FaultProxy link) {
        var uri = ConnectUri.parse("etcd://127.0.0.1:" + link.port());
        return new EtcdClient(EtcdSettings.of(uri), HttpClients.of(uri));
    }

    private static CompletableFuture<Json> look(EtcdClient client) {
        return client.read(RequestLimiter.Urgency.LOOK, "kv/range", "{\"key\":\"YQ==\"}", Duration.ofMillis(400));
    }

    /** Each has one such thread until it has ended. */
    private static long httpClients() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("HttpClient-\\d+-SelectorManager"))
                .count();
    }

    @Test
    void aCommonPoolThatIsBusyHoldsNobodyUp() throws Exception {
        try (var servers = EtcdServers.start(1);
                var busy = new BusyPool();
                var elections = Elections.connect(servers.uri(""));
                var first = elections.stand("busy", CONFIG);
                var others = Elections.connect(servers.uri(""))) {
            assertThat(busy).isNotNull();
            assertThat(first.await(PATIENCE)).isPresent();
            var second = others.stand("busy", CONFIG);
            Eventually.eventually(
                    "it is listed",
                    PATIENCE,
                    () -> elections.election("busy").candidates().size() == 2);
            first.resign();
            assertThat(second.await(CONFIG.lease().dividedBy(2)))
                    .as("what is watched is heard")
                    .isPresent();
        }
    }

    @Test
    void aWatchOutlivesAnError() {
        try (var servers = EtcdServers.start(1)) {
            var settings = EtcdSettings.of(ConnectUri.parse(servers.uri("")));
            try (var watch = new EtcdWatch(
                    new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient())), "\"key\":\"YQ==\"")) {
                var heard = new AtomicInteger();
                watch.add("a", kv -> {
                    if (heard.incrementAndGet() == 1) {
                        throw new OutOfMemoryError("planted");
                    }
                });
                Eventually.eventually("changes are heard again", PATIENCE, () -> {
                    servers.member(0).ask("kv/put", "{\"key\":\"YQ==\"}");
                    return heard.get() > 1;
                });
            }
        }
    }

    @Test
    void aWatchLeavesAMemberThatHasNoLeaderToOthersAndDoesNotAskItAgainAndAgain() throws Exception {
        try (var servers = EtcdServers.start(3);
                var lonely = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            servers.part();
            var said = Eventually.eventually("a member has no leader", PATIENCE, () -> watched(servers.member(0)));
            servers.heal();
            var asked = new AtomicInteger();
            var thread = new Thread(() -> answer(lonely, said, asked), "no-leader");
            thread.setDaemon(true);
            thread.start();
            var uri = "etcd://127.0.0.1:" + lonely.getLocalPort() + ",127.0.0.1:"
                    + servers.leader().port();
            var settings = EtcdSettings.of(ConnectUri.parse(uri));
            try (var watch = new EtcdWatch(
                    new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient())), "\"key\":\"YQ==\"")) {
                var heard = new AtomicInteger();
                watch.add("a", kv -> heard.incrementAndGet());
                Eventually.eventually("changes are heard", PATIENCE, () -> {
                    servers.member(0).ask("kv/put", "{\"key\":\"YQ==\"}");
                    return heard.get() > 0;
                });
                assertThat(asked).as("the one without a leader").hasValue(1);
            }
        }
    }

    /** Returns what a member says to who wants to watch, if that is that it has no leader. */
    private static Optional<String> watched(EtcdServer member) {
        var settings = EtcdSettings.of(ConnectUri.parse("etcd://127.0.0.1:" + member.port()));
        var client = new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient()));
        try (var lines = client.stream(0, "watch", "{\"create_request\":{\"key\":\"YQ==\"}}", Duration.ofSeconds(5))
                .join()) {
            return lines.limit(1).filter(line -> line.contains("no leader")).findFirst();
        } catch (CompletionException e) {
            return Optional.empty(); // it does not answer in time
        }
    }

    @Test
    void membersThatAreKnownByNameAreAWarningAndAddressesAreNot() {
        assertThat(lookUps("etcd://127.0.0.1:2379,[::1]:2379,localhost")).isEmpty();
        assertThat(lookUps("etcd://e1.example:2379,127.0.0.1,e2.example"))
                .hasValueSatisfying(finding -> assertThat(finding.level()).isEqualTo(Finding.Level.WARNING))
                .hasValueSatisfying(finding -> assertThat(finding.says())
                        .contains("e1.example, e2.example are looked up at each request", "failed for 10 s"));
        var before = Security.getProperty("networkaddress.cache.negative.ttl");
        try {
            Security.setProperty("networkaddress.cache.negative.ttl", "0");
            assertThat(lookUps("etcd://e1.example")).isEmpty();
        } finally {
            Security.setProperty("networkaddress.cache.negative.ttl", before);
        }
    }

    private static Optional<Finding> lookUps(String uri) {
        var parsed = ConnectUri.parse(uri);
        return new HttpMembers(parsed, HttpMembers.of(parsed, 2379), HttpClients.of(parsed)).lookUps();
    }

    /** As of a pool that is full, or was shut down: it came out as an exception of the pool's. */
    @Test
    void aClientWhoseExecutorTakesNothingIsToldAsThat() {
        var full = HttpClient.newBuilder()
                .executor(task -> {
                    throw new RejectedExecutionException("planted");
                })
                .build();
        assertThatThrownBy(() -> EtcdElections.using(full, "etcd://127.0.0.1:" + Ports.free()))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("the executor of the HTTP client takes no more tasks");
    }

    /** Which says nothing of the member. */
    @Test
    void aWatchThatAnExecutorRefusesStaysWithItsMember() throws Exception {
        var asked = new LinkedBlockingQueue<Integer>();
        var client = new CompletableFuture<EtcdClient>();
        var full = HttpClient.newBuilder()
                .executor(task -> {
                    asked.add(client.join().members().preferred());
                    throw new RejectedExecutionException("planted");
                })
                .build();
        var uri = ConnectUri.parse("etcd://127.0.0.1:" + Ports.free() + ",127.0.0.1:" + Ports.free());
        client.complete(new EtcdClient(EtcdSettings.of(uri), ReplaceableClient.of(full)));
        try (var watch = new EtcdWatch(client.join(), "\"key\":\"YQ==\"")) {
            watch.add("a", heard -> {});
            for (var tries = 0; tries < 3; tries++) {
                assertThat(asked.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isZero();
            }
        }
    }

    /** It had the whole of its time once more, and so twice as long as those who waited for it knew of. */
    @Test
    void aRequestThatWaitedForALoginHasTheRestOfItsTime() throws Exception {
        var login = Duration.ofMillis(300);
        var time = Duration.ofSeconds(30);
        var requests = new LinkedBlockingQueue<HttpRequest>();
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var thread = new Thread(() -> answer(server, "200 OK", asked -> slowly(login), new AtomicInteger()));
            thread.setDaemon(true);
            thread.start();
            var client = new EtcdClient(
                    EtcdSettings.of(ConnectUri.parse("etcd://app:word@127.0.0.1:" + server.getLocalPort())),
                    ReplaceableClient.of(new HeardClient(HttpClient.newHttpClient(), requests::add)));
            var asked = client.write(RequestLimiter.Urgency.KEEP, "kv/put", "{}", time);
            assertThat(asked).succeedsWithin(PATIENCE);
            assertThat(requests)
                    .extracting(request -> request.uri().getPath())
                    .containsExactly("/v3/auth/authenticate", "/v3/kv/put");
            requests.remove();
            assertThat(requests.remove().timeout().orElseThrow()).isLessThanOrEqualTo(time.minus(login));
        }
    }

    /** It failed as that login had, though another login would do. */
    @Test
    void aTokenThatIsOverWhileALoginHasFailedIsFollowedByAnother() throws Exception {
        var logins = new AtomicInteger();
        var isHeld = new CountDownLatch(1);
        var isLoginRefused = new CountDownLatch(1);
        UnaryOperator<String> member = asked -> {
            if (asked.contains("/v3/auth/authenticate")) {
                return logins.incrementAndGet() == 2
                        ? "{\"message\":\"planted\",\"code\":14}"
                        : "{\"header\":{\"cluster_id\":\"1\"},\"token\":\"token-" + logins.get() + "\"}";
            }
            if (asked.contains("token-1")) {
                isHeld.countDown();
                await(isLoginRefused);
                return "{\"message\":\"etcdserver: invalid auth token\",\"code\":16}";
            }
            return "{\"header\":{\"cluster_id\":\"1\"}}";
        };
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            for (var i = 0; i < 2; i++) { // one is held
                var thread = new Thread(() -> answer(server, "200 OK", member, new AtomicInteger()));
                thread.setDaemon(true);
                thread.start();
            }
            var client = new EtcdClient(
                    EtcdSettings.of(ConnectUri.parse("etcd://app:word@127.0.0.1:" + server.getLocalPort())),
                    ReplaceableClient.of(HttpClient.newHttpClient()));
            var first = client.write(RequestLimiter.Urgency.KEEP, "kv/put", "{}", PATIENCE);
            await(isHeld);
            client.forgetToken(); // as the watch does
            assertThat(client.write(RequestLimiter.Urgency.KEEP, "kv/put", "{}", PATIENCE))
                    .failsWithin(PATIENCE)
                    .withThrowableThat()
                    .withMessageContaining("planted");
            isLoginRefused.countDown();
            assertThat(first).succeedsWithin(PATIENCE);
            assertThat(logins).hasValue(3);
        }
    }

    private static void await(CountDownLatch event) {
        try {
            assertThat(event.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A token, after a while. */
    private static String slowly(Duration pause) {
        var until = System.nanoTime() + pause.toNanos();
        for (var left = pause.toNanos(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        return "{\"header\":{\"cluster_id\":\"1\"},\"token\":\"known\"}";
    }

    /** As of etcd 3.5.28 to users without the role root, or of one that has no leader. */
    @ParameterizedTest
    @CsvSource({
        "etcdserver: permission denied, rights",
        "etcdserver: no leader, quorum",
    })
    void whatMembersDoNotTellKeepsNothingElseBack(String message, String about) throws Exception {
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var header = "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"5\"},\"version\":\"3.5.28\"}";
            var error = "{\"code\":7,\"message\":\"" + message + "\"}";
            var thread = new Thread(
                    () -> answer(
                            server,
                            "200 OK",
                            asked -> asked.contains("/cluster/member/list") ? error : header,
                            new AtomicInteger()),
                    "no-list-of-members");
            thread.setDaemon(true);
            thread.start();
            var settings = EtcdSettings.of(ConnectUri.parse("etcd://127.0.0.1:" + server.getLocalPort()));
            var client = new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient()));
            var findings = EtcdDoctor.findings(settings, client);
            assertThat(only(findings, about).level()).isEqualTo(Finding.Level.WARNING);
            assertThat(only(findings, about).says()).contains("how many members vote");
            assertThat(findings).extracting(Finding::about).contains("version", "compaction", "durability");
        }
    }

    /** Only a member that says so has compacted: that none answers tells nothing. */
    @ParameterizedTest
    @CsvSource({
        "etcdserver: mvcc: required revision has been compacted, OK",
        "etcdserver: request timed out, WARNING",
    })
    void revisionsAreDroppedWhereTheMemberSaysSo(String message, Finding.Level level) throws Exception {
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var header = "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"2000000\"}}";
            var error = "{\"code\":11,\"message\":\"" + message + "\"}";
            var thread = new Thread(
                    () -> answer(
                            server,
                            "200 OK",
                            asked -> asked.contains("/kv/range") ? error : header,
                            new AtomicInteger()),
                    "old-revisions");
            thread.setDaemon(true);
            thread.start();
            var settings = EtcdSettings.of(ConnectUri.parse("etcd://127.0.0.1:" + server.getLocalPort()));
            var client = new EtcdClient(settings, ReplaceableClient.of(HttpClient.newHttpClient()));
            assertThat(only(EtcdDoctor.findings(settings, client), "compaction").level())
                    .isEqualTo(level);
        }
    }

    /** Says the same to whoever asks anything. */
    private static void answer(ServerSocket server, String said, AtomicInteger number) {
        answer(server, "200 OK", said, number);
    }

    private static void answer(ServerSocket server, String status, String said, AtomicInteger number) {
        answer(server, status, asked -> said, number);
    }

    private static void answer(ServerSocket server, String status, UnaryOperator<String> saying, AtomicInteger number) {
        while (!server.isClosed()) {
            try (var socket = server.accept()) {
                number.incrementAndGet();
                var asked = new byte[4_096];
                var length = socket.getInputStream().read(asked);
                assertThat(length).isPositive();
                var said = saying.apply(new String(asked, 0, length, UTF_8));
                socket.getOutputStream()
                        .write(("HTTP/1.1 " + status + "\r\nContent-Length: " + said.length() + "\r\n\r\n" + said)
                                .getBytes(UTF_8));
            } catch (IOException e) {
                // it is closed
            }
        }
    }

    /** As behind a proxy that waits for the end of an answer: the next one was begun at once. */
    @Test
    void aWatchThatEndsAsSoonAsItHasBegunIsNotBegunAgainAtOnce() throws Exception {
        var number = new AtomicInteger();
        var watches = 15;
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            var created = "{\"result\":{\"header\":{\"revision\":\"5\"},\"created\":true}}\n";
            var thread = new Thread(() -> answer(server, created, number));
            thread.setDaemon(true);
            thread.start();
            var uri = ConnectUri.parse("etcd://127.0.0.1:" + server.getLocalPort());
            var client = new EtcdClient(EtcdSettings.of(uri), HttpClients.of(uri));
            try (var watch = new EtcdWatch(client, "\"key\":\"YQ==\"")) {
                var begun = System.nanoTime();
                watch.add("a", heard -> {});
                Eventually.eventually("it was begun so often", PATIENCE, () -> number.get() >= watches);
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(2_500));
            }
        }
    }

    @Test
    void membersWithoutALeaderSaySo() {
        try (var servers = EtcdServers.start(3)) {
            servers.part();
            Eventually.eventually("they have no leader", PATIENCE, () -> {
                try (var elections = Elections.connect(servers.uri(""))) {
                    return elections == null;
                } catch (UnavailableException e) {
                    return String.valueOf(e.getMessage()).contains("no leader");
                }
            });
            servers.heal();
            Eventually.eventually("they have one again", PATIENCE, () -> {
                try (var elections = Elections.connect(servers.uri(""))) {
                    return elections != null;
                } catch (UnavailableException e) {
                    return false;
                }
            });
        }
    }

    @Test
    void aStoreThatIsFullIsAnErrorThatSaysWhatToDoAndPasses() throws Exception {
        try (var servers = EtcdServers.start(1, "--quota-backend-bytes=200000");
                var elections = Elections.connect(servers.uri(""));
                var leader = elections.stand("full", CONFIG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            var member = servers.member(0);
            var ballast =
                    "{\"key\":\"YQ==\",\"value\":\"" + Base64.getEncoder().encodeToString(new byte[150_000]) + "\"}";
            Eventually.eventually(
                    "it is full", PATIENCE, () -> member.ask("kv/put", ballast).contains("space exceeded"));

            assertThat(find(servers.uri("")))
                    .filteredOn(one -> one.level() == Finding.Level.ERROR)
                    .singleElement()
                    .satisfies(one -> assertThat(one.says()).contains("NOSPACE"))
                    .satisfies(one -> assertThat(one.remedy()).contains("etcdctl alarm disarm"));
            try (var other = elections.stand("another", CONFIG)) {
                Eventually.eventually(
                        "a candidate says why it does not lead",
                        PATIENCE,
                        () -> other.status().toString().contains("space") || !other.isLeader());
            }
            member.ask("kv/deleterange", "{\"key\":\"YQ==\"}");
            var revision = member.ask("kv/range", "{\"key\":\"YQ==\"}").replaceAll(".*\"revision\":\"(\\d+)\".*", "$1");
            member.ask("kv/compaction", "{\"revision\":\"" + revision + "\",\"physical\":true}");
            member.ask("maintenance/defragment", "{}");
            var id = member.ask("maintenance/alarm", "{}").replaceAll(".*\"memberID\":\"(\\d+)\".*", "$1");
            var disarm = "{\"action\":\"DEACTIVATE\",\"alarm\":\"NOSPACE\",\"memberID\":\"" + id + "\"}";
            assertThat(member.ask("maintenance/alarm", disarm)).contains("header");
            Eventually.eventually(
                    "it takes writes again",
                    PATIENCE,
                    () -> find(servers.uri("")).stream().noneMatch(one -> one.level() == Finding.Level.ERROR));
            assertThat(leader.await(PATIENCE).orElseThrow().token()).isGreaterThanOrEqualTo(mandate.token());
        }
    }

    @Test
    void aLoneMemberIsAWarningAndThreeAreNot() {
        try (var servers = EtcdServers.start(1)) {
            var findings = find(servers.uri(""));
            assertThat(only(findings, "quorum").says()).contains("no failure is tolerated");
            assertThat(only(findings, "version").says()).startsWith("etcd 3.");
            assertThat(only(findings, "crash").sum()).isEqualTo(Duration.ofMillis(13_200));
            assertThat(findings).extracting(Finding::about).contains("clock", "durability", "compaction", "hand-over");
            var learner = servers.addLearner();
            Eventually.eventually(
                    "the learner is named",
                    PATIENCE,
                    () -> find(servers.uri("")).stream()
                            .anyMatch(one -> one.says().contains("is a learner")));
            assertThatThrownBy(() -> Elections.connect("etcd://127.0.0.1:" + learner.port()))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("learner");
        }
        try (var servers = EtcdServers.start(3)) {
            Eventually.eventually(
                    "all is well", PATIENCE, () -> wellOn(servers)); // they may change their leader once more
            var member = servers.member(2);
            member.kill();
            assertThat(find(servers.uri("")))
                    .anyMatch(one ->
                            one.level() == Finding.Level.WARNING && one.says().contains(":" + member.port()));
        }
    }

    private static boolean wellOn(EtcdServers servers) {
        try {
            return find(servers.uri("")).stream().allMatch(one -> one.level() == Finding.Level.OK);
        } catch (UnavailableException e) {
            return false;
        }
    }

    private static List<Finding> find(String uri) {
        return Doctor.find(uri, CONFIG);
    }
}
