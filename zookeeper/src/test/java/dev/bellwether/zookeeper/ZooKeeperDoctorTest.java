package dev.bellwether.zookeeper;

import static dev.bellwether.fixtures.Doctor.only;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.ensemble.fixed.FixedEnsembleProvider;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each finding, on servers that are set so. */
@Timeout(180)
class ZooKeeperDoctorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void oneServerWithASessionThatFitsIsFineButAlone() {
        var findings = find(SharedServer.uri(), Duration.ofSeconds(1));

        assertThat(only(findings, "session").says()).isEqualTo("its timeout is the lease, 1000 ms");
        assertThat(only(findings, "crash").terms().get(0))
                .isEqualTo(new Finding.Term("session", Duration.ofSeconds(1)));
        assertThat(only(findings, "crash").terms().get(1).name()).isEqualTo("tick");
        assertThat(only(findings, "rights").level()).isEqualTo(Finding.Level.OK);
        var replication = only(findings, "replication");
        assertThat(replication.level()).isEqualTo(Finding.Level.WARNING);
        assertThat(replication.says()).contains("there is one server");
    }

    /** A session of whole milliseconds was asked for, and found to be shorter than the lease. */
    @Test
    void aLeaseWithAPartOfAMillisecondIsFine() {
        var findings = find(SharedServer.uri(), Duration.ofSeconds(10).dividedBy(3));
        assertThat(only(findings, "session").level()).isEqualTo(Finding.Level.OK);
        assertThat(only(findings, "servers").level()).isEqualTo(Finding.Level.OK);
    }

    @Test
    void sessionLongerThanTheLeaseIsAWarningAndAShorterOneAnError() {
        // Servers of a tick of their own: one that is short enough for the other tests makes sessions that a busy
        // machine loses.
        try (var slow = ZooKeeperServers.start(1, 0, Map.of("minSessionTimeout", "8000"), List.of())) {
            var shorter = only(find("zk://" + slow.addresses(), Duration.ofSeconds(2)), "session");
            assertThat(shorter.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(shorter.says())
                    .contains("8000 ms at least, so that a crash costs that and not the lease of 2000 ms");
        }

        var longer = only(find(SharedServer.uri(), Duration.ofHours(10)), "session");
        assertThat(longer.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(longer.says()).contains("was negotiated to");
    }

    @Test
    @SuppressWarnings("try") // nobody interrupts this
    void placeWhereWeMayNotMakeNodesIsAnErrorAndNothingIsLeftByLooking() throws Exception {
        var connected = new CountDownLatch(1);
        try (var keeper = new ZooKeeper(SharedServer.get().addresses(), 5_000, event -> connected.countDown())) {
            assertThat(connected.await(60, TimeUnit.SECONDS)).isTrue();
            var serial = "-" + System.nanoTime(); // the server is shared, also with a second try
            keeper.create("/locked" + serial, new byte[0], Ids.READ_ACL_UNSAFE, CreateMode.PERSISTENT);
            keeper.create("/open" + serial, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            var address = SharedServer.uri().replaceFirst("[?].*", "").replaceFirst("(//[^/]*).*", "$1");

            var locked = only(find(address + "/locked" + serial, Duration.ofSeconds(10)), "rights");
            assertThat(locked.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(locked.says()).contains("/locked");
            assertThat(only(find(address + "/open" + serial, Duration.ofSeconds(10)), "rights")
                            .level())
                    .isEqualTo(Finding.Level.OK);
            assertThat(keeper.getChildren("/open" + serial, false)).doesNotContain("bellwether-doctor");
        }
    }

    /** Newer servers do not say whether it is there. */
    @Test
    void placeThatWeMayNotEvenReadIsAnErrorBesideWhatElseIsFound() throws Exception {
        var root = "/secret-" + UUID.randomUUID();
        try (var administrator = Hands.client(SharedServer.get().addresses(), 10_000)) {
            administrator
                    .getZookeeperClient()
                    .getZooKeeper()
                    .addAuthInfo("digest", "ops:s3cret".getBytes(StandardCharsets.UTF_8));
            administrator.create().withACL(Ids.CREATOR_ALL_ACL).forPath(root);
        }
        var found = find("zk://" + SharedServer.get().addresses() + root + "?tickTime=PT0.1S", Duration.ofSeconds(10));
        assertThat(only(found, "rights").level()).isEqualTo(Finding.Level.ERROR);
        assertThat(only(found, "rights").says()).contains("may not create nodes below " + root);
        assertThat(only(found, "session").level()).isEqualTo(Finding.Level.OK);
    }

    @Test
    void nodesThatCannotBeMadeForAnyOtherReasonAreAnErrorToo() {
        var uri = SharedServer.uri();
        var invalid =
                only(find(uri + (uri.contains("?") ? '&' : '?') + "acl=creator", Duration.ofSeconds(10)), "rights");
        assertThat(invalid.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(invalid.says()).contains("InvalidACL");
        try (var client = Hands.client(SharedServer.get().addresses() + "/missing-chroot", 10_000);
                var session =
                        SeatSession.borrowed(client, LentSessionTest.config().tickTime(), "the test's server")) {
            var backend = new ZooKeeperArbiter(Sessions.lent(session), LentSessionTest.config());
            var missing = only(backend.findings(CandidacyConfig.ofLease(Duration.ofSeconds(10))), "rights");
            assertThat(missing.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(missing.says()).contains("chroot");
        }
    }

    @Test
    void ensembleIsToldByHowManyVote() {
        try (var three = ZooKeeperServers.start(3, 0)) {
            var found = only(find("zk://" + three.addresses(), Duration.ofSeconds(10)), "replication");
            assertThat(found).isEqualTo(Finding.ok("replication", "3 servers vote: 1 of them may be down at a time"));
        }
        try (var two = ZooKeeperServers.start(2, 0)) {
            var found = only(find("zk://" + two.addresses(), Duration.ofSeconds(10)), "replication");
            assertThat(found.level()).isEqualTo(Finding.Level.WARNING);
            assertThat(found.says()).contains("2 servers vote");
        }
    }

    @Test
    void aServerThatGrantsLessThanTheOthersIsAnError() {
        try (var short1 = ZooKeeperServers.start(1, 0, Map.of("maxSessionTimeout", "4000"), List.of())) {
            var both = SharedServer.get().addresses() + ',' + short1.addresses();
            var found = find("zk://" + both + "?tickTime=PT0.1S", Duration.ofSeconds(3));
            assertThat(only(found, "servers").level()).isEqualTo(Finding.Level.OK);
            var longer = only(find("zk://" + both + "?tickTime=PT0.1S", Duration.ofSeconds(8)), "servers");
            assertThat(longer.level()).isEqualTo(Finding.Level.ERROR);
            assertThat(longer.says())
                    .contains(short1.addresses() + " (4000 ms)")
                    .contains("two may lead");
        }
    }

    @Test
    void aLeaseThatIsTooShortForAProofIsAnError() {
        var address = SharedServer.get().addresses();
        var found =
                only(find("zk://" + address, Duration.ofSeconds(2)), "proof"); // a tick of three seconds, if not told
        assertThat(found.level()).isEqualTo(Finding.Level.ERROR);
        assertThat(found.says()).contains("takes 1750 ms").contains("tickTime of 3000 ms");
        var told = only(find("zk://" + address + "?tickTime=PT0.1S", Duration.ofSeconds(2)), "proof");
        assertThat(told.level()).isEqualTo(Finding.Level.OK);
    }

    /** Nobody can put right what is no more than a connection that was lost meanwhile. */
    @Test
    void aConnectionThatIsLostMeanwhileIsNoAnswerAndNoLackOfRights() throws Exception {
        var servers = SharedServer.get().addresses();
        var lost = new AtomicBoolean();
        try (var proxy = FaultProxy.to("127.0.0.1", Integer.parseInt(servers.replaceAll(".*:", "")))) {
            Runnable lose = () -> {
                if (lost.getAndSet(false)) {
                    proxy.refuse();
                    proxy.reset();
                }
            };
            var address = "127.0.0.1:" + proxy.port();
            // asked for the servers right before the ensemble is asked who is in it
            var whileServersAreAsked = new FixedEnsembleProvider(address) {
                @Override
                public String getConnectionString() {
                    var losesNow = lost.get();
                    lose.run();
                    return losesNow ? servers : super.getConnectionString();
                }
            };
            assertUnanswered(lost, CuratorFrameworkFactory.builder().ensembleProvider(whileServersAreAsked));
            proxy.heal();
            // asked for the ACL right before a node is asked for
            var whileRightsAreAsked = new ACLProvider() {
                @Override
                public List<ACL> getDefaultAcl() {
                    lose.run();
                    return Ids.OPEN_ACL_UNSAFE;
                }

                @Override
                public List<ACL> getAclForPath(String path) {
                    return getDefaultAcl();
                }
            };
            assertUnanswered(
                    lost,
                    CuratorFrameworkFactory.builder().connectString(address).aclProvider(whileRightsAreAsked));
        }
    }

    private static void assertUnanswered(AtomicBoolean lost, CuratorFrameworkFactory.Builder client) throws Exception {
        try (var lent = client.ensembleTracker(false)
                .sessionTimeoutMs(10_000)
                .retryPolicy(new RetryOneTime(1))
                .build()) {
            lent.start();
            var session = SeatSession.borrowed(lent, LentSessionTest.config().tickTime(), "the test's server");
            var arbiter = new ZooKeeperArbiter(Sessions.lent(session), LentSessionTest.config());
            lost.set(true);
            assertThatThrownBy(() -> arbiter.findings(CandidacyConfig.ofLease(Duration.ofSeconds(10))))
                    .isInstanceOf(UnavailableException.class)
                    .hasMessageContaining("no answer");
            assertThat(lost).isFalse();
            arbiter.close();
        }
    }

    /** Asks again while there is no answer: of servers that have just started, on a busy machine. */
    private static List<Finding> find(String uri, Duration lease) {
        return Eventually.eventually(
                "it answers", PATIENCE, () -> Optional.of(Doctor.find(uri, CandidacyConfig.ofLease(lease))));
    }
}
