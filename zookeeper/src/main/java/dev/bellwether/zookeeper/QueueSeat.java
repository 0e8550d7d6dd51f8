package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One candidacy's seat: decides when it is ours, when it is not, and when we go.
 *
 * <p>Confined to the loop, and a function of its state, of what it is told and of the loop's clock. A {@link QueueNode}
 * has our node in the queue, a {@link QueuePosition} finds where it stands.
 */
final class QueueSeat implements Seat, SessionSeat, QueueNode.Owner, QueuePosition.Owner, HandOverWatch.Owner {
    /*
     *   AWAY --our node is made--> WAITING --first in the queue--> FIRST --session proven--> HOLDING --conceded-->
     *   ENDING
     *    ^                            |                              |                          |                     |
     *    +----------------------------+-- release, end, time up -----+--------------------------+---------------------+
     *
     * From everywhere: when the session has expired, or our node was deleted, we are AWAY. Anybody who held the seat
     * hears that it is lost; anybody who waited joins again.
     */
    private enum Phase {
        /** We have no node, or one that we want to be rid of. */
        AWAY,
        /** Others are before us, as far as we know. */
        WAITING,
        /** Nobody is before us; the session is not proven. */
        FIRST,
        /** The seat is ours, and proven. */
        HOLDING,
        /** It is ours, and proven no more. */
        ENDING
    }

    private static final Logger log = LoggerFactory.getLogger(QueueSeat.class);

    private final Standing standing;
    private final Claimant claimant;
    private final Loop loop;
    private final SessionProver prover;
    private final ElectionNodes nodes;
    private final Consumer<QueueSeat> onLeft;
    private final QueuePosition position;
    private final QueueNode node;
    private final NodeWatch order;
    private final HandOverWatch handOver;
    private final AccessPatience patience;

    private Phase phase = Phase.AWAY;
    private boolean entered;
    private boolean over;
    private boolean left;
    private boolean endTold;
    private boolean ordered;
    private boolean gaveUp;
    private boolean writeRefused;
    private @Nullable Proof proof;
    private Loop.@Nullable Timer timer;

    /**
     * Makes the seat; nothing is asked before {@link #claim}.
     *
     * @param createElections whether the node of the election is made if it is missing
     * @param onLeft what to do when nothing of this seat is left in the session
     */
    QueueSeat(
            Standing standing,
            Claimant claimant,
            Loop loop,
            ElectionNodes nodes,
            SessionProver prover,
            boolean createElections,
            Consumer<QueueSeat> onLeft) {
        this.standing = standing;
        this.claimant = claimant;
        this.loop = loop;
        this.prover = prover;
        this.nodes = nodes;
        this.onLeft = onLeft;
        var config = standing.config();
        var data = new NodeData(standing.candidate(), config.priority(), config.metadata());
        position = new QueuePosition(this, nodes, loop);
        node = new QueueNode(this, nodes, loop, data, config.retryInterval(), createElections);
        order = new NodeWatch(
                nodes.session(), loop, nodes.standDown(), NodeWatch.Usually.MISSING, this::orderSeen, this::unanswered);
        handOver = new HandOverWatch(this, nodes, loop, standing, this::unanswered);
        patience = new AccessPatience(config.accessPatience());
    }

    // ---------------------------------------------------------------- asked by the candidacy

    @Override
    public void claim() {
        if (!entered) {
            entered = true;
            prover.enter(this);
        }
        node.enter();
    }

    @Override
    public void concede(Duration within) {
        node.unwant();
        if (phase == Phase.HOLDING) {
            phase = Phase.ENDING;
            var until = proof == null
                    ? loop.clock().nanos()
                    : proof.since().nanos() + proof.guarantee().toNanos();
            var sooner = loop.clock().nanos() + within.toNanos();
            at(within.isZero() || until - sooner < 0 ? until : sooner, this::release);
        }
    }

    @Override
    public void release() {
        rest();
        node.withdraw();
    }

