package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.testkit.Actor;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.zookeeper.ZooKeeperServer;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What befell Curator's LeaderLatch, as scenarios against ours. In each, the stage's auditor looks all the time whether
 * two lead.
 */
class CuratorBugsTest {
    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    private static ZooKeeperServers servers;

    private final Stage stage = new Stage(
            new ZooKeeperInfrastructure(servers) {
                @Override
                public Duration lease() {
                    return Duration.ofSeconds(3); // servers come and go, and take their time
                }
            },
            "curator");

    @BeforeAll
    static void start() {
        servers = ZooKeeperServers.start(3, ZooKeeperInfrastructure.LINKS);
    }

    @AfterAll
    static void stop() {
        servers.close();
    }

    @AfterEach
    void close() {
        servers.servers().forEach(ZooKeeperServer::resume);
        stage.close();
    }

    private Actor leader(List<Actor> actors) {
        stage.eventually("one leads", () -> actors.stream().anyMatch(Actor::isLeader));
        return actors.stream().filter(Actor::isLeader).findFirst().orElseThrow();
    }

    /**
     * CURATOR-696 and 620: the session expires while the servers are away; the old node is still there when they are
     * back, is taken for ours, and vanishes unseen.
     */
    @Test
    void anExpiredLeadersOldNodeIsNeverTakenForItsNewOne() {
        var linked = stage.linkedClient();
        var first = stage.stand(linked.elections());
        var before = first.awaitLeads();
        linked.link().cut();
        first.awaitHears(LeadershipEvent.Fenced.class);
        linked.link().reset();
        linked.link().heal();
        var other = stage.stand(stage.client());
        var leader = leader(List.of(first, other));
        Eventually.throughout("one leads on", stage.lease().multipliedBy(2), leader::isLeader);
        assertThat(leader.awaitLeads().token()).isGreaterThan(before.token());
        leader.candidacy().close();
        (leader == first ? other : first).awaitLeads();
    }

    /**
     * CURATOR-653 and 652: the ensemble elects a new leader; all candidates reset, delete and make their nodes, and two
     * win.
     */
    @Test
    void aChangeOfTheEnsemblesLeaderMovesNoSeatThatIsHeldLongEnough() {
        var actors = new ArrayList<Actor>();
        for (var i = 0; i < 3; i++) {
            actors.add(stage.standLong(stage.client()));
        }
        var leader = leader(actors);
        var token = leader.awaitLeads().token();
        var node = servers.leader();
        node.kill();
        servers.leader();
        Eventually.throughout("it leads on", stage.lease().multipliedBy(2), leader::isLeader);
        node.start();
        assertThat(leader.awaitLeads().token()).as("the same mandate").isEqualTo(token);
        assertThat(leader.events().turns()).containsExactly("Acquired " + token);
        leader.candidacy().close();
        actors.remove(leader);
        leader(actors);
    }

    /**
     * CURATOR-645, 644 and 504: two candidates, told at one time that the one before them left, reset each other's
     * nodes for ever.
     */
    @Test
    void twoThatAreLeftBehindSettleWithoutMakingNewNodes() throws Exception {
        try (var hands = new Hands(servers)) {
            for (var round = 0; round < 5; round++) {
                var client = stage.client();
                var first = stage.standLong(client);
                first.awaitLeads();
                var left = List.of(stage.standLong(client), stage.standLong(stage.client()));
                left.forEach(actor -> actor.awaitFollows(first));
                var nodes = hands.queue(stage.election());
                first.candidacy().close();
                var leader = leader(left);
                assertThat(hands.queue(stage.election()))
                        .as("the nodes of the two")
                        .isEqualTo(nodes.subList(1, 3));
                leader.candidacy().close();
                left.forEach(actor -> actor.candidacy().close());
            }
        }
    }

