package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Elections over a client that the application has already. */
class LentSessionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String election = "lent-" + UUID.randomUUID();
    private final Hands hands = new Hands(SharedServer.get());

    @AfterEach
    void close() {
        hands.close();
    }

    static ZooKeeperConfig config() {
        return ZooKeeperConfig.builder()
                .tickTime(Duration.ofMillis(ZooKeeperServers.TICK_MILLIS))
                .build();
    }

    private static Elections over(CuratorFramework client) {
        return ZooKeeperElections.using(client, config(), ElectionsConfig.defaults());
    }

    private static CuratorFramework client(int sessionMillis) {
        return Hands.client(SharedServer.get().addresses(), sessionMillis);
    }

    private static CandidacyConfig.Builder lease(int millis) {
        return CandidacyConfig.builder().lease(Duration.ofMillis(millis));
    }

    @Test
    void theClientIsLeftOpenAndNothingOfOursInItsSession() throws Exception {
        try (var client = client(5_000)) {
            try (var elections = over(client)) {
                var candidacy = elections.stand(election, lease(5_000).build());
                Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            }
            assertThat(client.getState()).isEqualTo(CuratorFrameworkState.STARTED);
            assertThat(hands.children(election)).isEmpty();
            assertThat(client.checkExists().forPath("/")).isNotNull();
        }
    }

    @Test
    void aClientThatWasNotStartedIsRefused() {
        var client = CuratorFrameworkFactory.newClient(SharedServer.get().addresses(), new RetryOneTime(1));
        assertThatThrownBy(() -> over(client))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("start");
    }

    @Test
    void aLeaseLongerThanTheNegotiatedSessionIsRefusedWithBothLengths() {
        try (var client = client(2_000);
                var elections = over(client)) {
            assertThatThrownBy(() -> elections.stand(election, lease(2_001).build()))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("2001")
                    .hasMessageContaining("2000");
        }
        try (var elections = Elections.connect(SharedServer.uri())) {
            assertThatThrownBy(() -> elections.stand(election, lease(60_001).build()))
                    .as("more than the server grants")
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("60001")
                    .hasMessageContaining("60000")
                    .hasMessageContaining("maxSessionTimeout");
        }
    }

    @Test
    void aShorterLeaseThanTheSessionEndsTheMandateByTheLease() throws Exception {
        try (var proxy = FaultProxy.to("127.0.0.1", port());
                var client = Hands.client("127.0.0.1:" + proxy.port(), 20_000);
                var elections = over(client)) {
            var candidacy = elections.stand(election, lease(1_000).build());
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            proxy.cut();
            Eventually.eventually("it leads no more", Duration.ofSeconds(5), () -> !candidacy.isLeader());
            proxy.heal();
            Eventually.eventually("it leads again", PATIENCE, candidacy::isLeader);
        }
    }

    private static int port() {
        return Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", ""));
    }

    /** The servers free the seat the moment they hear of it. */
    @Test
    void oneThatClosesTheClientUnderALeaderEndsTheMandateFirst() {
        var client = client(20_000);
        try (var elections = over(client)) {
            var log = new EventLog();
            var candidacy =
                    elections.stand(election, lease(20_000).listener(log).build());
            var mandate = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            client.close();
            assertThat(mandate.isValid()).as("when close has returned").isFalse();
            Eventually.eventually(
                    "it is told",
                    PATIENCE,
                    () -> log.last(LeadershipEvent.Fenced.class).isPresent());
            assertThat(candidacy.status().lastCause()).contains(Cause.EXPIRED);
        }
    }

    /** As the thread of an executor that is shut down may be. */
    @Test
    void oneThatClosesTheClientWhileItsThreadIsInterruptedEndsTheMandateFirst() throws Exception {
        var stuck = new CompletableFuture<Void>();
        var goOn = new CompletableFuture<Void>();
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                if (attempt == Attempt.RENEWED) {
                    stuck.complete(null);
                    goOn.join(); // on the loop, which is stuck from here on
                }
            }
        };
        var client = client(4_000);
        try (var elections = ZooKeeperElections.using(
                client, config(), ElectionsConfig.builder().metrics(metrics).build())) {
            var candidacy = elections.stand(election, lease(4_000).build());
            var mandate = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
            stuck.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            Thread.currentThread().interrupt();
            client.close();
            assertThat(mandate.isValid()).as("when close has returned").isFalse();
            goOn.complete(null);
        } finally {
            Thread.interrupted(); // nobody else is to be
            goOn.complete(null);
        }
    }

    /**
     * Curator believes in an expiry when it was without answers for as long as a session lives, though the server may
     * hear us.
     */
    @Test
    void anExpiryThatCuratorMadeUpComesWhenTheMandateHasEndedThoughOurLoopIsStuck() throws Exception {
        var stalled = new CompletableFuture<Void>();
        var goOn = new CompletableFuture<Void>();
        var metrics = new Metrics() {
            @Override
            public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
                if (stalled.isDone()) {
                    goOn.join(); // on the loop, which is stuck from here on
                }
            }
        };
        try (var proxy = FaultProxy.to("127.0.0.1", port());
                var client = Hands.client("127.0.0.1:" + proxy.port(), 4_000);
                var auditor = new LeadershipAuditor();
                var elections = ZooKeeperElections.using(
                        client,
                        config(),
                        ElectionsConfig.builder().metrics(metrics).build());
                var others = Elections.connect(SharedServer.uri())) {
            var first = elections.stand(election, lease(4_000).build());
            auditor.audit(first);
            Eventually.eventually("it leads", PATIENCE, first::isLeader);
            var session = client.getZookeeperClient().getZooKeeper().getSessionId();
            var second = others.stand(election, lease(4_000).build());
            auditor.audit(second);
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> second.status().following().isPresent());
            stalled.complete(null);
            proxy.cut(Link.Way.ANSWERS);
            Eventually.eventually("Curator has given the session up", PATIENCE, () -> sessionOf(client) != session);
            assertThat(first.isLeader()).isFalse();
            proxy.heal();
            Eventually.eventually("the other leads", PATIENCE, second::isLeader);
        } finally {
            goOn.complete(null);
        }
    }

    /** Curator makes a new client before it tells its listeners that the session of the former has expired. */
    @Test
    void anExpiryThatIsHeardWhenTheNextSessionIsInUseEndsThatNot() throws Exception {
        var late = new LateExpiry();
        try (var client = client(5_000)) {
            client.getCuratorListenable().addListener(late);
            try (var elections = over(client)) {
                var log = new EventLog();
                var candidacy =
                        elections.stand(election, lease(5_000).listener(log).build());
                var before = Eventually.eventually("it leads", PATIENCE, candidacy::mandate);
                Hands.expire(client);
                var next = Eventually.eventually(
                        "it leads in the next session",
                        PATIENCE,
                        () -> candidacy.mandate().filter(held -> held.token() > before.token()));
                assertThat(late.thread.isDone()).as("the expiry is under way").isTrue();
                late.goOn.complete(null);
                late.thread.join().join(PATIENCE.toMillis());
                assertThat(late.thread.join().isAlive()).as("all has been told").isFalse();
                assertThat(candidacy.mandate().map(Mandate::token)).contains(next.token());
                assertThat(log.count(LeadershipEvent.Fenced.class)).isEqualTo(1);
                candidacy.close();
                assertThat(hands.queue(election)).isEmpty();
            } finally {
                late.goOn.complete(null);
            }
        }
    }

    /** Holds the expiry back from the listeners behind it. */
    private static final class LateExpiry implements CuratorListener {
        private final CompletableFuture<Thread> thread = new CompletableFuture<>();
        private final CompletableFuture<Void> goOn = new CompletableFuture<>();

        @Override
        public void eventReceived(CuratorFramework client, CuratorEvent event) {
            var watched = event.getWatchedEvent();
            if (watched != null
                    && watched.getState() == KeeperState.Expired
                    && thread.complete(Thread.currentThread())) {
                goOn.join();
            }
        }

        /** Curator tells its listeners in the order of these: it comes before any other. */
        @Override
        public int hashCode() {
            return 0;
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    private static long sessionOf(CuratorFramework client) {
        try {
            return client.getZookeeperClient().getZooKeeper().getSessionId();
        } catch (Exception e) {
            return 0;
        }
    }

    @Test
    void aPauseEndsThoughTheApplicationKeepsTheThreadBusyThatTheJdkHasForDelays() throws Exception {
        var goOn = new CompletableFuture<Void>();
        CompletableFuture.delayedExecutor(0, TimeUnit.NANOSECONDS, Runnable::run)
                .execute(goOn::join);
        try (var client = client(5_000);
                var session = SeatSession.borrowed(client, config().tickTime(), "the server")) {
            var over = new CompletableFuture<Boolean>();
            session.soon(() -> over.complete(true));
            assertThat(over.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            goOn.complete(null);
        }
    }

    @Test
    void whatCouldNotBeTakenBackAtCloseIsTakenBackWhenThereIsAConnection() throws Exception {
        try (var proxy = FaultProxy.to("127.0.0.1", port());
                var client = Hands.client("127.0.0.1:" + proxy.port(), 30_000)) {
            var elections = over(client);
            var candidacy = elections.stand(election, lease(1_000).build());
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            proxy.refuse();
            proxy.reset();
            elections.close();
            assertThat(hands.queue(election)).hasSize(1);
            proxy.heal();
            Eventually.eventually("its node is gone, with the session alive", PATIENCE, () -> {
                try {
                    return hands.queue(election).isEmpty();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }

    @Test
    void twoOverOneClientAreTwoCandidatesThoughTheyHaveOneIdAndOneSession() throws Exception {
        try (var client = client(5_000);
                var one = over(client);
                var other = over(client)) {
            var first = one.stand(election, lease(5_000).candidate("twin").build());
            Eventually.eventually("it leads", PATIENCE, first::isLeader);
            var second = other.stand(election, lease(5_000).candidate("twin").build());
            Eventually.eventually(
                    "the other follows",
                    PATIENCE,
                    () -> second.status().following().isPresent());
            assertThat(hands.queue(election)).hasSize(2);
            first.close();
            Eventually.eventually("the other leads", PATIENCE, second::isLeader);
        }
    }

    @Test
    void namespaceAndChrootAreTheClients() throws Exception {
        try (var plain = client(5_000)) {
            plain.create().orSetData().forPath("/chroot-of-the-test");
        }
        try (var client = CuratorFrameworkFactory.builder()
                .connectString(SharedServer.get().addresses() + "/chroot-of-the-test")
                .namespace("space")
                .sessionTimeoutMs(5_000)
                .retryPolicy(new RetryOneTime(1))
                .build()) {
            client.start();
            try (var elections = over(client)) {
                var candidacy = elections.stand(election, lease(5_000).build());
                Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
                assertThat(elections.list()).contains(election);
                assertThat(elections.election(election).leader().orElseThrow().candidate())
                        .isEqualTo(candidacy.candidate());
                assertThat(client.getChildren().forPath("/bellwether/" + election))
                        .hasSize(1);
            }
        }
    }

    @Test
    void aChrootThatIsMissingFailsTheCandidacyAndSaysSo() throws Exception {
        try (var client = Hands.client(SharedServer.get().addresses() + "/missing-" + election, 5_000);
                var elections = over(client)) {
            var log = new EventLog();
            elections.stand(election, lease(5_000).listener(log).build());
            var failed = Eventually.eventually("it fails", PATIENCE, () -> log.last(LeadershipEvent.Failed.class));
            assertThat(failed.event().toString()).contains("chroot", "does not exist");
        }
    }

    @Test
    void theAclProvidersAclIsOnEveryNode() throws Exception {
        var mine = "ops:secret".getBytes(StandardCharsets.UTF_8);
        try (var client = CuratorFrameworkFactory.builder()
                .connectString(SharedServer.get().addresses())
                .sessionTimeoutMs(5_000)
                .retryPolicy(new RetryOneTime(1))
                .authorization("digest", mine)
                .aclProvider(new ACLProvider() {
                    @Override
                    public List<ACL> getDefaultAcl() {
                        return ZooDefs.Ids.CREATOR_ALL_ACL;
                    }

                    @Override
                    public List<ACL> getAclForPath(String path) {
                        return path.equals("/bellwether") ? ZooDefs.Ids.OPEN_ACL_UNSAFE : getDefaultAcl();
                    }
                })
                .build()) {
            client.start();
            try (var elections = over(client)) {
                var candidacy = elections.stand(election, lease(5_000).build());
                Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
                for (var node : client.getChildren().forPath("/bellwether/" + election)) {
                    assertThat(client.getACL().forPath("/bellwether/" + election + '/' + node))
                            .singleElement()
                            .satisfies(
                                    acl -> assertThat(acl.getId().getScheme()).isEqualTo("digest"));
                }
                try (var stranger = Elections.connect(SharedServer.uri())) {
                    var log = new EventLog();
                    var refused =
                            stranger.stand(election, lease(5_000).listener(log).build());
                    assertThatThrownBy(refused::awaitClose).isInstanceOf(ElectionException.class);
                    assertThat(log.last(LeadershipEvent.Failed.class)
                                    .orElseThrow()
                                    .event()
                                    .toString())
                            .contains("NoAuth")
                            .contains("grant");
                    assertThat(candidacy.isLeader()).isTrue();
                }
            }
        }
    }

    @Test
    void credentialsInTheUriGuardWhatIsMadeWithThem() throws Exception {
        var address = SharedServer.get().addresses();
        var uri = "zk://ops:s3cret@" + address + "/guarded-" + UUID.randomUUID() + "?acl=creator";
        try (var elections = Elections.connect(uri)) {
            var candidacy = elections.stand(election, lease(5_000).build());
            Eventually.eventually("it leads", PATIENCE, candidacy::isLeader);
            try (var other = Elections.connect(uri)) {
                assertThat(other.election(election).leader()).isPresent();
            }
            try (var stranger = Elections.connect(uri.replace("ops:s3cret@", ""))) {
                assertThatThrownBy(() -> stranger.election(election).leader())
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContaining("grant");
            }
            assertThat(elections.toString()).doesNotContain("s3cret");
        }
    }
}