    @Override
    public void ready(HandOverNote ordered) {
        var mine = node.node();
        if (mine != null && phase == Phase.WAITING) {
            var said = ordered.readyBy(standing.candidate());
            var noted = nodes.note(ordered.token(), ordered.text(), said.text(), mine.name());
            NodeRequests.then(loop, noted, (done, error) -> {
                if (error != null) {
                    unwritten(error, "Orders to hand over to it fail, and the leader leads on");
                }
            });
        }
    }

    @Override
    public void proclaim(Map<String, String> metadata) {
        node.show(new NodeData(standing.candidate(), standing.config().priority(), metadata));
    }

    @Override
    public void leave() {
        over = true;
        if (entered) {
            release();
        } else {
            onLeft.accept(this);
            claimant.left();
        }
    }

    /** The loop is about to stop. */
    void abandon() {
        node.abandon();
    }

    // ---------------------------------------------------------------- told by our node

    @Override
    public void arrived(OwnNode made) {
        phase = Phase.WAITING;
        patience.answered();
        position.seek(made);
        handOver.begin(made);
    }

    @Override
    public void settled(@Nullable OwnNode deleted, boolean confirmed) {
        if (deleted != null) {
            if (ordered) {
                nodes.obeyed(deleted.name());
            }
            if (endTold) {
                NodeRequests.whenDone(nodes.tidy(), (tidied, error) -> {});
            }
            ordered = false;
        }
        if (over && !left) {
            left = true;
            prover.exit(this);
            onLeft.accept(this);
            if (confirmed) {
                claimant.left();
            } else {
                claimant.leftUnconfirmed();
            }
        }
    }

    @Override
    public void vanished() {
        gone(Cause.REPLACED);
    }

    private void gone(Cause cause) {
        var mine = node.node();
        if (mine == null) {
            return;
        }
        var held = phase == Phase.HOLDING || phase == Phase.ENDING;
        rest();
        if (held) {
            node.unwant();
            claimant.attempted(Attempt.LOST, Duration.ZERO);
            claimant.lost(mine.token(), cause);
        }
        node.lost();
    }

    @Override
    public void electionOver() {
        switch (phase) {
            case HOLDING -> {
                if (!endTold) {
                    endTold = true;
                    asked(Cause.ENDED);
                }
            }
            case WAITING, FIRST -> {
                ended();
                release();
            }
            case AWAY, ENDING -> {} // told when it is tried again
        }
    }

    @Override
    public void ended() {
        endTold = true;
        claimant.ended();
    }

    // ---------------------------------------------------------------- told by our position in the queue

    @Override
    public void follows(String candidate) {
        patience.answered();
        claimant.attempted(Attempt.REFUSED, Duration.ZERO);
        claimant.following(Optional.of(candidate));
    }

    /** The seat is ours as soon as the session is proven. */
    @Override
    public void first() {
        if (phase == Phase.WAITING) {
            phase = Phase.FIRST;
        }
        prover.last(longestUse()).ifPresentOrElse(this::hold, prover::need);
    }

    private void hold(Proof sessionProof) {
        var mine = node.node();
        if (mine == null || phase != Phase.FIRST) {
            return;
        }
        position.rest();
        phase = Phase.HOLDING;
        proof = ours(sessionProof);
        claimant.attempted(Attempt.WON, Duration.ofNanos(loop.clock().now().nanosSince(sessionProof.since())));
        claimant.granted(mine.token(), proof);
        order.begin();
        handOver.leads();
    }

    // ---------------------------------------------------------------- told of a hand-over

    @Override
    public void prepare(HandOverNote ordered, String leader) {
        if (phase == Phase.WAITING) {
            claimant.prepare(ordered, leader);
        }
    }

    @Override
    public void goBehind() {
        if (phase == Phase.WAITING) {
            rest();
            node.withdraw();
            node.enter();
        }
    }

    @Override
    public void handOver() {
        if (phase == Phase.HOLDING) {
            asked(Cause.HANDED_OVER);
        }
    }

    /** How old a proof may be to begin with: a quarter of its use must be left, or we would soon have to stop again. */
    private Duration longestUse() {
        var config = standing.config();
        var usable = config.lease().toNanos() * (1 - config.driftBound())
                - config.standDownBudget().toNanos();
        return Duration.ofNanos((long) (usable * 3 / 4));
    }

