package dev.bellwether.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Proofs;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Users and passwords. A token of the server's is over after a second here. */
@Timeout(180)
class RightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(6));

    @SuppressWarnings("NullAway.Init")
    private static EtcdServers servers;

    @BeforeAll
    static void startServer() {
        servers = EtcdServers.start(1, "--auth-token-ttl=1", "--bcrypt-cost=4");
        for (var user : List.of("root", "app", "reader", "other", "leaver")) {
            ask("auth/user/add", "{\"name\":\"" + user + "\",\"password\":\"pass-of-" + user + "\"}");
            ask("auth/role/add", "{\"name\":\"" + user + "\"}");
            ask("auth/user/grant", "{\"user\":\"" + user + "\",\"role\":\"" + user + "\"}");
        }
        grant("app", "READWRITE", "/secured");
        grant("reader", "READ", "/secured");
        grant("other", "READWRITE", "/others");
        grant("leaver", "READWRITE", "/secured");
        ask("auth/enable", "{}");
    }

    private static void grant(String role, String kind, String prefix) {
        ask(
                "auth/role/grant",
                "{\"name\":\"%s\",\"perm\":{\"permType\":\"%s\",\"key\":\"%s\",\"range_end\":\"%s\"}}"
                        .formatted(role, kind, base64(prefix + "/"), base64(prefix + "0")));
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(UTF_8));
    }

    private static void ask(String path, String body) {
        assertThat(servers.member(0).ask(path, body)).as(path).contains("header");
    }

    @AfterAll
    static void stopServer() {
        servers.close();
    }

    @Test
    void aLeaderLeadsOnWhenItsTokenIsOverAndWhenTheMemberHasForgottenIt() throws Exception {
        try (var elections = Elections.connect(uri("app:pass-of-app@", "/secured"));
                var leader = elections.stand("lasting", CONFIG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            for (var i = 0; i < 3; i++) {
                awaitProof(leader); // two seconds apart
            }
            servers.member(0).kill();
            servers.member(0).start();
            awaitProof(leader);
            assertThat(leader.mandate()).contains(mandate);

            var watching = elections.stand(
                    "lasting", CONFIG.toBuilder().candidate("second").build());
            Eventually.eventually(
                    "it is listed",
                    PATIENCE,
                    () -> elections.election("lasting").candidates().size() == 2);
            leader.resign();
            assertThat(watching.await(PATIENCE)).as("what is watched is heard").isPresent();
        }
    }

    @Test
    void aWatchThatIsRefusedSaysSoAndDoesNotLogInAgainAndAgain() throws Exception {
        var written = new ByteArrayOutputStream();
        var before = System.err;
        System.setErr(new PrintStream(written, true, UTF_8));
        var client = client("leaver:pass-of-leaver@");
        try (var watch = new EtcdWatch(client, "\"key\":\"" + base64("/secured/watched") + "\"")) {
            watch.add("/secured/watched", kv -> {});
            Eventually.eventually("it is watched", PATIENCE, () -> watchers() == 1);
            assertThat(client("root:pass-of-root@")
                            .ask(0, "auth/user/changepw", "{\"name\":\"leaver\",\"password\":\"other\"}", PATIENCE))
                    .succeedsWithin(PATIENCE);
            servers.member(0).kill();
            servers.member(0).start(); // which ends the stream, and has forgotten the token
            Eventually.eventually(
                    "it is told", PATIENCE, () -> written.toString(UTF_8).contains("may not be watched now"));
            assertThat(written.toString(UTF_8))
                    .contains("Check user and password")
                    .doesNotContain("pass-of-leaver");
            var logins = logins();
            assertThat(logins).isPositive();
            TimeUnit.SECONDS.sleep(3);
            assertThat(logins() - logins).isLessThanOrEqualTo(1);
        } finally {
            System.setErr(before);
        }
    }

    @Test
    void aLoginThatCouldNotBeSentIsTriedAgain() {
        var pool = Executors.newCachedThreadPool();
        var isFull = new AtomicBoolean();
        var http = HttpClient.newBuilder()
                .executor(task -> {
                    if (isFull.get()) {
                        throw new RejectedExecutionException("planted");
                    }
                    pool.execute(task);
                })
                .build();
        try {
            var client = client(uri("app:pass-of-app@", "/secured"), http);
            var body = "{\"key\":\"" + base64("/secured/watched") + "\"}";
            isFull.set(true);
            assertThat(client.read(RequestLimiter.Urgency.LOOK, "kv/range", body, Duration.ofSeconds(2)))
                    .failsWithin(PATIENCE);
            isFull.set(false);
            assertThat(client.read(RequestLimiter.Urgency.LOOK, "kv/range", body, Duration.ofSeconds(10)))
                    .succeedsWithin(Duration.ofSeconds(20));
        } finally {
            pool.shutdown();
        }
    }

    @Test
    void aLoginThatHangsHoldsNobodyUpForLongerThanTheyWouldWaitAndTheNextLogsInElsewhere() {
        try (var link = FaultProxy.to("127.0.0.1", servers.member(0).port())) {
            link.cut();
            var uri = "etcd://app:pass-of-app@127.0.0.1:" + link.port() + "," + servers.hosts() + "/secured";
            var client = client(uri, HttpClient.newHttpClient());
            var body = "{\"key\":\"" + base64("/secured/hanging") + "\"}";
            var display = client.write(RequestLimiter.Urgency.LIST, "kv/put", body, PATIENCE);

            assertThat(client.write(RequestLimiter.Urgency.KEEP, "kv/put", body, Duration.ofMillis(600)))
                    .failsWithin(PATIENCE.dividedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(UnavailableException.class)
                    .withMessageMatching("(?s).*no login was answered within (600|[1-5]?[0-9]{1,2}) ms.*");
            assertThat(client.write(RequestLimiter.Urgency.KEEP, "kv/put", body, PATIENCE))
                    .succeedsWithin(PATIENCE.dividedBy(2));
            assertThat(display).as("its login hangs still").isNotDone();
        }
    }

    private static EtcdClient client(String user) {
        return client(uri(user, "/secured"), HttpClient.newHttpClient());
    }

    private static EtcdClient client(String uri, HttpClient http) {
        return new EtcdClient(EtcdSettings.of(ConnectUri.parse(uri)), ReplaceableClient.of(http));
    }

    private static long watchers() {
        return metric("etcd_debugging_mvcc_watcher_total ");
    }

    private static long logins() {
        return metric("grpc_server_started_total{grpc_method=\"Authenticate\",.*} ");
    }

    private static long metric(String name) {
        return servers.member(0)
                .get("/metrics")
                .lines()
                .filter(line -> line.matches(name.replace("{", "\\{").replace("}", "\\}") + "\\d+"))
                .mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    private static void awaitProof(dev.bellwether.Candidacy leader) {
        var since = System.nanoTime();
        Eventually.eventually("the lease is extended", PATIENCE, () -> Proofs.isProvenSince(leader, since));
    }

    @Test
    void aWrongPasswordAndNoUserAtAllAreNamed() {
        assertThatThrownBy(() -> Elections.connect(uri("app:wrong-word@", "/secured")))
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("Check user and password")
                .hasMessageNotContaining("wrong-word");
        assertThatThrownBy(() -> Elections.connect(uri("", "/secured")))
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContaining("It wants a user");
    }

    @Test
    void whoMayNotReadTheKeysIsToldWhichAndHowToGrantThem() {
        assertThatThrownBy(() -> Elections.connect(uri("other:pass-of-other@", "/secured")))
                .isInstanceOf(AccessRefusedException.class)
                .hasMessageContainingAll(
                        "user \"other\"",
                        "/secured/",
                        "etcdctl role grant-permission ROLE readwrite /secured/ --prefix");
    }

    @Test
    void whoMayReadAndNotWriteSeesWhoLeadsAndCannotStand() throws Exception {
        try (var elections = Elections.connect(uri("reader:pass-of-reader@", "/secured"));
                var leading = Elections.connect(uri("app:pass-of-app@", "/secured"));
                var leader = leading.stand("seen", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            assertThat(elections.election("seen").leader()).isPresent();
            for (var election : List.of("unseen", "seen")) { // vacant, and led by another
                var refused = elections.stand(election, CONFIG);
                Eventually.eventually(
                        "it fails in " + election,
                        PATIENCE,
                        () -> refused.status().failure().isPresent());
                assertThat(refused.status().failure().orElseThrow())
                        .isInstanceOf(AccessRefusedException.class)
                        .hasMessageContaining("user \"reader\"");
            }
        }
    }

    @Test
    void theDoctorSaysWhatAUserMayNotSee() {
        for (var user : List.of("app", "root")) {
            var backend = ConnectUri.parse(uri(user + ":pass-of-" + user + "@", "/secured"))
                    .connect();
            try {
                var findings = backend.findings(CONFIG);
                assertThat(findings).extracting(Finding::about).contains("quorum", "durability");
                assertThat(findings.stream().anyMatch(one -> one.says().contains("only users with the role root")))
                        .as("missing for %s: %s", user, findings)
                        .isEqualTo(user.equals("app"));
            } finally {
                backend.close();
            }
        }
    }

    @Test
    void aUserWhereNoneIsWantedDoesNoHarm() throws Exception {
        try (var open = EtcdServers.start(1);
                var elections = Elections.connect("etcd://app:pass@" + open.hosts());
                var leader = elections.stand("open", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
        }
    }

    private static String uri(String user, String prefix) {
        return "etcd://" + user + servers.hosts() + prefix;
    }
}
