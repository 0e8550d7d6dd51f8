package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.Stage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What is wrong with the original, one fact each. That a leader has a deadline and a token (its fourth) is the
 * contract's to show, and that data, errors and late news are told for what they are, in the other tests here.
 */
class WeaknessesTest {
    private final Stage stage = new Stage(new ZooKeeperInfrastructure(SharedServer.get()), "weakness");
    private final String election = stage.election();
    private final Hands hands = new Hands(SharedServer.get());

    @AfterEach
    void close() {
        stage.close();
        hands.close();
    }

    /** The first and second: a lost session was told to half of the leaders, or as the end of the election. */
    @Test
    void aLeaderWhoseSessionExpiresIsToldSoAndStandsAgain() throws Exception {
        try (var proxy = FaultProxy.to(
                        "127.0.0.1",
                        Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", "")));
                var client = Hands.client("127.0.0.1:" + proxy.port(), 10_000);
                var elections =
                        ZooKeeperElections.using(client, LentSessionTest.config(), ElectionsConfig.defaults())) {
            for (var i = 0; i < 3; i++) {
                var log = new EventLog();
                var candidacy = elections.stand(
                        election + i,
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(10))
                                .listener(log)
                                .build());
                var mandate = Eventually.eventually("it leads", stage.patience(), candidacy::mandate);
                Hands.expire(client);
                proxy.reset(); // as the server does when it expires a session
                stage.eventually(
                        "it is told",
                        () -> log.last(LeadershipEvent.Fenced.class)
                                .filter(entry -> ((LeadershipEvent.Fenced) entry.event()).cause() == Cause.EXPIRED)
                                .isPresent());
                assertThat(mandate.isValid()).isFalse();
                var again = Eventually.eventually("it leads again", stage.patience(), candidacy::mandate);
                assertThat(again.token()).isGreaterThan(mandate.token());
                candidacy.close();
            }
        }
    }

    /** It stayed, and was shown as if the next leader were to stand down. */
    @Test
    void anOrderThatOutlivedTheLeaderWhomItNamedIsTakenAway() throws Exception {
        hands.make(election, Paths.STAND_DOWN);
        hands.write(election, Paths.STAND_DOWN, "le_0000009999");
        var leader = stage.standLong(stage.client());
        leader.awaitLeads();
        stage.eventually("the order is gone", () -> children().stream().noneMatch(Paths.STAND_DOWN::equals));
        Eventually.throughout("the leader leads on", Duration.ofSeconds(1), leader::isLeader);
    }

