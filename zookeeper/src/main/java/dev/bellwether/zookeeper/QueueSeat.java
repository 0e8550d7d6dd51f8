package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Optional;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * One candidacy's seat: decides when it is ours, when it is not, and when we go.
 *
 * <p>Confined to the loop. A {@link Stay} has our node in the queue, a {@link Place} finds where it stands,
 * {@link Notices} hear what others want of us.
 */
final class QueueSeat implements Seat {
    /*
     *   AWAY --our node is made--> WAITING --first in the queue--> FIRST --session proven--> HOLDING --conceded-->
     *   ENDING
     *    ^                            |                              |                          |                     |
     *    +----------------------------+-- release, end, time up -----+--------------------------+---------------------+
     *
     * From everywhere: when the session has expired, or our node was deleted, we are AWAY. Whoever held the seat hears
     * that it is lost; whoever waited joins anew.
     */
    private enum Phase {
        /** We have no node, or one that we want to be rid of. */
        AWAY,
        WAITING,
        FIRST,
        HOLDING,
        ENDING
    }

    private final Standing standing;
    private final Claimant claimant;
    private final Loop loop;
    private final ZooKeeperArbiter arbiter;
    private final SeatSession session;
    private final Nodes nodes;
    private final NodeData data;
    private final Notices notices;
    private final Place place;
    private final Stay stay;
    private final AccessPatience patience;

    private Phase phase = Phase.AWAY;
    private boolean entered;
    private boolean over;
    private boolean left;
    private boolean endTold;
    private boolean ordered;
    private boolean gaveUp;
    private @Nullable Proof proof;
    private Loop.@Nullable Timer timer;

    QueueSeat(Standing standing, Claimant claimant, Loop loop, ZooKeeperArbiter arbiter, SeatSession session) {
        this.standing = standing;
        this.claimant = claimant;
        this.loop = loop;
        this.arbiter = arbiter;
        this.session = session;
        nodes = new Nodes(session, loop, arbiter.path(session, standing.election()), this::broken);
        notices = new Notices(this, nodes);
        place = new Place(this, nodes);
        stay = new Stay(this, nodes, arbiter, notices);
        patience = new AccessPatience(standing.config().accessPatience());
        data = new NodeData(
                standing.candidate(),
                standing.config().priority(),
                standing.config().metadata());
    }

    // ---------------------------------------------------------------- asked by the tenure

    @Override
    public void claim() {
        if (!entered) {
            entered = true;
            session.enter(this, loop);
        }
        stay.enter();
    }

    @Override
    public void concede(Duration within) {
        stay.unwant();
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
        stay.withdraw();
    }

    @Override
    public void leave() {
        over = true;
        if (entered) {
            release();
        } else {
            claimant.left();
        }
    }

    /** The loop is about to stop. */
    void abandon() {
        stay.abandon();
    }

    // ---------------------------------------------------------------- told by our stay

    /** We have a node in the queue. */
    void arrived(OwnNode made) {
        phase = Phase.WAITING;
        patience.answered();
        notices.attend(made);
        place.seek(made);
    }

    /** We have taken our node back. */
    void departed(OwnNode mine) {
        arbiter.departed(session, nodes.election(), mine.name(), ordered, endTold);
        ordered = false;
    }

    /**
     * We have nothing there, as the servers have confirmed; or we have lost sight of it, and it goes with its session.
     */
    void settled(boolean confirmed) {
        if (over && !left) {
            left = true;
            session.exit(this);
            arbiter.left(this);
            if (confirmed) {
                claimant.left();
            } else {
                claimant.leftUnconfirmed();
            }
        }
    }

    // ---------------------------------------------------------------- told by our place in the queue

    /** Somebody is before us. */
    void follows(String candidate) {
        patience.answered();
        claimant.attempted(Attempt.REFUSED, Duration.ZERO);
        claimant.following(Optional.of(candidate));
    }

    /** Nobody is before us: the seat is ours as soon as the session is proven. */
    void first() {
        if (phase == Phase.WAITING) {
            phase = Phase.FIRST;
            notices.awaitOrders();
        }
        session.proof(longestUse()).ifPresentOrElse(this::hold, session::prove);
    }