    /** CURATOR-498: an old answer to a creation comes late, replaces the present node, and has the leader's deleted. */
    @Test
    void answersToCreationsThatComeLateHurtNobody() throws Exception {
        var linked = stage.linkedClient();
        try (var hands = new Hands(servers)) {
            for (var round = 0; round < 3; round++) {
                linked.link().cut(Link.Way.ANSWERS); // the creation is carried out, and answered into the void
                var one = stage.stand(linked.elections());
                Eventually.throughout("it hears nothing", stage.lease(), () -> !one.isLeader());
                linked.link().heal(); // now everything arrives, what belongs to lost connections, too
                var other = stage.stand(stage.client());
                leader(List.of(one, other));
                stage.eventually("each has one node", () -> queue(hands).size() == 2);
                var leader = leader(List.of(one, other));
                Eventually.throughout("one leads on", stage.lease(), leader::isLeader);
                one.candidacy().close();
                other.candidacy().close();
                assertThat(queue(hands)).isEmpty();
            }
        }
    }

    private List<String> queue(Hands hands) {
        try {
            return hands.queue(stage.election());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** CURATOR-444: the servers lose each other for as long as a session; events afterwards made two leaders. */
    @Test
    void serversThatLoseEachOtherForALeaseCostTheMandateAtMost() {
        var actors = new ArrayList<Actor>();
        for (var i = 0; i < 3; i++) {
            actors.add(stage.stand(stage.client()));
        }
        var before = leader(actors).awaitLeads();
        var leading = servers.leader();
        var others = servers.servers().stream().filter(s -> s != leading).toList();
        others.forEach(ZooKeeperServer::pause);
        Eventually.eventually("the mandate ends", stage.patience(), () -> !before.isValid());
        Eventually.throughout(
                "nobody leads", stage.lease(), () -> actors.stream().noneMatch(Actor::isLeader));
        others.forEach(ZooKeeperServer::resume);
        Eventually.eventually(
                "one leads",
                stage.patience().multipliedBy(2),
                () -> actors.stream().anyMatch(Actor::isLeader));
        assertThat(leader(actors).awaitLeads().token()).isGreaterThan(before.token());
    }

    /** CURATOR-47: the connection breaks while one joins, and the leader's events and the joiner's cross. */
    @Test
    void connectionsThatBreakWhileOneJoinsMakeNoSecondLeader() {
        for (var round = 0; round < 2; round++) {
            var linked = stage.linkedClient();
            var first = stage.stand(linked.elections());
            linked.link().reset();
            var second = stage.stand(stage.client());
            linked.link().reset();
            var leader = leader(List.of(first, second));
            Eventually.throughout("one leads", stage.lease(), () -> first.isLeader() || second.isLeader());
            leader.candidacy().close();
            (leader == first ? second : first).awaitLeads();
            first.candidacy().close();
            second.candidacy().close();
        }
    }

    /** Waits until it leads; if it does not, says whose nodes are before it. */
    private Mandate leads(Actor actor) throws Exception {
        try {
            return actor.awaitLeads();
        } catch (AssertionError e) {
            try (var hands = new Hands(servers)) {
                var nodes = new ArrayList<String>();
                for (var node : hands.queue(stage.election())) {
                    var stat = hands.stat(stage.election(), node);
                    nodes.add(
                            node + (stat == null ? " (gone)" : " of 0x" + Long.toHexString(stat.getEphemeralOwner())));
                }
                throw new AssertionError(e.getMessage() + "; the queue: " + nodes, e);
            }
        }
    }

    /**
     * The answer to an old listing arrives after the connection was lost, and sets the leadership that was just taken
     * away.
     */
    @Test
    void noGrantComesOfAnAnswerThatIsOlderThanTheLastLoss() throws Exception {
        var linked = stage.linkedClient();
        var log = new EventLog();
        var first = stage.stand(linked.elections(), log, settings -> settings);
        first.awaitLeads();
        linked.link().cut(Link.Way.ANSWERS);
        first.awaitHears(LeadershipEvent.Fenced.class);
        linked.link().cut(); // else each attempt to connect prolongs the old session, and the second waits longer
        var second = stage.stand(stage.client());
        var between = leads(second);
        linked.link().heal();
        first.awaitFollows(second);
        Eventually.throughout("the second leads on", stage.lease().multipliedBy(2), between::isValid);
        assertThat(log.count(LeadershipEvent.Acquired.class)).isEqualTo(1);
    }
}
