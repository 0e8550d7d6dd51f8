package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Quotas;
import org.apache.zookeeper.StatsTrack;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Digest credentials and SASL, against real servers: who has them leads, and nobody else can touch what is ours. */
class SecurityTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String FIPS_MODE = "zookeeper.fips-mode";
    private static final CandidacyConfig LEASE = CandidacyConfig.ofLease(Duration.ofSeconds(10));

    private final String election = "guarded-" + UUID.randomUUID();

    // ---------------------------------------------------------------- digest

    @Test
    void strangersCannotTouchWhatWasMadeWithDigestCredentials() throws Exception {
        var root = "/digest-" + UUID.randomUUID();
        var address = SharedServer.get().addresses();
        var uri = "zk://ops:s3cret@" + address + root + "?acl=creator&tickTime=PT0.1S";
        try (var elections = Elections.connect(uri);
                var stranger = Hands.client(address, 10_000)) {
            var leader = elections.stand(election, LEASE);
            Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            var follower = elections.stand(election, LEASE);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> follower.status().following().isPresent());
            var nodes = queue(address, "digest", "ops:s3cret", root + '/' + election);
            assertThat(nodes).hasSize(2);
            nobodyElseCanTouch(stranger, root + '/' + election, nodes);
            stranger.getZookeeperClient()
                    .getZooKeeper()
                    .addAuthInfo("digest", "ops:wrong".getBytes(StandardCharsets.UTF_8));
            nobodyElseCanTouch(stranger, root + '/' + election, nodes);
            assertThat(leader.isLeader()).isTrue();
            leader.close();
            Eventually.eventually("the other leads", PATIENCE, follower::isLeader);
        }
    }

    @Test
    void electionsAreListedBesideOneOfOthersThatHasEnded() throws Exception {
        var root = "/shared-" + UUID.randomUUID();
        var address = SharedServer.get().addresses();
        try (var administrator = Hands.client(address, 10_000)) {
            administrator.create().forPath(root);
        }
        var uri = "zk://" + address + root + "?tickTime=PT0.1S";
        try (var others = Elections.connect(uri.replace("zk://", "zk://ops:s3cret@") + "&acl=creator");
                var ours = Elections.connect(uri)) {
            others.election("theirs").end();
            ours.election("ours").end();
            assertThat(ours.list()).containsExactlyInAnyOrder("ours", "theirs");
        }
    }

    @Test
    @SuppressWarnings("try") // nobody asks the watch for anything
    void aWatchThatIsRefusedSaysSoOnceAndThatItIsAllowedAgain() throws Exception {
        var address = SharedServer.get().addresses();
        var node = Hands.ROOT + '/' + election;
        var before = System.err;
        var said = new ByteArrayOutputStream();
        try (var administrator = Hands.client(address, 10_000);
                var elections = Elections.connect(SharedServer.uri())) {
            administrator
                    .getZookeeperClient()
                    .getZooKeeper()
                    .addAuthInfo("digest", "ops:s3cret".getBytes(StandardCharsets.UTF_8));
            administrator
                    .create()
                    .creatingParentsIfNeeded()
                    .withACL(ZooDefs.Ids.CREATOR_ALL_ACL)
                    .forPath(node);
            System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
            try (var watch = elections.election(election).watch(leader -> {})) {
                Eventually.eventually(
                        "it says so",
                        PATIENCE,
                        () -> said.toString(StandardCharsets.UTF_8)
                                .contains("\"" + election + "\" may not be watched now: refused"));
                setAcl(administrator, node, ZooDefs.Ids.OPEN_ACL_UNSAFE);
                Eventually.eventually(
                        "it says that, too",
                        PATIENCE,
                        () -> said.toString(StandardCharsets.UTF_8)
                                .contains("\"" + election + "\" may be watched again"));
            }
            assertThat(said.toString(StandardCharsets.UTF_8).lines())
                    .filteredOn(line -> line.contains("may not be watched now"))
                    .hasSize(1);
        } finally {
            System.setErr(before);
            before.print(said.toString(StandardCharsets.UTF_8));
        }
    }

    private static List<String> queue(String address, String scheme, String credentials, String path) throws Exception {
        try (var owner = Hands.client(address, 10_000)) {
            owner.getZookeeperClient().getZooKeeper().addAuthInfo(scheme, credentials.getBytes(StandardCharsets.UTF_8));
            return Paths.queue(owner.getChildren().forPath(path));
        }
    }

    private static void nobodyElseCanTouch(CuratorFramework stranger, String path, List<String> nodes) {
        for (var name : nodes) {
            var node = path + '/' + name;
            refused(() -> stranger.delete().forPath(node));
            refused(() -> stranger.setData().forPath(node, new byte[0]));
            refused(() -> stranger.getData().forPath(node));
            refused(() -> stranger.setACL().withACL(ZooDefs.Ids.OPEN_ACL_UNSAFE).forPath(node));
        }
        refused(() ->
                stranger.create().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath(path + "/le_"));
        refused(() -> stranger.create().forPath(path + "/DONE"));
        refused(() -> stranger.create().forPath(path + "/stand_down"));
        refused(() -> stranger.getChildren().forPath(path));
        refused(() -> stranger.delete().forPath(path));
    }

    private static void refused(ThrowingCallable act) {
        assertThatThrownBy(act).isInstanceOf(KeeperException.NoAuthException.class);
    }

    // ---------------------------------------------------------------- rights that go and come back

    private static CuratorFramework administrator() throws Exception {
        var client = Hands.client(SharedServer.get().addresses(), 60_000);
        client.getZookeeperClient()
                .getZooKeeper()
                .addAuthInfo("digest", "admin:secret".getBytes(StandardCharsets.UTF_8));
        return client;
    }

    @Test
    void rightsThatGoAndComeBackEndNoCandidacy() throws Exception {
        try (var one = Elections.connect(SharedServer.uri());
                var other = Elections.connect(SharedServer.uri());
                var administrator = administrator()) {
            var lease = CandidacyConfig.ofLease(Duration.ofSeconds(2));
            var leader = one.stand(election, lease);
            var mandate = Eventually.eventually("it leads", PATIENCE, leader::mandate);
            var follower = other.stand(election, lease);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> follower.status().following().isPresent());
            var path = Hands.ROOT + '/' + election;
            var nodes = Paths.queue(administrator.getChildren().forPath(path)).stream()
                    .map(node -> path + '/' + node)
                    .toList();
            setAcl(administrator, path, ZooDefs.Ids.CREATOR_ALL_ACL);
            for (var node : nodes) {
                setAcl(administrator, node, ZooDefs.Ids.CREATOR_ALL_ACL);
            }
            Eventually.eventually("nobody leads", PATIENCE, () -> !leader.isLeader() && !follower.isLeader());
            Eventually.throughout(
                    "both stand",
                    Duration.ofSeconds(4),
                    () -> leader.status().phase() != Phase.CLOSED
                            && follower.status().phase() != Phase.CLOSED);
            for (var node : nodes) {
                if (administrator.checkExists().forPath(node) != null) {
                    setAcl(administrator, node, ZooDefs.Ids.OPEN_ACL_UNSAFE);
                }
            }
            setAcl(administrator, path, ZooDefs.Ids.OPEN_ACL_UNSAFE);
            var again = Eventually.eventually(
                    "one leads", PATIENCE, () -> leader.mandate().or(follower::mandate));
            assertThat(again.token()).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
        }
    }

    /** Its session lives on, and everybody behind it would wait for as long. */
    @Test
    void aNodeThatCouldNotBeDeletedIsDeletedOnceThatIsAllowed() throws Exception {
        try (var one = Elections.connect(SharedServer.uri());
                var other = Elections.connect(SharedServer.uri());
                var administrator = administrator()) {
            var leader = one.stand(election, LEASE); // in the session that observers use
            var mandate = Eventually.eventually("it leads", PATIENCE, leader::mandate);
            var follower = other.stand(election, LEASE);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> follower.status().following().isPresent());
            var path = Hands.ROOT + '/' + election;
            var node = path
                    + '/'
                    + Paths.queue(administrator.getChildren().forPath(path)).get(0);
            var withoutDeletion = new ArrayList<>(ZooDefs.Ids.CREATOR_ALL_ACL);
            withoutDeletion.add(new ACL(ZooDefs.Perms.ALL & ~ZooDefs.Perms.DELETE, ZooDefs.Ids.ANYONE_ID_UNSAFE));
            setAcl(administrator, path, withoutDeletion);
            leader.close();
            assertThat(leader.departure()).contains(Departure.UNCONFIRMED);
            assertThat(administrator.checkExists().forPath(node)).isNotNull();

            setAcl(administrator, path, ZooDefs.Ids.OPEN_ACL_UNSAFE);
            var next = Eventually.eventually("the other leads", PATIENCE, follower::mandate);
            assertThat(next.token()).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
            assertThat(one.election(election).leader()).isPresent(); // its session is open
        }
    }

    @Test
    void whoMayNotReadItsOwnNodeFailsAndLeavesNoneBehind() throws Exception {
        var unreadable = List.of(new ACL(ZooDefs.Perms.ALL & ~ZooDefs.Perms.READ, ZooDefs.Ids.ANYONE_ID_UNSAFE));
        var log = new EventLog();
        try (var client = CuratorFrameworkFactory.builder()
                        .connectString(SharedServer.get().addresses())
                        .sessionTimeoutMs(10_000)
                        .retryPolicy(new RetryNTimes(20, 100))
                        .aclProvider(acl(path -> path.contains("/le_") ? unreadable : ZooDefs.Ids.OPEN_ACL_UNSAFE))
                        .build();
                var administrator = administrator()) {
            client.start();
            try (var elections =
                    ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults())) {
                var refused = elections.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(LEASE.lease())
                                .listener(log)
                                .build());
                Eventually.eventually(
                        "it has ended", PATIENCE, () -> refused.status().phase() == Phase.CLOSED);
                assertThat(refused.failure().orElseThrow()).isInstanceOf(AccessRefusedException.class);
                assertThat(failure(log)).contains("NoAuth").contains("grant");
                assertThat(administrator.getChildren().forPath(Hands.ROOT + '/' + election))
                        .isEmpty();
            }
        }
    }

    /** Such as after an outage, when the nodes of former sessions are counted as well: every candidacy ended. */
    @Test
    void aQuotaThatIsUsedUpForAWhileEndsNoCandidacy() throws Exception {
        try (var servers = ZooKeeperServers.start(1, 0, Map.of(), List.of("-Dzookeeper.enforceQuota=true"));
                var administrator = Hands.client(servers.addresses(), 60_000);
                var elections = Elections.connect(ZooKeeperInfrastructure.uri(servers.addresses()))) {
            var candidacy = elections.stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(2)));
            var mandate = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            var path = Hands.ROOT + '/' + election;
            var quota = Quotas.quotaPath(path);
            administrator.create().creatingParentsIfNeeded().forPath(quota);
            administrator.create().forPath(quota + '/' + Quotas.limitNode, nodes(1));
            administrator.create().forPath(quota + '/' + Quotas.statNode, new StatsTrack().getStatsBytes());
            for (var node : Paths.queue(administrator.getChildren().forPath(path))) {
                administrator.delete().forPath(path + '/' + node);
            }
            Eventually.throughout(
                    "it stands",
                    Duration.ofSeconds(4),
                    () -> candidacy.failure().isEmpty());
            assertThat(candidacy.isLeader()).isFalse();
            administrator.setData().forPath(quota + '/' + Quotas.limitNode, nodes(100));
            var again = Eventually.eventually("it leads again", PATIENCE, candidacy::mandate);
            assertThat(again.token()).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
        }
    }

    private static byte[] nodes(long most) {
        var track = new StatsTrack();
        track.setCountHardLimit(most);
        return track.getStatsBytes();
    }

    private static void setAcl(CuratorFramework client, String path, List<ACL> acl) throws Exception {
        client.setACL().withACL(acl).forPath(path);
    }

    /**
     * Usual beside clients of Kafka: ZooKeeper's client tells of failed authentication at each attempt to connect, and
     * goes on.
     */
    @Test
    void aJaasFileOfOthersHurtsNobodyWhenAConnectionBreaks(@TempDir Path directory) throws Exception {
        var file = Files.writeString(directory.resolve("jaas.conf"), """
                KafkaClient {
                  org.apache.zookeeper.server.auth.DigestLoginModule required username="a" password="b";
                };
                """);
        System.setProperty("java.security.auth.login.config", file.toString());
        Configuration.setConfiguration(null);
        try (var link = FaultProxy.to(
                        "127.0.0.1",
                        Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", "")));
                var elections = Elections.connect(ZooKeeperInfrastructure.uri("127.0.0.1:" + link.port()))) {
            var leader = elections.stand(election, LEASE);
            Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            var follower = elections.stand(election, LEASE);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> follower.status().following().isPresent());
            link.reset();
            Eventually.eventually("it is connected again", PATIENCE, () -> link.connections() > 0);
            Eventually.throughout(
                    "both stand",
                    Duration.ofSeconds(3),
                    () -> leader.isLeader() && follower.status().phase() == Phase.STANDING_BY);
            leader.close();
            Eventually.eventually("the other leads", PATIENCE, follower::isLeader);
        } finally {
            System.clearProperty("java.security.auth.login.config");
            Configuration.setConfiguration(null);
        }
    }

    // ---------------------------------------------------------------- SASL

    @Test
    void whoAuthenticatesBySaslLeadsAndNobodyElseCanTouchItsNodes(@TempDir Path directory) throws Exception {
        try (var servers = saslServer(directory, Map.of());
                var jaas = new Jaas().section("Flock", "bell", "wether"); // not "Client": others here are nobody
                var client = client(servers, "Flock");
                var elections = ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults());
                var stranger = Hands.client(servers.addresses(), 10_000)) {
            var leader = elections.stand(election, LEASE);
            Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            var path = Hands.ROOT + '/' + election;
            var nodes = Paths.queue(client.getChildren().forPath(path));
            assertThat(client.getACL().forPath(path + '/' + nodes.get(0)))
                    .singleElement()
                    .satisfies(acl -> {
                        assertThat(acl.getId().getScheme()).isEqualTo("sasl");
                        assertThat(acl.getId().getId()).isEqualTo("bell");
                    });
            nobodyElseCanTouch(stranger, path, nodes);
            jaas.section("Other", "other", "secret");
            try (var other = client(servers, "Other");
                    var others =
                            ZooKeeperElections.using(other, LentSessionTest.config(), ElectionsConfig.defaults())) {
                nobodyElseCanTouch(other, path, nodes);
                var log = new EventLog();
                var refused = others.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(LEASE.lease())
                                .listener(log)
                                .build());
                assertThatThrownBy(refused::awaitClose).isInstanceOf(ElectionException.class);
                assertThat(failure(log)).contains("NoAuth").contains("grant");
            }
            assertThat(leader.isLeader()).isTrue();
        }
    }

    /** As the JVM has it: ZooKeeper's client looks for a section {@code Client}. */
    @Test
    void aUriTakesTheSaslCredentialsOfTheJvm(@TempDir Path directory) throws Exception {
        System.setProperty(FIPS_MODE, "false"); // for DIGEST-MD5
        try (var servers = saslServer(directory, Map.of("sessionRequireClientSASLAuth", "true"));
                var jaas = new Jaas().section("Client", "bell", "wether")) {
            var uri = ZooKeeperInfrastructure.uri(servers.addresses()) + "&acl=creator";
            try (var elections = Elections.connect(uri)) {
                var leader = elections.stand(election, LEASE);
                Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            }
            jaas.section("Client", "bell", "wrong");
            refusedFor(uri, "correct the credentials");
        } finally {
            System.clearProperty(FIPS_MODE);
        }
    }

    @Test
    void aLeaderWhosePasswordIsNoLongerTakenIsToldSo(@TempDir Path directory) throws Exception {
        try (var servers = saslServer(directory, Map.of());
                var jaas = new Jaas().section("Flock", "bell", "wether");
                var client = client(servers, "Flock");
                var elections =
                        ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults())) {
            var log = new EventLog();
            var leader = elections.stand(
                    election,
                    CandidacyConfig.builder()
                            .lease(LEASE.lease())
                            .accessPatience(Duration.ofSeconds(2))
                            .listener(log)
                            .build());
            Eventually.eventually("it leads", PATIENCE, leader::isLeader);
            restart(servers, directory, "changed");
            assertThatThrownBy(leader::awaitClose).isInstanceOf(ElectionException.class);
            assertThat(leader.failure().orElseThrow()).isInstanceOf(AccessRefusedException.class);
            // an event tells it, or the answer to a request, whichever comes first
            assertThat(failure(log))
                    .containsAnyOf("authentication failed", "AuthFailed")
                    .contains("credentials");
            assertThat(jaas).isNotNull();
        }
    }

    @Test
    void aPasswordThatIsTakenAgainIsForgiven(@TempDir Path directory) throws Exception {
        try (var servers = saslServer(directory, Map.of());
                var jaas = new Jaas().section("Flock", "bell", "wether");
                var client = client(servers, "Flock");
                var elections =
                        ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults())) {
            var leader = elections.stand(election, LEASE);
            var mandate = Eventually.eventually("it leads", PATIENCE, leader::mandate);
            restart(servers, directory, "changed");
            Eventually.eventually("it leads no more", PATIENCE, () -> !leader.isLeader());
            restart(servers, directory, "wether");
            var again = Eventually.eventually("it leads again", PATIENCE, leader::mandate);
            assertThat(again.token()).as(Never.MARK + "a token falls").isGreaterThan(mandate.token());
            assertThat(jaas).isNotNull();
        }
    }

    private static void restart(ZooKeeperServers servers, Path directory, String password) throws IOException {
        var server = servers.servers().get(0);
        server.kill();
        writeJaas(directory, password);
        server.start();
    }

    @Test
    void whoDoesNotAuthenticateWhereOneMustIsToldSo(@TempDir Path directory) throws Exception {
        try (var servers = saslServer(directory, Map.of("sessionRequireClientSASLAuth", "true"))) {
            refusedFor(ZooKeeperInfrastructure.uri(servers.addresses()), "correct the credentials");
        }
    }

    private void refusedFor(String uri, String advice) {
        var log = new EventLog();
        try (var elections = Elections.connect(uri)) {
            var refused = elections.stand(
                    election,
                    CandidacyConfig.builder().lease(LEASE.lease()).listener(log).build());
            assertThatThrownBy(refused::awaitClose).isInstanceOf(ElectionException.class);
            assertThat(failure(log)).contains(advice);
        } catch (ElectionException e) {
            assertThat(e).hasMessageContaining(advice);
        }
    }

    private static String failure(EventLog log) {
        return log.last(LeadershipEvent.Failed.class).orElseThrow().event().toString();
    }

    private static ZooKeeperServers saslServer(Path directory, Map<String, String> settings) throws Exception {
        var file = Files.writeString(directory.resolve("jaas.conf"), """
                Server {
                  org.apache.zookeeper.server.auth.DigestLoginModule required
                  user_bell="wether"
                  user_other="secret";
                };
                """);
        return ZooKeeperServers.start(
                1,
                0,
                settings,
                List.of(
                        "-Djava.security.auth.login.config=" + file,
                        "-D" + FIPS_MODE + "=false",
                        "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"));
    }

    private static Path writeJaas(Path directory, String password) throws IOException {
        return Files.writeString(directory.resolve("jaas.conf"), """
                Server {
                  org.apache.zookeeper.server.auth.DigestLoginModule required
                  user_bell="%s"
                  user_other="secret";
                };
                """.formatted(password));
    }

    private static CuratorFramework client(ZooKeeperServers servers, String section) {
        var config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, section);
        config.setProperty(FIPS_MODE, "false"); // for DIGEST-MD5
        var client = CuratorFrameworkFactory.builder()
                .connectString(servers.addresses())
                .sessionTimeoutMs(10_000)
                .connectionTimeoutMs(10_000)
                .retryPolicy(new RetryNTimes(20, 100))
                .zkClientConfig(config)
                .aclProvider(acl(path -> ZooDefs.Ids.CREATOR_ALL_ACL))
                .build();
        client.start();
        return client;
    }

    private static ACLProvider acl(Function<String, List<ACL>> ofPath) {
        return new ACLProvider() {
            @Override
            public List<ACL> getDefaultAcl() {
                return getAclForPath("");
            }

            @Override
            public List<ACL> getAclForPath(String path) {
                return ofPath.apply(path);
            }
        };
    }
}