    private void hold(Proof sessionProof) {
        var mine = stay.node();
        if (mine == null || phase != Phase.FIRST) {
            return;
        }
        place.rest();
        phase = Phase.HOLDING;
        proof = ours(sessionProof);
        claimant.attempted(Attempt.WON, Duration.ofNanos(loop.clock().now().nanosSince(sessionProof.since())));
        claimant.granted(mine.token(), proof);
        notices.readOrder();
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

    // ---------------------------------------------------------------- told by the session

    /** Whether our node should be checked in the next proof. */
    boolean provable() {
        return phase == Phase.FIRST || phase == Phase.HOLDING;
    }

    /** The session was proven, and that our node is there. */
    void proven(Proof sessionProof, Duration latency) {
        var mine = stay.node();
        if (phase == Phase.HOLDING && mine != null) {
            patience.answered();
            proof = ours(sessionProof);
            attempted(Attempt.RENEWED, latency);
            claimant.proven(mine.token(), proof);
        }
    }

    /** There is a new proof of the session. */
    void refreshed() {
        session.refusal(standing.config()).ifPresent(this::failed);
        notices.readUnread();
        if (phase == Phase.FIRST) {
            place.look(); // is it still ours to take?
        }
    }

    /** The session was proven. */
    void answered() {
        claimant.answered();
    }

    /** The session could not be proven, after so long. */
    void unanswered(Duration waited) {
        claimant.unanswered(waited, null);
    }

    void attempted(Attempt attempt, Duration latency) {
        claimant.attempted(attempt, latency);
    }

    /** There is a connection again: what waits for an answer need not wait for a timer. */
    void connected() {
        session.refusal(standing.config()).ifPresent(this::failed);
        notices.readUnread();
        place.look();
        stay.connected();
    }

    /** The session is gone, and with it our node. */
    void expired() {
        gone(Cause.EXPIRED); // one who is joining will see it
    }

    /** Our node is gone, though the session need not be. */
    void vanished() {
        gone(Cause.REPLACED);
    }

    private void gone(Cause cause) {
        var mine = stay.node();
        if (mine == null) {
            return;
        }
        var held = phase == Phase.HOLDING || phase == Phase.ENDING;
        rest();
        if (held) {
            stay.unwant();
            claimant.attempted(Attempt.LOST, Duration.ZERO);
            claimant.lost(mine.token(), cause);
        }
        stay.lost();
    }

    private void rest() {
        cancelTimer();
        phase = Phase.AWAY;
        proof = null;
        place.rest();
        notices.rest();
    }

    // ---------------------------------------------------------------- what others want

    /** The election is over for those who stand. */
    void electionOver() {
        switch (phase) {
            case HOLDING -> {
                if (!endTold) {
                    endTold = true;
                    asked(Cause.ENDED);
                }
            }
            case WAITING, FIRST -> {
                tellEnd();
                release();
            }
            case AWAY, ENDING -> {} // told when it is tried again
        }
    }

    void tellEnd() {
        endTold = true;
        claimant.ended();
    }

    /** Whether the seat is ours. */
    boolean leads() {
        return phase == Phase.HOLDING;
    }

    /** An operator wants another to lead. */
    void orderedToStandDown() {
        if (phase == Phase.HOLDING) {
            ordered = true;
            asked(Cause.REVOKED_BY_OPERATOR);
        }
    }

    private void asked(Cause cause) {
        var mine = stay.node();
        if (mine != null) {
            claimant.asked(mine.token(), cause, standing.config().standDownBudget());
        }
    }

    // ---------------------------------------------------------------- what fails

    /** An error that no retry will mend. */
    void failed(ElectionException error) {
        if (!over) {
            claimant.failed(error);
        }
    }

    /**
     * The servers did not do what we asked. Returns whether that is here to stay: then the candidacy ends. One that
     * wants to leave does not wait for rights to come back.
     */
    boolean refused(Throwable error) {
        var refusal = ZooKeeperErrors.refusal(error, session.where());
        refusal.ifPresent(this::refused);
        return refusal.isPresent() && (over || gaveUp);
    }

    /** The same, in our words. */
    void refused(ElectionException refusal) {
        if (patience.ends(refusal, loop.clock().nanos())) {
            gaveUp = true;
            failed(refusal);
        }
    }

    /** A turn of ours threw, whatever it is: nobody knows any more where we stand. */
    void broken(Throwable fault) {
        failed(new ElectionException(
                "candidate " + standing.candidate() + " of election " + standing.election()
                        + " stands no more: a turn of its seat threw " + fault,
                fault));
    }

    /** A request failed: that may mean something for our node, or is worth another look. */
    void troubled(@Nullable Throwable error) {
        if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
            notices.checkOwn(); // the election's node, or an order, was deleted under us
            return;
        }
        if (error != null) {
            refused(error);
        }
        if (phase == Phase.WAITING || phase == Phase.FIRST) {
            at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), place::look);
        }
    }

    // ---------------------------------------------------------------- small things

    CandidacyConfig config() {
        return standing.config();
    }

    NodeData data() {
        return data;
    }

    /** Returns the zxid that made the node of the election that we stand in; 0 if we never stood. */
    long era() {
        return place.era();
    }

    /** Returns the path of our node, or of the election while we have none. */
    String path() {
        var mine = stay.node();
        return mine == null ? nodes.election() : mine.path();
    }

    private void at(long nanos, Runnable turn) {
        cancelTimer();
        timer = loop.at(nanos, nodes.guarded(turn));
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }
}
