package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.zookeeper.TreeModel.Planted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.Test;

/** When a session is proven, and to whom that is told: on a {@link TreeModel}, in simulated time. */
class SessionProverTest {
    private static final long MILLI = 1_000_000;
    private static final Duration LEASE = Duration.ofSeconds(2);
    /** Long enough for a proof over one hop, not for one over two. */
    private static final Duration SHORT = Duration.ofMillis(500);

    private static final String PARTICIPANT = "server.1=a:2888:3888:participant;2181\n";
    private static final String OBSERVER = "server.2=b:2888:3888:observer;2181\n";
    private static final Duration TICK = Duration.ofMillis(100);

    private final SplittableRandom random = new SplittableRandom(1);
    private final ModelTime time = new ModelTime(1_000 * MILLI);
    private final TreeModel tree = new TreeModel(time, random, TICK.toNanos(), Planted.NOTHING);
    private final ModelTime.ProcessLoop loop = time.new ProcessLoop(random);
    private final TreeModel.Client client = tree.new Client("client", LEASE);
    private final SessionProver prover = client.prover();

    SessionProverTest() {
        client.calm();
    }

    private void pass(Duration length) {
        time.run(time.now() + length.toNanos(), () -> {});
    }

    private String made(String path) {
        var made = client.create(CreateMode.EPHEMERAL, path, "");
        pass(Duration.ofMillis(50));
        return made.join();
    }

    @Test
    void beforeTheFirstRoundTheSessionIsProvenSinceBeforeItsCreation() {
        pass(Duration.ofMillis(300));
        var seat = new Told(made("/a"));
        prover.enter(seat);
        assertThat(prover.last(LEASE).orElseThrow().since().nanos()).isEqualTo(1_000 * MILLI);
        assertThat(prover.last(Duration.ofMillis(300))).as("none so young").isEmpty();
    }

    @Test
    void aProofCountsFromBeforeItsFirstRequestAndNamesTheNodeThatWasChecked() {
        var seat = new Told(made("/a"));
        var begun = time.now();
        prover.enter(seat);
        pass(Duration.ofMillis(250));
        assertThat(seat.proofs).singleElement().satisfies(proof -> {
            assertThat(proof.since().nanos()).isEqualTo(begun);
            assertThat(proof.guarantee()).isEqualTo(LEASE);
        });
        assertThat(seat.checked).containsExactly(true);
    }

    @Test
    void anotherNodeThanTheOneThatWasCheckedIsNotProven() {
        var seat = new Told(made("/a"));
        var other = made("/b");
        prover.enter(seat);
        while (seat.asked < 1) {
            time.run(time.now() + MILLI, () -> {});
        }
        seat.node = Optional.of(other); // while the check is under way
        pass(Duration.ofMillis(50));
        assertThat(seat.checked).containsExactly(false);
    }