    private List<String> children() {
        try {
            return hands.children(election);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The third: whoever wrote to a node blinded its watchers, or had them spin. */
    @Test
    void dataWrittenToCandidatesNodesDisturbsNobody() throws Exception {
        var leader = stage.standLong(stage.client());
        leader.awaitLeads();
        var follower = stage.standLong(stage.client());
        follower.awaitFollows(leader);
        for (var i = 0; i < 3; i++) {
            for (var node : hands.queue(election)) {
                hands.write(election, node, "scribble " + i);
            }
        }
        stage.eventually(
                "the follower sees it",
                () -> follower.candidacy()
                        .status()
                        .following()
                        .filter("scribble 2"::equals)
                        .isPresent());
        var before = SharedServer.get().servers().get(0).figure("zk_packets_received");
        Eventually.throughout("the leader leads on", Duration.ofSeconds(1), leader::isLeader);
        assertThat(SharedServer.get().servers().get(0).figure("zk_packets_received") - before)
                .as("requests in a second of rest, pings and these questions included")
                .isLessThan(100);
        leader.candidacy().resign();
        follower.awaitLeadsWithin(stage.longLease().dividedBy(2));
    }

    /** The fifth: a lost answer left a node that nobody knew, and that led for ever. */
    @Test
    void aLostAnswerToTheCreationLeavesNoOrphan() throws Exception {
        for (var i = 0; i < ZooKeeperInfrastructure.LINKS; i++) {
            var linked = stage.linkedClient();
            var actor = stage.standLong(linked.elections());
            linked.link().cut(Link.Way.ANSWERS);
            var seen = hands.queue(election).size();
            Eventually.throughout("a while", Duration.ofMillis(20L * i), () -> seen >= 0);
            linked.link().reset();
            linked.link().heal();
            actor.awaitLeads();
            assertThat(hands.queue(election)).as("nodes of one candidate").hasSize(1);
            actor.candidacy().close();
            assertThat(hands.queue(election)).isEmpty();
        }
    }

    /** The sixth: after an error the node stayed, with nobody behind it. */
    @Test
    void connectionsThatBreakAtAnyMomentOfJoiningLeaveNoDeadCandidate() throws Exception {
        var linked = stage.linkedClient();
        for (var i = 0; i < 10; i++) {
            var actor = stage.standLong(linked.elections());
            var until = System.nanoTime() + i * 1_000_000L;
            while (System.nanoTime() - until < 0) {
                Thread.onSpinWait();
            }
            linked.link().reset();
            actor.awaitLeads();
            actor.candidacy().close();
        }
        stage.eventually("nothing is left", () -> isEmpty());
    }

    private boolean isEmpty() {
        try {
            return hands.queue(election).isEmpty();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The seventh and eighth: watchers leaked when predecessors vanished, and a second resignation panicked. */
    @Test
    void resigningTwiceClosingTwiceAndComingAndGoingLeakNothing() {
        var client = stage.client();
        var leader = stage.standLong(client);
        leader.awaitLeads();
        churn(client, 10);
        var threads = Thread.getAllStackTraces().size();
        var watches = SharedServer.get().servers().get(0).figure("zk_watch_count");
        churn(client, 50);
        stage.eventually(
                "no more watches than before",
                () -> SharedServer.get().servers().get(0).figure("zk_watch_count") <= watches);
        assertThat(Thread.getAllStackTraces().size()).isLessThan(threads + 10);
        assertThat(leader.isLeader()).isTrue();
    }

    private void churn(dev.bellwether.Elections client, int times) {
        for (var i = 0; i < times; i++) {
            var one = stage.standLong(client);
            var other = stage.standLong(client);
            one.candidacy().resign();
            one.candidacy().resign();
            one.candidacy().close();
            other.candidacy().close();
            other.candidacy().close();
        }
    }

    /** The eighth, too: if its node could not be deleted, one who had resigned led on until its session ended. */
    @Test
    void aResignationThatIsLostWithTheConnectionIsMadeUpForOnTheNext() throws Exception {
        var linked = stage.linkedClient();
        var leader = stage.standLong(linked.elections());
        leader.awaitLeads();
        var follower = stage.standLong(stage.client());
        follower.awaitFollows(leader);
        linked.link().cut();
        leader.candidacy().resign();
        stage.eventually("it leads no more", () -> !leader.isLeader());
        assertThat(hands.queue(election)).hasSize(2);
        linked.link().reset();
        linked.link().heal();
        follower.awaitLeadsWithin(stage.longLease().dividedBy(2));
        leader.awaitClosed();
    }

    /** The ninth: a newcomer could win while an election was being ended, and one resignation made the end fail. */
    @Test
    void nobodyLeadsOnceAnElectionHasEndedThoughOthersComeAndGo() {
        var orders = stage.observe(stage.client());
        var leader = stage.standLong(stage.client());
        leader.awaitLeads();
        var client = stage.client();
        var others = new ArrayList<dev.bellwether.testkit.Actor>();
        for (var i = 0; i < 20; i++) {
            others.add(stage.standLong(client));
        }
        others.subList(0, 10).forEach(actor -> actor.candidacy().resign());
        orders.end();
        var late = stage.standLong(client);
        leader.awaitClosed();
        late.awaitClosed();
        others.forEach(dev.bellwether.testkit.Actor::awaitClosed);
        assertThat(late.events().count(LeadershipEvent.Acquired.class)).isZero();
        assertThat(others)
                .allSatisfy(actor -> assertThat(actor.events().count(LeadershipEvent.Acquired.class))
                        .isZero());
        assertThat(isEmpty()).isTrue();
    }

    /**
     * The tenth: any child with DONE in its name ended the election, and one that sorted first kept everybody from
     * leading.
     */
    @Test
    void foreignChildrenAreNobodysConcern() throws Exception {
        for (var foreign :
                List.of("aaa", "NOT_DONE_YET", "le_", "le_12", "le_abcdefghij", "_c_1-latch-0000000000", "lock")) {
            hands.make(election, foreign);
        }
        var leader = stage.standLong(stage.client());
        leader.awaitLeads();
        var follower = stage.standLong(stage.client());
        follower.awaitFollows(leader);
        assertThat(stage.observe(stage.client()).candidates()).hasSize(2);
        leader.candidacy().resign();
        follower.awaitLeadsWithin(stage.longLease().dividedBy(2));
    }

    /** One of the original's programs beside ours: the same queue. */
    @Test
    void aCandidateOfTheOriginalsKindIsFollowedAndFollows() throws Exception {
        var node = hands.join(election, "the original");
        var ours = stage.standLong(stage.client());
        stage.eventually(
                "ours follows it",
                () -> ours.candidacy()
                        .status()
                        .following()
                        .filter("the original"::equals)
                        .isPresent());
        assertThat(stage.observe(stage.client()).leader().orElseThrow().candidate())
                .isEqualTo("the original");
        hands.delete(election, node);
        ours.awaitLeadsWithin(stage.longLease().dividedBy(2));
    }
}
