package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import dev.bellwether.zookeeper.TreeModel.Planted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.junit.jupiter.api.Test;

/** The rules of a seat one by one: on a {@link TreeModel}, in simulated time. */
class QueueSeatTest {
    private static final long MILLI = 1_000_000;
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration TEN_MINUTES = Duration.ofMinutes(10);
    private static final String PATH = "/bellwether/e";

    private final SplittableRandom random = new SplittableRandom(1);
    private final ModelTime time = new ModelTime(1_000 * MILLI);
    private final TreeModel tree = new TreeModel(time, random, 100 * MILLI, Planted.NOTHING);
    private final ElectionNodes operator = new ElectionNodes(client(Duration.ofHours(1)), PATH);

    /** It hears that something has changed, and each time that it asks what, its connection breaks. */
    private void breakWhileItReads(TreeModel.Client client) {
        client.reconnect(false);
        for (var i = 0; i < 20; i++) {
            client.disconnect();
            client.reconnect(false);
            time.run(time.now() + MILLI, () -> {});
        }
    }

    private TreeModel.Client client(Duration timeout) {
        var client = tree.new Client("client", timeout);
        client.calm();
        return client;
    }

    private void pass(long millis) {
        time.run(time.now() + millis * MILLI, () -> {});
    }

    private void order(Order order) {
        var carriedOut = operator.order(order);
        pass(100);
        assertThat(carriedOut).isCompleted();
    }

    @Test
    void theSeatIsGrantedOnTheProofOfTheSessionAndForNoLongerThanTheLease() {
        var client = client(LEASE.multipliedBy(3));
        pass(200);
        var lone = new Candidate("a", client);
        lone.seat.claim();
        pass(80);
        assertThat(lone.told).containsExactly("granted");
        assertThat(lone.proof().since().nanos())
                .as("when the session was opened")
                .isEqualTo(1_000 * MILLI);
        assertThat(lone.proof().guarantee()).isEqualTo(LEASE);
        pass(1_000);
        assertThat(lone.proof().since().nanos()).isGreaterThan(1_500 * MILLI);
        assertThat(lone.proof().guarantee()).isEqualTo(LEASE);
    }

    @Test
    void eachWatchesItsNeighbourAndOneDepartureWakesOne() {
        var first = standing("a");
        var second = standing("b");
        var third = standing("c");
        assertThat(second.told).containsExactly("follows a");
        assertThat(third.told).containsExactly("follows b");
        second.seat.leave();
        pass(200);
        assertThat(third.told).containsExactly("follows b", "follows a");
        first.seat.leave();
        pass(200);
        assertThat(third.told).endsWith("granted");
        assertThat(second.told).endsWith("left");
    }

    /** A watch tells once: the seat stayed empty until the connection broke. */
    @Test
    void aDepartureThatFoundNoMemoryIsSeenWithTheNextProof() {
        var first = standing("a");
        var client = client(LEASE);
        var second = standing("b", client);
        client.beforeNextEvent(second.loop::runOutOfMemory);
        first.seat.leave();
        pass(LEASE.toMillis());
        assertThat(first.told).endsWith("left");
        assertThat(second.told).endsWith("granted");
    }

    @Test
    void anOrderThatFoundNoMemoryIsSeenWithTheNextProof() {
        var client = client(LEASE);
        var leader = standing("a", client);
        client.beforeNextEvent(leader.loop::runOutOfMemory);
        order(Order.STAND_DOWN);
        pass(LEASE.toMillis());
        assertThat(leader.told).endsWith("asked REVOKED_BY_OPERATOR");
    }

    /** Whatever its work does, the successor does not wait any longer. */
    @Test
    void aSeatThatIsConcededIsGivenBackWhenItsTimeIsUp() {
        var first = standing("a");
        var second = standing("b");
        first.seat.concede(Duration.ofMillis(500));
        pass(400);
        assertThat(second.told).doesNotContain("granted");
        pass(300);
        assertThat(second.told).endsWith("granted");
    }