    @Test
    void aRoundOverTwoConnectionsProvesNothingAndIsTriedAgainSoon() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        pass(Duration.ofMillis(80)); // it waits for a ping
        client.disconnect();
        client.reconnect(false);
        var between = time.now();
        pass(Duration.ofMillis(700));
        assertThat(seat.unproven).as("told once").isEqualTo(1);
        assertThat(seat.proofs)
                .isNotEmpty()
                .allSatisfy(proof -> assertThat(proof.since().nanos()).isGreaterThanOrEqualTo(between));
    }

    @Test
    void aRoundThatBeganBeforeTheLengthOfTheSessionWasKnownProvesNothingAndIsTriedAgainSoon() {
        var seat = new Told(made("/a"));
        client.knowsTimeout(false);
        prover.enter(seat);
        client.knowsTimeout(true);
        pass(Duration.ofMillis(700));
        assertThat(seat.proofs)
                .isNotEmpty()
                .allSatisfy(proof -> assertThat(proof.guarantee()).isEqualTo(LEASE));
    }

    @Test
    void noProofOfAnEarlierSessionIsOfUseInTheNext() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        pass(Duration.ofMillis(250));
        assertThat(prover.last(LEASE)).isPresent();
        client.disconnect();
        client.reconnect(true);
        pass(Duration.ofMillis(1));
        assertThat(seat.expired).isEqualTo(1);
        assertThat(prover.last(LEASE)).isEmpty();
        seat.node = Optional.empty();
        pass(Duration.ofMillis(700));
        assertThat(prover.last(LEASE)).isPresent();
    }

    @Test
    void aNodeThatIsGoneIsMissedAndTheOthersAreProven() {
        var gone = new Told(made("/a"));
        var there = new Told(made("/b"));
        prover.enter(gone);
        prover.enter(there);
        tree.deleteByHand("/a");
        pass(Duration.ofMillis(300));
        assertThat(gone.vanished).isEqualTo(1);
        assertThat(there.vanished).isZero();
        assertThat(there.checked).contains(true).doesNotContain(false);
        assertThat(gone.checked).doesNotContain(true);
    }

    /** It ended the mandates of all who led in the session. */
    @Test
    void aNodeThatMayNotBeReadIsToldToItsSeatAndTheOthersAreProven() {
        var refused = new Told(made("/a"));
        var sound = new Told(made("/b"));
        tree.refuseReads("/a"::equals);
        prover.enter(refused);
        prover.enter(sound);
        pass(Duration.ofMillis(300));
        assertThat(sound.checked).contains(true).doesNotContain(false);
        assertThat(sound.refusals).isEmpty();
        assertThat(refused.checked).as("of the session, without its node").containsOnly(false);
        assertThat(refused.refusals).isNotEmpty().allMatch(refusal -> refusal.contains("NoAuth for /a"));
        tree.refuseReads(path -> false);
        pass(LEASE);
        assertThat(refused.checked).endsWith(true);
    }

    /** Candidacies that led ended, in all processes. */
    @Test
    void aSeatWhoseLeaseWasLongEnoughIsNotRefusedWhenAProofTakesLonger() {
        tree.reconfigure(PARTICIPANT);
        var observed = new Told(made("/a"), SHORT);
        prover.enter(observed);
        pass(Duration.ofSeconds(1));
        tree.reconfigure(PARTICIPANT + OBSERVER);
        pass(Duration.ofSeconds(1));
        assertThat(prover.hops()).isEqualTo(Ensemble.MOST_HOPS);
        assertThat(observed.refusals).isEmpty();

        tree.reconfigure(PARTICIPANT);
        pass(Duration.ofSeconds(1));
        assertThat(prover.hops()).isEqualTo(1);
        tree.refuseReads(ZooDefs.CONFIG_NODE::equals);
        pass(Duration.ofSeconds(1));
        assertThat(prover.hops()).isEqualTo(Ensemble.MOST_HOPS);
        assertThat(observed.refusals).isEmpty();
        assertThat(observed.checked).as("it is proven on").containsOnly(true);

        var late = new Told(made("/b"), SHORT);
        prover.enter(late);
        pass(Duration.ofSeconds(1));
        assertThat(late.refusals).isNotEmpty().allMatch(refusal -> refusal.contains("a proof of leadership takes"));
    }

    @Test
    void aSeatThatThrowsIsToldSoAndHarmsNoOther() {
        var broken = new Told(made("/a"));
        var sound = new Told(made("/b"));
        broken.throwing = true;
        prover.enter(broken);
        prover.enter(sound);
        pass(Duration.ofMillis(300));
        assertThat(broken.refusals).isNotEmpty().allMatch(refusal -> refusal.contains("by the test"));
        assertThat(sound.proofs).isNotEmpty();
        assertThat(sound.refusals).isEmpty();
    }

    @Test
    void whenNobodyIsLeftNothingIsAskedAndOneWhoComesIsProvenAtOnce() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        pass(Duration.ofSeconds(1));
        prover.exit(seat);
        pass(Duration.ofSeconds(5));
        assertThat(prover.last(Duration.ofSeconds(4))).isEmpty();
        client.disconnect();
        client.reconnect(false); // the server has ended it meanwhile
        pass(Duration.ofMillis(10));
        var next = new Told(made("/b"));
        prover.enter(next);
        pass(Duration.ofMillis(250));
        assertThat(next.checked).containsExactly(true);
    }

    @Test
    void aRoundThatIsUnderWayIsEnoughForAllWhoNeedAProof() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        for (var i = 0; i < 100; i++) {
            prover.need();
        }
        pass(Duration.ofMillis(250));
        assertThat(seat.asked)
                .as("rounds that have asked for its node, and what it was told")
                .isLessThan(4);
        assertThat(seat.checked).containsExactly(true);
    }

    @Test
    void whoNeedsAProofDoesNotWaitForARoundThatHearsNothing() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        client.disconnect();
        pass(Duration.ofMillis(1));
        client.reconnect(false);
        var since = time.now();
        prover.need();
        pass(Duration.ofMillis(250));
        assertThat(seat.proofs)
                .isNotEmpty()
                .allSatisfy(proof -> assertThat(proof.since().nanos()).isGreaterThanOrEqualTo(since));
    }

    /** Over a client that hears nothing, of somebody else, each was kept, and there was another one each time. */
    @Test
    void roundsThatAreNeverAnsweredAreNotKept() {
        var seat = new Told(made("/a"));
        prover.enter(seat);
        client.deafen();
        pass(LEASE.multipliedBy(20));
        assertThat(seat.unproven).as("rounds of which it was told").isGreaterThan(20);
        assertThat(prover.awaited()).isLessThan(5);
    }

    /** It was granted the seat on a proof of the others, and fenced long before the next. */
    @Test
    void aSeatOfAShorterLeaseThanTheOthersIsProvenAsOftenAsItsOwnAsks() {
        var lent = tree.new Client("lent", SHORT.multipliedBy(20));
        lent.calm();
        var shared = lent.prover();
        shared.enter(new Told("/", SHORT.multipliedBy(20)));
        pass(Duration.ofMillis(20)); // a round is under way
        var soon = new Told("/", SHORT);
        var soonSince = time.now();
        shared.enter(soon);
        pass(Duration.ofSeconds(2));
        shared.exit(soon);
        pass(Duration.ofSeconds(3)); // the other is proven less often again
        var late = new Told("/", SHORT);
        var lateSince = time.now();
        shared.enter(late);
        pass(Duration.ofSeconds(2));

        var renewal =
                new ProofTiming(TICK).renewal(CandidacyConfig.ofLease(SHORT), 1).plusMillis(50); // and the way
        assertThat(longestGap(soon.proofs, soonSince, soonSince + 2_000 * MILLI))
                .isLessThan(renewal);
        assertThat(longestGap(late.proofs, lateSince, time.now())).isLessThan(renewal);
    }

    /** No round ever began again, and all who led in the session were fenced. */
    @Test
    void oneThatCannotCleanUpKeepsNoOtherFromBeingProven() {
        var sound = new Told(made("/a"));
        var its = new Breakable();
        var broken = new Told(made("/b"), LEASE, its);
        prover.enter(sound);
        prover.enter(broken);
        var since = time.now();
        its.broken = true;
        pass(LEASE.multipliedBy(2));
        its.broken = false;
        pass(LEASE);
        var renewal = new ProofTiming(TICK).renewal(sound.config(), 1).plusMillis(50); // and the way
        assertThat(longestGap(sound.proofs, since, time.now())).isLessThan(renewal);
        assertThat(sound.unproven).isZero();
        assertThat(broken.proofs).as("it is told as soon as it can be").isNotEmpty();
    }

    /** A standby without a node, that nobody told of it, stayed so without end. */
    @Test
    void oneThatCannotCleanUpKeepsNoOtherFromHearingOfTheEndOfTheSession() {
        var sound = new Told(made("/a"));
        var its = new Breakable();
        prover.enter(sound);
        prover.enter(new Told(made("/b"), LEASE, its));
        pass(Duration.ofMillis(250));
        its.broken = true;
        client.disconnect();
        client.reconnect(true);
        pass(Duration.ofMillis(1));
        its.broken = false;
        pass(Duration.ofMillis(1));
        assertThat(sound.expired).isEqualTo(1);
        assertThat(sound.connected).isEqualTo(1);
    }

    /** Returns the longest time in which no round began that came to a proof. */
    private static Duration longestGap(List<Proof> proofs, long sinceNanos, long untilNanos) {
        var last = sinceNanos;
        var longest = 0L;
        for (var proof : proofs) {
            longest = Math.max(longest, proof.since().nanos() - last);
            last = proof.since().nanos();
        }
        return Duration.ofNanos(Math.max(longest, untilNanos - last));
    }

    /** The loop of a candidacy; while that cannot clean up after a turn that threw, no turn of it is run. */
    private final class Breakable implements Loop {
        private boolean broken;

        private void take(Runnable turn) {
            if (!broken) {
                turn.run();
            }
        }

        @Override
        public void execute(Runnable turn) {
            loop.execute(() -> take(turn));
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            return loop.at(nanos, () -> take(turn));
        }

        @Override
        public Clock clock() {
            return loop.clock();
        }

        @Override
        public RandomGenerator random() {
            return loop.random();
        }

        @Override
        public Loop shared() {
            return loop;
        }

        @Override
        public void runNow(Runnable turn) {
            take(turn);
        }

        @Override
        public void close() {}
    }

    /** A seat that writes down what it is told. */
    private final class Told implements SessionSeat {
        private final List<Proof> proofs = new ArrayList<>();
        private final List<Boolean> checked = new ArrayList<>();
        private final List<String> refusals = new ArrayList<>();
        private Optional<String> node;
        private boolean throwing;
        private int asked;
        private int unproven;
        private int vanished;
        private int expired;
        private int connected;

        private final Duration lease;
        private final Loop its;

        Told(String node) {
            this(node, LEASE);
        }

        Told(String node, Duration lease) {
            this(node, lease, loop);
        }

        Told(String node, Duration lease, Loop its) {
            this.node = Optional.of(node);
            this.lease = lease;
            this.its = its;
        }

        @Override
        public Loop loop() {
            return its;
        }

        @Override
        public CandidacyConfig config() {
            return CandidacyConfig.ofLease(lease);
        }

        @Override
        public Optional<String> toCheck() {
            asked++;
            return node;
        }

        @Override
        public void vanished() {
            vanished++;
            node = Optional.empty();
        }

        @Override
        public void proven(Proof proof, Duration latency, boolean wasChecked) {
            if (throwing) {
                throw new IllegalStateException("by the test");
            }
            proofs.add(proof);
            checked.add(wasChecked);
        }

        @Override
        public void unproven(Duration waited) {
            unproven++;
        }

        @Override
        public void connected() {
            connected++;
        }

        @Override
        public void expired() {
            expired++;
        }

        @Override
        public void refused(ElectionException refusal) {
            refusals.add(String.valueOf(refusal.getMessage()));
        }
    }
}