    /** The session may live longer than our lease, which is all that we were asked for. */
    private Proof ours(Proof sessionProof) {
        var lease = standing.config().lease();
        return sessionProof.guarantee().compareTo(lease) < 0 ? sessionProof : new Proof(sessionProof.since(), lease);
    }

    /** An operator wants one to stand down: us, or one who is gone. */
    private void orderSeen(Optional<NodeRequests.Node> found) {
        var mine = node.node();
        if (found.isEmpty() || mine == null || phase != Phase.HOLDING) {
            return;
        }
        if (found.get().text().equals(mine.name())) {
            ordered = true;
            asked(Cause.REVOKED_BY_OPERATOR);
        } else {
            nodes.withdraw(found.get());
        }
    }

    private void asked(Cause cause) {
        var mine = node.node();
        if (mine != null) {
            claimant.asked(mine.token(), cause, standing.config().standDownBudget());
        }
    }

    // ---------------------------------------------------------------- told by the session

    @Override
    public CandidacyConfig config() {
        return standing.config();
    }

    @Override
    public Loop loop() {
        return loop;
    }

    @Override
    public Optional<String> toCheck() {
        var mine = node.node();
        return mine != null && (phase == Phase.FIRST || phase == Phase.HOLDING)
                ? Optional.of(mine.path())
                : Optional.empty();
    }

    @Override
    public void proven(Proof sessionProof, Duration latency, boolean checked) {
        claimant.answered();
        var mine = node.node();
        if (checked && phase == Phase.HOLDING && mine != null) {
            patience.answered();
            proof = ours(sessionProof);
            claimant.attempted(Attempt.RENEWED, latency);
            claimant.proven(mine.token(), proof);
        }
        readUnread();
        if (phase == Phase.FIRST) {
            position.look(); // is it still ours to take?
        } else {
            position.lookIfUntold();
        }
    }

    @Override
    public void unproven(Duration waited) {
        claimant.unanswered(waited, null);
        if (toCheck().isPresent()) {
            claimant.attempted(Attempt.MISSED, waited);
        }
    }

    /** What waits for an answer need not wait for a timer. */
    @Override
    public void connected() {
        readUnread();
        position.look();
        node.connected();
    }

    @Override
    public void expired() {
        gone(Cause.EXPIRED); // one who is joining will see it
    }

    private void readUnread() {
        node.readUnread();
        order.readIfUnread();
        handOver.readIfUnread();
    }

    private void rest() {
        cancelTimer();
        phase = Phase.AWAY;
        proof = null;
        position.rest();
        order.end();
        handOver.end();
    }

    // ---------------------------------------------------------------- what fails

    /** One that wants to leave does not wait for rights to come back. */
    @Override
    public boolean refused(Throwable error) {
        var refusal = ZooKeeperErrors.refusal(error, nodes.session().where());
        refusal.ifPresent(this::refused);
        return refusal.isPresent() && (over || gaveUp);
    }

    @Override
    public void refused(ElectionException refusal) {
        if (patience.ends(refusal, loop.clock().nanos())) {
            gaveUp = true;
            if (!over) {
                claimant.failed(refusal);
            }
        }
    }

    /** Nobody needs that right to stand and to lead: lacking it ends no candidacy, and is told once. */
    @Override
    public void unwritten(Throwable error, String therefore) {
        var refusal = ZooKeeperErrors.refusal(error, nodes.session().where());
        if (refusal.isPresent() && !writeRefused) {
            writeRefused = true;
            log.warn(
                    "Candidacy {} in \"{}\" may not write: {}. {}. It stands and leads anyway",
                    standing.candidate(),
                    standing.election(),
                    refusal.get().getMessage(),
                    therefore);
        }
    }

    /** That may mean something for our node, or is worth another look. */
    @Override
    public void unanswered(Throwable error) {
        if (ZooKeeperErrors.code(error) == Code.NONODE) {
            node.look(); // the election's node was deleted under us
            return;
        }
        refused(error);
        if (phase == Phase.WAITING || phase == Phase.FIRST) {
            at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), position::look);
        }
    }

    // ---------------------------------------------------------------- small things

    private void at(long nanos, Runnable turn) {
        cancelTimer();
        timer = loop.at(nanos, turn);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }
}
