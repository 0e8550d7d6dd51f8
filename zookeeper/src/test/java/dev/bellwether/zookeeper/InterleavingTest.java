package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One seat on a real server, with its turns taken in the order that hurts most. */
class InterleavingTest {
    private static final Duration LEASE = Duration.ofSeconds(40);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String election = "interleaving-" + UUID.randomUUID();
    private final Hands hands = new Hands(SharedServer.get());
    private final FaultProxy link = FaultProxy.to(
            "127.0.0.1", Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", "")));
    /** The way of the second session and those after it. */
    private final FaultProxy later = FaultProxy.to(
            "127.0.0.1", Integer.parseInt(SharedServer.get().addresses().replaceAll(".*:", "")));

    private final CuratorFramework client = client();
    private final SteppedLoop loop = new SteppedLoop();
    private final SeatSession session = session();
    private final ZooKeeperArbiter arbiter = new ZooKeeperArbiter(Sessions.lent(session), LentSessionTest.config());
    private final Said said = new Said();
    private final QueueSeat seat = (QueueSeat) arbiter.seat(
            new Standing(
                    election,
                    "c",
                    "c-1",
                    CandidacyConfig.builder()
                            .lease(LEASE)
                            .retryInterval(Duration.ofMillis(200))
                            .build()),
            said,
            loop);

    private CuratorFramework client() {
        var sessions = new AtomicInteger();
        var client = CuratorFrameworkFactory.builder()
                .connectString("127.0.0.1:" + link.port())
                .sessionTimeoutMs((int) LEASE.toMillis())
                .connectionTimeoutMs((int) LEASE.toMillis())
                .retryPolicy(new RetryNTimes(20, 100))
                .zookeeperFactory((address, timeout, watcher, readOnly) -> new ZooKeeper(
                        sessions.getAndIncrement() == 0 ? address : "127.0.0.1:" + later.port(), timeout, watcher))
                .build();
        client.start();
        return client;
    }

    private SeatSession session() {
        return SeatSession.borrowed(client, LentSessionTest.config().tickTime(), "the test's server");
    }

    @AfterEach
    void close() {
        session.close();
        client.close();
        link.close();
        later.close();
        hands.close();
    }

    // ---------------------------------------------------------------- two listings under way

    @Test
    void twoListingsUnderWayGrantOnce() throws Exception {
        listTwiceInFrontOfTheQueue();
        loop.takeOne();
        assertThat(said.turns()).endsWith("granted");
        loop.takeOne();
        assertThat(said.turns()).containsOnlyOnce("granted");
    }

    /** Led twice: the old node was deleted already when its second grant came. */
    @Test
    void aListingUnderWayGrantsNothingOfWhatWasGivenBackSince() throws Exception {
        listTwiceInFrontOfTheQueue();
        loop.takeOne();
        seat.concede(Duration.ofSeconds(5));
        seat.release();
        loop.takeOne();
        loop.until("the node is gone", () -> queue().isEmpty());
        assertThat(said.turns()).containsOnlyOnce("granted").doesNotContain("lost REPLACED");
    }

    @Test
    void aListingUnderWayGrantsNothingToOneWhoIsConceding() throws Exception {
        listTwiceInFrontOfTheQueue();
        loop.takeOne();
        seat.concede(Duration.ofSeconds(5));
        loop.takeOne();
        assertThat(said.turns()).containsOnlyOnce("granted");
        seat.leave();
        loop.until("it has left", () -> said.turns().contains("left"));
        assertThat(queue()).isEmpty();
        assertThat(said.turns()).containsOnlyOnce("granted");
    }

    @Test
    void aListingUnderWaySaysNothingOfTheNodeOfANewTry() throws Exception {
        listTwiceInFrontOfTheQueue();
        loop.takeOne();
        var node = queue().get(0);
        seat.concede(Duration.ZERO);
        seat.release();
        seat.claim(); // stands again as soon as the old node is gone
        loop.until("it is granted again", () -> said.count("granted") == 2);
        assertThat(queue()).hasSize(1).doesNotContain(node);
        assertThat(said.tokens()).isSorted().doesNotHaveDuplicates();
    }

    /**
     * The answers of two listings wait to be heard, each of which shows our node as the first, with the session proven.
     */
    private void listTwiceInFrontOfTheQueue() throws Exception {
        var before = hands.join(election, "the first");
        seat.claim();
        loop.until("it follows", () -> said.turns().contains("following the first"));
        loop.until("the session is proven", () -> session.prover().last(LEASE).isPresent() && settled());
        hands.delete(election, before);
        loop.awaitWaiting(1);
        loop.takeOne(); // the news: asks for a listing
        seat.connected(); // asks for another
        loop.awaitWaiting(2);
    }

    // ---------------------------------------------------------------- creations whose answers are lost

    @Test
    void aNodeWhoseCreationWasCarriedOutAndNotAnsweredIsOurs() throws Exception {
        createUnanswered();
        var made = queue();
        loop.until("it leads", () -> said.turns().contains("granted"));
        assertThat(queue()).isEqualTo(made);
    }

    @Test
    void aNodeWhoseCreationWasNotAnsweredIsTakenBackIfItIsNotWantedAnyMore() throws Exception {
        createUnanswered();
        seat.leave();
        loop.until("it has left", () -> said.turns().contains("left"));
        assertThat(queue()).isEmpty();
    }

    @Test
    void aCreationThatDidNotArriveIsMadeUpFor() throws Exception {
        beginToCreate(Link.Way.REQUESTS);
        link.reset();
        link.heal();
        loop.until("it leads", () -> said.turns().contains("granted"));
        assertThat(queue()).hasSize(1);
    }

    /** The creation waits in the next session's client, which has no session yet. */
    @Test
    void aNodeThatIsMadeInALaterSessionThanWasSeenIsNotLeftBehind() throws Exception {
        hands.make(election, "somebody"); // so that the election is there
        seat.claim();
        loop.awaitWaiting(2); // there is no DONE; and the first request of a proof is answered
        later.cut();
        Hands.expire(client);
        link.reset();
        Eventually.eventually(
                "the session has expired", PATIENCE, () -> session.state().generation() > 0);
        loop.takeOne();
        loop.takeOne();
        later.heal();
        loop.until("it leads", () -> said.turns().contains("granted"));
        assertThat(queue()).hasSize(1);
    }

    /** The session is known when the connection breaks, and was not when the creation was sent. */
    @Test
    void aNodeOfALaterSessionThanWasSeenWhoseCreationWasNotAnsweredIsOurs() throws Exception {
        hands.make(election, "somebody"); // so that the election is there
        seat.claim();
        loop.awaitWaiting(2); // there is no DONE; and the first request of a proof is answered
        later.delay(Duration.ofSeconds(1)); // so long there is no session yet, and then no answer
        Hands.expire(client);
        link.reset();
        Eventually.eventually(
                "the session has expired", PATIENCE, () -> session.state().generation() > 0);
        loop.takeOne();
        loop.takeOne();
        Eventually.eventually(
                "the next is there", PATIENCE, () -> session.client().isConnected());
        later.cut(Link.Way.ANSWERS);
        Eventually.eventually("the server has made it", PATIENCE, () -> queue().size() == 1);
        later.reset();
        later.heal();
        loop.until("it leads", () -> said.turns().contains("granted"));
        assertThat(queue()).hasSize(1);
    }

    /** The loop ends, and the session does not: what the seat has asked is answered, and nobody hears it. */
    @Test
    void aNodeThatIsFoundWhenTheSeatIsAbandonedIsTakenAway() throws Exception {
        beginToCreate(Link.Way.ANSWERS);
        Eventually.eventually("the server has made it", PATIENCE, () -> queue().size() == 1);
        var breaks = session.state().breaks();
        link.reset();
        loop.until("the connection is gone", () -> session.state().breaks() > breaks);
        loop.until("the seat looks for its node", loop::isIdle);
        seat.abandon();
        link.heal();
        Eventually.eventually("the node is gone", PATIENCE, () -> queue().isEmpty());
    }

    /** The server has made the node; the connection breaks before we know. */
    private void createUnanswered() throws Exception {
        beginToCreate(Link.Way.ANSWERS);
        Eventually.eventually("the server has made it", PATIENCE, () -> queue().size() == 1);
        link.reset();
        link.heal();
    }

    private void beginToCreate(Link.Way cut) throws Exception {
        hands.make(election, "somebody"); // so that the election is there
        seat.claim();
        loop.awaitWaiting(2); // there is no DONE; and the first request of a proof is answered
        link.cut(cut);
        loop.takeOne();
        loop.takeOne();
    }

    // ---------------------------------------------------------------- what is asked just when the connection breaks

    @Test
    void anEndWhoseReadingWasLostWithTheConnectionIsHeardOnTheNext() {
        lead();
        arbiter.order(election, Order.END).toCompletableFuture().join();
        breakWhileItReads();
        loop.until("it hears of the end", () -> said.turns().contains("asked ENDED"));
    }

    @Test
    void anOrderWhoseReadingWasLostWithTheConnectionIsHeardOnTheNext() {
        lead();
        arbiter.order(election, Order.STAND_DOWN).toCompletableFuture().join();
        breakWhileItReads();
        loop.until("it hears of the order", () -> said.turns().contains("asked REVOKED_BY_OPERATOR"));
    }

    // ---------------------------------------------------------------- what proves nothing

    /** Its requests may have gone to different servers. */
    @Test
    void aRoundOverTwoConnectionsProvesNothing() {
        lead();
        session.prover().now(); // the first request of a round
        loop.awaitWaiting(1); // is answered
        var breaks = session.state().breaks();
        link.reset();
        Eventually.eventually(
                "there is another connection",
                PATIENCE,
                () -> session.state().breaks() > breaks && session.client().isConnected());
        var between = System.nanoTime();
        var before = said.proofs().size();
        loop.until("there is a proof", () -> said.proofs().size() > before);
        assertThat(said.proofs().subList(before, before + 1))
                .allSatisfy(proof -> assertThat(proof.since().nanos() - between).isPositive());
    }

    @Test
    void noProofOfAnEarlierSessionCountsForTheNext() throws Exception {
        lead();
        loop.until(
                "the session is proven",
                () -> session.prover().last(Duration.ofSeconds(5)).isPresent() && settled());
        var between = System.nanoTime();
        Hands.expire(client);
        link.reset(); // as the server does when it expires a session
        loop.until("it is told", () -> said.turns().contains("lost EXPIRED"));
        seat.release();
        seat.claim();
        loop.until("it leads again", () -> said.count("granted") == 2);
        assertThat(said.proofs().get(said.proofs().size() - 1).since().nanos() - between)
                .isPositive();
    }

    /** The second line behind the watch. */
    @Test
    void aNodeWhoseDeletionWentUnheardIsMissedByTheNextProof() throws Exception {
        lead();
        hands.delete(election, queue().get(0));
        breakWhileItReads();
        loop.until("it hears of it", () -> said.turns().contains("lost REPLACED"));
    }

    // ---------------------------------------------------------------- what happens to the election meanwhile

    @Test
    void anEndThatComesBetweenTheLookAndTheCreationIsSeen() throws Exception {
        hands.make(election, "somebody"); // so that the election is there
        seat.claim();
        loop.awaitWaiting(2); // there is no DONE, so far; and the first request of a proof is answered
        hands.make(election, "DONE");
        loop.until("it hears of the end", () -> said.turns().contains("ended"));
        seat.leave();
        loop.until("it has left", () -> said.turns().contains("left"));
        assertThat(said.turns()).doesNotContain("granted");
        assertThat(queue()).isEmpty();
    }

    /** Never came to rest: it was told of the end, and not that it had left. */
    @Test
    void oneThatIsToLeaveBeforeItSeesTheEndLeavesAnyway() throws Exception {
        hands.make(election, "DONE");
        seat.claim();
        seat.leave();
        loop.until("it has left", () -> said.turns().contains("left"));
        assertThat(said.turns()).containsOnlyOnce("left");
    }

    /** Failed, when the order before it was taken away by one who had obeyed just between two requests. */
    @Test
    void anOrderIsGivenThoughTheOneBeforeItIsTakenAwayJustThen() throws Exception {
        hands.join(election, "somebody");
        var over = new AtomicBoolean();
        var obedient = CompletableFuture.runAsync(
                () -> {
                    while (!over.get()) {
                        new ElectionNodes(session, "/bellwether/" + election).obeyed(queue().get(0));
                    }
                },
                task -> new Thread(task, "obedient").start());
        for (var i = 0; i < 500; i++) {
            assertThat(arbiter.order(election, Order.STAND_DOWN)
                            .toCompletableFuture()
                            .get(30, TimeUnit.SECONDS))
                    .isTrue();
        }
        over.set(true);
        obedient.get(30, TimeUnit.SECONDS);
    }

    @Test
    void anElectionThatWasDeletedAndMadeAgainIsAnotherOne() throws Exception {
        lead();
        hands.deleteAll(election);
        hands.make(election, "somebody");
        loop.until("it hears of it", () -> said.turns().contains("lost REPLACED"));
        seat.release();
        seat.claim();
        loop.until("its own is over", () -> said.turns().contains("ended"));
        assertThat(said.turns()).containsOnlyOnce("granted");
    }

    /** Led on beside the other, for as long as both lived: nodes are numbered from 0 again. */
    @Test
    void aNodeOfTheSameNameInAnElectionMadeAgainIsNotOurs() throws Exception {
        lead();
        var ours = queue().get(0);
        hands.deleteAll(election);
        assertThat(hands.join(election, "another")).isEqualTo(ours);
        loop.until("it hears of it", () -> said.turns().contains("lost REPLACED"));
    }

    private void lead() {
        seat.claim();
        loop.until("it leads", () -> said.turns().contains("granted"));
        loop.until("all that it asked is answered", this::settled);
    }

    /** Whether nothing is under way: a request that goes behind all others has been answered, and no turn waits. */
    private boolean settled() {
        try {
            session.requests().sync("/").get(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return loop.isIdle();
    }

    /** The news of a change waits: what it makes the seat ask goes into a connection that breaks. */
    private void breakWhileItReads() {
        loop.awaitWaiting(1);
        link.cut();
        loop.takeOne();
        link.reset();
        link.heal();
    }

    // ---------------------------------------------------------------- small things

    private List<String> queue() {
        try {
            return hands.queue(election);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Hears what a candidacy would. */
    private static final class Said implements Claimant {
        private final List<String> turns = new ArrayList<>();
        private final List<Long> tokens = new ArrayList<>();
        private final List<Proof> proofs = new ArrayList<>();

        List<String> turns() {
            return turns;
        }

        /** With grants, and those that came later. */
        List<Proof> proofs() {
            return proofs;
        }

        List<Long> tokens() {
            return tokens;
        }

        long count(String turn) {
            return turns.stream().filter(turn::equals).count();
        }

        @Override
        public void granted(long token, Proof proof) {
            turns.add("granted");
            proofs.add(proof);
            tokens.add(token);
        }

        @Override
        public void proven(long token, Proof proof) {
            proofs.add(proof);
        }

        @Override
        public void asked(long token, Cause cause, Duration within) {
            turns.add("asked " + cause);
        }

        @Override
        public void lost(long token, Cause cause) {
            turns.add("lost " + cause);
        }

        @Override
        public void following(Optional<String> leader) {
            turns.add("following " + leader.orElse("nobody"));
        }

        @Override
        public void ended() {
            turns.add("ended");
        }

        @Override
        public void failed(ElectionException error) {
            turns.add("failed " + error.getMessage());
        }

        @Override
        public void left() {
            turns.add("left");
        }

        @Override
        public void attempted(Metrics.Attempt attempt, Duration latency) {
            // figures do not matter here
        }
    }
}