    @Test
    void oneThatLeavesWhileItsCreationIsUnderWayHasLeftWhenItsNodeIsGone() {
        standing("other"); // so that the election is there
        var candidate = new Candidate("a", client(LEASE));
        candidate.seat.claim();
        passUntilQueueOf(2);
        candidate.seat.leave();
        assertThat(candidate.told).isEmpty();
        pass(100);
        assertThat(candidate.told).containsExactly("left");
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    /** As one that stood aside before there was a connection: its session was kept for it until the process ended. */
    @Test
    void oneThatLeavesBeforeItHasClaimedIsLetGo() {
        var candidate = new Candidate("a", client(LEASE));
        candidate.seat.leave();
        candidate.seat.leave();
        assertThat(candidate.told).containsExactly("left", "left");
        assertThat(candidate.isLetGo).isTrue();
    }

    @Test
    void twinsOfOneSessionWhoseAnswersAreLostTakeANodeEach() {
        standing("other"); // so that the election is there
        var client = client(LEASE);
        var one = new Candidate("twin", client);
        var two = new Candidate("twin", client);
        one.seat.claim();
        two.seat.claim();
        passUntilQueueOf(3);
        client.disconnect();
        client.reconnect(false);
        pass(1_000);
        assertThat(one.told).hasSize(1);
        assertThat(two.told).hasSize(1);
        assertThat(List.of(one.told.get(0), two.told.get(0)))
                .containsExactlyInAnyOrder("follows other", "follows twin");
        assertThat(tree.queue(PATH)).hasSize(3);
        one.seat.leave();
        two.seat.leave();
        pass(200);
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    /** Whose answer comes late finds its node taken, and takes the other's. */
    @Test
    void oneWhoseNodeWasTakenByItsTwinTakesTheTwins() {
        standing("other"); // so that the election is there
        var client = client(LEASE);
        var late = new Candidate("twin", client);
        var lost = new Candidate("twin", client);
        late.seat.claim();
        passUntilQueueOf(2);
        late.loop.pause(500 * MILLI);
        pass(20); // its answer waits to be heard
        lost.seat.claim();
        passUntilQueueOf(3);
        client.disconnect();
        client.reconnect(false);
        pass(1_000);
        assertThat(lost.told).containsExactly("follows other");
        assertThat(late.told).containsExactly("follows twin");
        lost.seat.leave();
        late.seat.leave();
        pass(200);
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    private void passUntilQueueOf(int length) {
        for (var i = 0; i < 1_000 && tree.queue(PATH).size() < length; i++) {
            time.run(time.now() + MILLI / 10, () -> {});
        }
    }

    @Test
    void aDeletionThatWasLostIsSentAgainWhenThereIsAConnection() {
        var client = client(LEASE);
        var candidate = standing("a", client);
        client.disconnect();
        candidate.seat.leave();
        pass(300);
        assertThat(tree.queue(PATH)).hasSize(1);
        client.reconnect(false);
        pass(400);
        assertThat(tree.queue(PATH)).isEmpty();
        assertThat(candidate.told).endsWith("left");
    }

    /** The next one had the lowest number of all, stood before the leader, and led beside it. */
    @Test
    void whereTheNumbersOfNodesEndNobodyJoins() {
        standing("other").seat.leave(); // so that the election is there
        pass(100);
        tree.numberNext(PATH, Integer.MAX_VALUE);
        var first = joining("a");
        var second = joining("b");
        for (var candidate : List.of(first, second)) {
            assertThat(candidate.told).singleElement().asString().contains("failed", "are used up");
            candidate.seat.leave();
            pass(100);
            assertThat(candidate.told).endsWith("left");
        }
        assertThat(tree.queue(PATH)).isEmpty();
    }

    private Candidate joining(String id) {
        var candidate = new Candidate(id, client(LEASE));
        candidate.seat.claim();
        pass(1_000);
        return candidate;
    }

    /** As is left by tools that copy a tree: nobody led, and nothing said why. */
    @Test
    void aNodeInTheQueueThatNoSessionEndsIsToldOnce() {
        standing("other").seat.leave(); // so that the election is there
        pass(100);
        var copy = operator.requests().create(CreateMode.PERSISTENT_SEQUENTIAL, PATH + "/le_", "copied");
        pass(100);
        assertThat(copy).isCompleted();
        try (var log = new LogSaid()) {
            var client = client(LEASE);
            var candidate = standing("a", client);
            client.disconnect();
            client.reconnect(false);
            pass(1_000);
            assertThat(candidate.told).containsOnly("follows copied");
            assertThat(log.warnings("/le_0000000001 is not ephemeral")).hasSize(1);
        }
    }

    /** It stood by without end or error, and nobody behind its node led. */
    @Test
    void oneThatMayNotReadItsNodeFailsAndLeavesNoneBehind() {
        tree.refuseReads(path -> path.contains("/le_"));
        var candidate = new Candidate("a", client(LEASE));
        candidate.seat.claim();
        pass(100);
        assertThat(candidate.told).singleElement().asString().contains("failed", "NoAuth for " + PATH + "/le_");
        assertThat(tree.queue(PATH)).isEmpty();
        candidate.seat.leave();
        pass(100);
        assertThat(candidate.told).endsWith("left");
        assertThat(tree.queue(PATH)).isEmpty();
    }

    @Test
    void oneThatMayReadItsNodeNoMoreBlocksNobodyAndStandsAgainWhenItMay() {
        var candidate = standing("a");
        candidate.seat.release();
        pass(100);
        tree.refuseReads(path -> path.contains("/le_"));
        candidate.seat.claim();
        var made = 0;
        for (var i = 0; i < 1_000; i++) {
            var before = tree.queue(PATH).size();
            time.run(time.now() + MILLI, () -> {});
            made += Math.max(0, tree.queue(PATH).size() - before);
        }
        assertThat(made)
                .as("nodes made in a second, with a retry interval of 200 ms")
                .isBetween(3, 6);
        assertThat(candidate.told).containsExactly("granted");
        tree.refuseReads(path -> false);
        pass(600);
        assertThat(candidate.told).containsExactly("granted", "granted");
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    @Test
    void oneThatMayNeitherReadNorDeleteItsNodeLeavesItBehindUntilItMay() {
        standing("other"); // so that the election is there
        tree.refuseReads(path -> path.contains("/le_"));
        tree.refuseDeletions(true);
        var candidate = new Candidate("a", client(Duration.ofMinutes(1)));
        candidate.seat.claim();
        pass(500);
        assertThat(candidate.told)
                .isNotEmpty()
                .allSatisfy(told -> assertThat(told).contains("failed", "NoAuth"));
        candidate.seat.leave();
        pass(500);
        assertThat(candidate.told).endsWith("left unconfirmed");
        assertThat(tree.queue(PATH)).hasSize(2);
        tree.refuseDeletions(false);
        tree.refuseReads(path -> false);
        pass(2_000);
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    /** The standby failed after five minutes, because of what it shows. */
    @Test
    void oneThatMayNotWriteToItsNodeStandsOnAndShowsLaterWhatItProclaimed() {
        var leader = standing("a");
        var second = standing("b");
        tree.refuseWrites(true);
        leader.seat.proclaim(Map.of("is", "leader"));
        second.seat.proclaim(Map.of("is", "second"));
        pass(TEN_MINUTES.toMillis());
        assertThat(leader.told).containsExactly("granted");
        assertThat(second.told).containsExactly("follows a");
        tree.refuseWrites(false);
        pass(LEASE.toMillis());
        assertThat(view().candidates())
                .extracting(dev.bellwether.Candidate::metadata)
                .containsExactly(Map.of("is", "leader"), Map.of("is", "second"));
    }

    /** The answer to its creation is lost, and it may not list the queue to look for the node. */
    @Test
    void oneThatMayNotLookForItsNodeFails() {
        standing("other"); // so that the election is there
        var client = client(LEASE);
        var candidate = new Candidate("a", client);
        candidate.seat.claim();
        passUntilQueueOf(2);
        tree.refuseReads(PATH::equals);
        client.disconnect();
        client.reconnect(false);
        pass(500);
        assertThat(candidate.told).singleElement().asString().contains("failed", "NoAuth for " + PATH);
        candidate.seat.leave();
        pass(100);
        assertThat(candidate.told).endsWith("left unconfirmed");
        tree.refuseReads(path -> false);
        pass(2_000);
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    /** The server keeps the old node for as long as the old session would have lived. */
    @Test
    void oneWhoseSessionWasGivenUpDoesNotWaitForItsOwnOldNode() {
        var client = client(Duration.ofMinutes(1));
        var candidate = standing("a", client);
        client.disconnect();
        client.reconnect(true);
        pass(100);
        assertThat(candidate.told).containsExactly("granted", "lost EXPIRED");
        candidate.seat.release();
        candidate.seat.claim();
        pass(500);
        assertThat(candidate.told).endsWith("granted");
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    @Test
    void allWhoStandHearOfTheEndTheLeaderToo() {
        var leader = standing("a");
        var standby = standing("b");
        order(Order.END);
        assertThat(leader.told).endsWith("asked ENDED");
        assertThat(standby.told).endsWith("ended");
        leader.seat.release();
        leader.seat.claim();
        pass(300);
        assertThat(leader.told).endsWith("ended");
        assertThat(tree.queue(PATH)).isEmpty();
    }

    @Test
    void anOrderIsForTheOneThatItNamesAndIsTakenAwayWhenItIsCarriedOut() {
        var leader = standing("a");
        var standby = standing("b");
        order(Order.STAND_DOWN);
        assertThat(leader.told).endsWith("asked REVOKED_BY_OPERATOR");
        leader.seat.concede(Duration.ofSeconds(1));
        leader.seat.release();
        pass(300);
        assertThat(standby.told).endsWith("granted");
        assertThat(tree.has(PATH + "/stand_down")).isFalse();
    }

    @Test
    void anOrderThatALoneLeaderHasCarriedOutIsTakenAway() {
        var leader = standing("a");
        order(Order.STAND_DOWN);
        leader.seat.release();
        pass(300);
        assertThat(tree.has(PATH + "/stand_down")).isFalse();
    }

    @Test
    void theLastWhoLeavesADeletedElectionDeletesItsNode() {
        var leader = standing("a");
        var standby = standing("b");
        order(Order.DELETE);
        assertThat(standby.told).endsWith("ended");
        assertThat(leader.told).endsWith("asked ENDED");
        assertThat(tree.has(PATH)).isTrue();
        leader.seat.release();
        pass(300);
        assertThat(tree.has(PATH)).isFalse();
    }

    @Test
    void anElectionThatWasDeletedAndMadeAgainIsAnotherOne() {
        var client = client(LEASE);
        var leader = standing("a", client);
        var standby = standing("b", client);
        client.disconnect(); // so that it cannot hear of the deletion before there is another
        tree.queue(PATH).forEach(node -> tree.deleteByHand(PATH + '/' + node));
        tree.deleteByHand(PATH);
        standing("c", client(LEASE));
        client.reconnect(false);
        pass(300);
        assertThat(leader.told).endsWith("lost REPLACED");
        leader.seat.release();
        leader.seat.claim();
        pass(1_000);
        assertThat(leader.told).endsWith("ended");
        assertThat(standby.told).endsWith("ended");
        assertThat(tree.queue(PATH)).hasSize(1);
    }

    /** Nodes are numbered from 0 again: it was deleted in place of ours, under its leader. */
    @Test
    void aNodeOfTheSameNameInAnElectionMadeAgainIsNotDeletedForOurs() {
        var client = client(LEASE);
        var leader = standing("a", client);
        client.disconnect();
        leader.seat.leave();
        tree.queue(PATH).forEach(node -> tree.deleteByHand(PATH + '/' + node));
        tree.deleteByHand(PATH);
        var other = standing("b");
        client.reconnect(false);
        pass(500);
        assertThat(leader.told).endsWith("left");
        assertThat(other.told).containsExactly("granted");
        assertThat(tree.hasNodeOf("b", PATH)).isTrue();
    }

    @Test
    void aChangeThatCouldNotBeReadIsReadOnTheNextConnection() {
        var client = client(LEASE);
        var leader = standing("a", client);
        client.disconnect();
        order(Order.STAND_DOWN);
        breakWhileItReads(client);
        pass(500);
        assertThat(leader.told).endsWith("asked REVOKED_BY_OPERATOR");
    }

    @Test
    void aSeatIsHandedOverWhenAllWhoStoodBeforeTheOneThatIsReadyHaveGoneBehindIt() {
        var leader = standing("a");
        var second = standing("b");
        var third = standing("c");
        var fourth = standing("d");
        var order = ask("c");
        assertThat(third.told).endsWith("prepare for a");
        assertThat(second.told).containsExactly("follows a");
        third.seat.ready(order);
        pass(500);
        assertThat(second.told).endsWith("follows d");
        assertThat(fourth.told).containsExactly("follows c");
        assertThat(third.told).endsWith("follows a");
        assertThat(leader.told).endsWith("asked HANDED_OVER");
        leader.seat.release();
        pass(300);
        assertThat(third.told).endsWith("granted");
        assertThat(tree.has(PATH + "/successor"))
                .as("a note for a leader before")
                .isFalse();
        assertThat(second.told).doesNotContain("granted");
    }

    @Test
    void aLeaderHandsNothingOverWhileAnotherStandsBetween() {
        var leader = standing("a");
        var client = client(LEASE.multipliedBy(10));
        standing("b", client);
        var third = standing("c");
        client.disconnect(); // it does not hear of it
        var order = ask("c");
        third.seat.ready(order);
        pass(500);
        assertThat(leader.told).doesNotContain("asked HANDED_OVER");
        pass(LEASE.toMillis());
        assertThat(tree.has(PATH + "/successor"))
                .as("a note that nobody can obey")
                .isFalse();
        client.reconnect(false);
        pass(1_000);
        assertThat(leader.told).containsExactly("granted");
    }

    @Test
    void anOrderByWhichNobodyGetsReadyIsTakenAwayByTheLeader() {
        var leader = standing("a");
        standing("b");
        ask("nobody");
        assertThat(tree.has(PATH + "/successor")).isTrue();
        pass(2_000);
        assertThat(tree.has(PATH + "/successor")).isFalse();
        assertThat(leader.told).containsExactly("granted");
    }

    /** Every later order was refused, because one was under way, for as long as that leader led. */
    @Test
    void aNoteWhoseWithdrawalWasLostIsTakenAwayLater() {
        var client = client(LEASE.multipliedBy(10));
        var leader = standing("a", client);
        standing("b");
        ask("b"); // which does not get ready
        client.disconnect();
        pass(1_500);
        assertThat(tree.has(PATH + "/successor")).isTrue();
        client.reconnect(false);
        pass(LEASE.toMillis());
        assertThat(tree.has(PATH + "/successor")).isFalse();
        assertThat(leader.told).containsExactly("granted");
    }

    @Test
    void aNoteForALeaderBeforeWhoseWithdrawalWasLostIsTakenAwayLater() {
        var leader = standing("a");
        var client = client(LEASE.multipliedBy(10));
        var second = standing("b", client);
        ask("c");
        leader.seat.leave();
        for (var i = 0; i < 10_000 && !second.told.contains("granted"); i++) {
            time.run(time.now() + MILLI / 10, () -> {});
        }
        assertThat(second.told).endsWith("granted");
        client.disconnect(); // the withdrawal is under way, and does not arrive any more
        client.reconnect(false);
        pass(LEASE.toMillis());
        assertThat(tree.has(PATH + "/successor")).isFalse();
        assertThat(second.told).endsWith("granted");
    }

    @Test
    void aNoteForALeaderBeforeConcernsNobody() {
        var leader = standing("a");
        var second = standing("b");
        var third = standing("c");
        var order = ask("c");
        leader.seat.leave(); // before anybody is ready
        pass(300);
        assertThat(second.told).endsWith("granted");
        third.seat.ready(order);
        pass(1_000);
        assertThat(second.told).endsWith("granted");
        assertThat(tree.has(PATH + "/successor")).isFalse();
    }

    @Test
    void aNoteThatHasOutlivedItsLeaderIsObeyedByNobody() {
        var client = client(LEASE.multipliedBy(10));
        standing("a", client);
        var second = standing("b");
        standing("c");
        var order = new HandOverNote(view().token() - 1, "o1", HandOverNote.Stage.ASKED, LEASE, "b");
        client.disconnect(); // it cannot take the note away
        lay(order, "");
        lay(order.readyBy("c"), tree.queue(PATH).get(2));
        assertThat(second.told).containsExactly("follows a");
    }

    @Test
    void anOrderIsObeyedOnceThoughItIsSeenAgain() {
        var leader = standing("a");
        var client = client(LEASE.multipliedBy(10));
        var second = standing("b", client);
        ask("b");
        var written = operator.requests().write(PATH + "/successor", text(PATH + "/successor"), -1);
        pass(200);
        assertThat(written).isCompleted();
        assertThat(second.told).containsExactly("follows a", "prepare for a");
        assertThat(leader.told).containsExactly("granted");
    }

    @Test
    void anOrderThatCouldNotBeReadIsReadOnTheNextConnection() {
        standing("a");
        var client = client(LEASE.multipliedBy(10));
        var second = standing("b", client);
        client.disconnect();
        ask("b");
        breakWhileItReads(client);
        pass(300);
        assertThat(second.told).contains("prepare for a");
    }

    @Test
    void anOrderForALeaderThatCouldNotBeReadIsObeyedLater() {
        standing("a");
        var leaderNode = PATH + '/' + tree.queue(PATH).get(0);
        var second = standing("b");
        var order = new HandOverNote(view().token(), "o1", HandOverNote.Stage.ASKED, LEASE, "b");
        tree.refuseReads(leaderNode::equals);
        lay(order, "");
        assertThat(second.told).doesNotContain("prepare for a");
        tree.refuseReads(path -> false);
        pass(250);
        assertThat(second.told).endsWith("prepare for a");
    }

    /** Observers took it for one that had just gone, and read all of it again, and again. */
    @Test
    void aNoteThatMayNotBeReadIsSeenToBeThere() {
        standing("a");
        lay(new HandOverNote(view().token(), "o1", HandOverNote.Stage.ASKED, LEASE, "b"), "");
        tree.tellWhatExists();
        tree.refuseReads(path -> path.endsWith("/successor"));
        var seen = view();
        assertThat(seen.note()).isEqualTo(View.UNREAD);
        assertThat(seen.leader().orElseThrow().candidate()).isEqualTo("a");
        assertThat(seen.handOver()).isEmpty();
    }

    @Test
    void oneThatHasLeftSinceItWasReadyIsNotWaitedFor() {
        var leader = standing("a");
        var client = client(LEASE.multipliedBy(10));
        standing("b", client);
        var third = standing("c");
        client.disconnect(); // it stays before the other
        third.seat.ready(ask("c"));
        pass(100);
        assertThat(tree.has(PATH + "/successor")).isTrue();
        third.seat.leave();
        pass(200);
        assertThat(tree.has(PATH + "/successor")).isFalse();
        assertThat(leader.told).containsExactly("granted");
    }

    /** A leader that asks who is next may be given another order meanwhile. */
    @Test
    void anAnswerFromBeforeTheNextOrderDoesNotTakeThatAway() {
        standing("a");
        var client = client(LEASE.multipliedBy(100));
        standing("b", client);
        standing("c");
        var token = view().token();
        client.disconnect(); // it stays before the other
        for (var i = 0; i < 20; i++) {
            var order = new HandOverNote(token, "o" + i, HandOverNote.Stage.ASKED, LEASE, "c");
            lay(order, "");
            lay(order.readyBy("c"), tree.queue(PATH).get(2));
        }
    }

    @Test
    void aLeaderThatStandsDownAlreadyHandsNothingOver() {
        var leader = standing("a");
        var second = standing("b");
        leader.seat.concede(Duration.ofSeconds(1));
        second.seat.ready(ask("b"));
        pass(300);
        assertThat(leader.told).containsExactly("granted");
    }

    @Test
    void aNoteIsLaidForThePresentLeaderAndOverTheExpectedOneOnly() {
        standing("a");
        standing("b");
        var token = view().token();
        assertThat(noted(token - 1, "", "n1")).as("for a leader before").isFalse();
        assertThat(noted(token, "", "n1")).isTrue();
        assertThat(noted(token, "", "n1")).as("asked twice").isTrue();
        assertThat(noted(token, "", "n2")).as("over another").isFalse();
        assertThat(view().note()).isEqualTo("n1");
        assertThat(noted(token, "n1", "n2")).isTrue();
        assertThat(view().note()).isEqualTo("n2");
    }

    /** Either the candidate has said that it is ready, or the order is withdrawn: there is no third case. */
    @Test
    void ofTwoThatReplaceANoteAtATimeOneIsRefused() {
        standing("a");
        standing("b");
        var token = view().token();
        assertThat(noted(token, "", "asked")).isTrue();
        var ready = operator.note(token, "asked", "ready", "");
        var withdrawn = operator.note(token, "asked", "", "");
        pass(200);
        assertThat(List.of(ready.join(), withdrawn.join())).containsExactlyInAnyOrder(true, false);
        assertThat(view().note()).isEqualTo(ready.join() ? "ready" : "");
    }

    @Test
    void aNoteIsNotTakenAwayInPlaceOfANewerOne() {
        standing("a");
        standing("b");
        var token = view().token();
        assertThat(noted(token, "", "n1")).isTrue();
        var old = operator.requests().data(PATH + "/successor", null);
        pass(100);
        assertThat(noted(token, "n1", "n2")).isTrue();
        var withdrawn = operator.withdrawNote(old.join());
        pass(100);
        assertThat(withdrawn).isCompletedExceptionally();
        assertThat(view().note()).isEqualTo("n2");
    }

    @Test
    void anElectionIsDeletedWithItsNote() {
        var leader = standing("a");
        var second = standing("b");
        ask("nobody");
        order(Order.DELETE);
        assertThat(second.told).endsWith("ended");
        leader.seat.release();
        pass(300);
        assertThat(tree.has(PATH)).isFalse();
    }

    @Test
    void whatACandidateProclaimsIsInItsNodeAndInTheNextOneToo() {
        var leader = standing("a");
        var token = view().token();
        leader.seat.proclaim(Map.of("version", "2"));
        pass(300);
        assertThat(view().leader().orElseThrow().metadata()).containsEntry("version", "2");
        assertThat(view().token()).isEqualTo(token);
        assertThat(leader.told).containsExactly("granted");
        leader.seat.release();
        leader.seat.claim();
        pass(300);
        assertThat(view().leader().orElseThrow().metadata()).containsEntry("version", "2");
        assertThat(view().token()).isGreaterThan(token);
    }

    /** Orders that the leader hands over to this one. */
    private HandOverNote ask(String to) {
        var order = new HandOverNote(view().token(), "o1", HandOverNote.Stage.ASKED, Duration.ofMillis(500), to);
        var noted = operator.note(order.token(), "", order.text(), "");
        pass(200);
        assertThat(noted).isCompletedWithValue(true);
        return order;
    }

    /** Lays this note by hand, for this leader or another. */
    private void lay(HandOverNote note, String readyNode) {
        var path = PATH + "/successor";
        var text = note.text() + (readyNode.isEmpty() ? "" : '\n' + readyNode);
        CompletableFuture<?> laid = tree.has(path)
                ? operator.requests().write(path, text, -1)
                : operator.requests().create(CreateMode.PERSISTENT, path, text);
        pass(200);
        assertThat(laid).isCompleted();
        assertThat(text(path)).isEqualTo(text);
    }

    private String text(String path) {
        var read = operator.requests().data(path, null);
        pass(100);
        return read.join().text();
    }

    private boolean noted(long token, String expected, String note) {
        var noted = operator.note(token, expected, note, "");
        pass(100);
        assertThat(noted).isCompleted();
        return noted.join();
    }

    private View view() {
        var view = operator.view("e");
        pass(100);
        assertThat(view).isCompleted();
        return view.join();
    }

    private Candidate standing(String name) {
        return standing(name, client(LEASE));
    }

    private Candidate standing(String name, TreeModel.Client client) {
        var candidate = new Candidate(name, client);
        candidate.seat.claim();
        pass(200);
        assertThat(candidate.told).hasSize(1);
        return candidate;
    }

    /** A seat, and what it reports. */
    private final class Candidate implements Claimant {
        private final List<String> told = new ArrayList<>();
        private final List<Proof> proofs = new ArrayList<>();
        private final ModelTime.ProcessLoop loop = time.new ProcessLoop(random);
        private final QueueSeat seat;
        private boolean isLetGo;

        Candidate(String name, TreeModel.Client client) {
            var config = CandidacyConfig.builder()
                    .lease(LEASE)
                    .retryInterval(Duration.ofMillis(200))
                    .build();
            seat = new QueueSeat(
                    new Standing("e", name, name, config),
                    this,
                    loop,
                    new ElectionNodes(client, PATH),
                    client.prover(),
                    true,
                    gone -> isLetGo = true);
        }

        Proof proof() {
            return proofs.get(proofs.size() - 1);
        }

        @Override
        public void granted(long token, Proof proof) {
            told.add("granted");
            proofs.add(proof);
        }

        @Override
        public void proven(long token, Proof proof) {
            proofs.add(proof);
        }

        @Override
        public void asked(long token, Cause cause, Duration within) {
            told.add("asked " + cause);
        }

        @Override
        public void prepare(HandOverNote order, String leader) {
            told.add("prepare for " + leader);
        }

        @Override
        public void lost(long token, Cause cause) {
            told.add("lost " + cause);
        }

        @Override
        public void following(Optional<String> leader) {
            told.add("follows " + leader.orElse("nobody"));
        }

        @Override
        public void ended() {
            told.add("ended");
        }

        @Override
        public void failed(ElectionException error) {
            told.add("failed " + error.getMessage());
        }

        @Override
        public void left() {
            told.add("left");
        }

        @Override
        public void leftUnconfirmed() {
            told.add("left unconfirmed");
        }

        @Override
        public void attempted(Metrics.Attempt attempt, Duration latency) {
            // figures do not matter here
        }
    }
}
