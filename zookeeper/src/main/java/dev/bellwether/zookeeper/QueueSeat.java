package dev.bellwether.zookeeper;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * One candidacy's place in the queue of an election: decides when to join, whom to follow, when the seat is ours, and when it is not.
 *
 * <p>Confined to the loop.
 */
final class QueueSeat implements Seat {
    /*
     *   OUT --claim--> JOINING --node made--> WAITING --first in the queue--> FIRST --session proven--> HOLDING
     *    ^                                       |                              |                          |
     *    |                                       |                              |                       conceded
     *    |                                       v                              v                          v
     *    +------------- LEAVING <-- release, end of the election, time up -------------------------------- ENDING
     *
     * From everywhere: when the session has expired, or our node was deleted, we have no node any more. Whoever held the seat hears
     * that it is lost; whoever waited joins anew.
     *
     * Every step but the first is taken by one who has a node, and takes it back if it is no longer wanted. An answer is heeded only by
     * the try that asked for it.
     */
    private enum Phase {
        OUT,
        JOINING,
        WAITING,
        FIRST,
        HOLDING,
        ENDING,
        LEAVING
    }

    private final Standing standing;
    private final Claimant claimant;
    private final Loop loop;
    private final ZooKeeperArbiter arbiter;
    private final Session session;
    private final String election;
    private final NodeData data;
    private final Runnable onDone;
    private final Runnable onOwn;
    private final Runnable onPredecessor;
    private final Runnable onOrder;

    private Phase phase = Phase.OUT;
    private boolean wanted;
    private boolean over;
    private boolean entered;
    private boolean left;
    private boolean endTold;
    private boolean ordered;
    /** The zxid that made the election's node when we first joined; 0 before that. If another stands there, ours was deleted. */
    private long era;

    private int tries;
    private @Nullable Joining joining;
    private @Nullable OwnNode node;
    private @Nullable String predecessor;
    private @Nullable Proof proof;
    private Loop.@Nullable Timer timer;

    QueueSeat(Standing standing, Claimant claimant, Loop loop, ZooKeeperArbiter arbiter, Session session) {
        this.standing = standing;
        this.claimant = claimant;
        this.loop = loop;
        this.arbiter = arbiter;
        this.session = session;
        election = standing.election();
        onOrder = () -> onLoop(this::readOrder);
        onPredecessor = () -> onLoop(this::predecessorChanged);
        onOwn = () -> onLoop(this::ownChanged);
        onDone = () -> onLoop(this::doneChanged);
        data = new NodeData(
                standing.candidate(),
                standing.config().priority(),
                standing.config().metadata());
    }

    // ---------------------------------------------------------------- asked by the tenure

    @Override
    public void claim() {
        wanted = true;
        if (!entered) {
            entered = true;
            session.enter(this, loop);
        }
        if (phase == Phase.OUT) {
            join();
        }
    }

    @Override
    public void concede(Duration within) {
        wanted = false;
        if (phase == Phase.HOLDING) {
            phase = Phase.ENDING;
            var until = proof == null
                    ? loop.clock().nanos()
                    : proof.since().nanos() + proof.guarantee().toNanos();
            var sooner = loop.clock().nanos() + within.toNanos();
            at(within.isZero() || until - sooner < 0 ? until : sooner, this::takeBack);
        }
    }

    @Override
    public void release() {
        wanted = false;
        takeBack();
    }

    @Override
    public void leave() {
        wanted = false;
        over = true;
        if (!entered) {
            claimant.left();
        } else {
            takeBack();
        }
    }

    /** The loop is about to stop: whatever we have there is taken away behind it, if the session goes on without us. */
    void abandon() {
        if (node != null || joining != null) {
            new Sweep(session, electionPath(), data, node).begin();
        }
    }

    // ---------------------------------------------------------------- joining

    private void join() {
        phase = Phase.JOINING;
        session.watches().listen(done(), onDone);
        joining = new Joining(this, session, arbiter, ++tries);
        joining.begin();
    }

    /** We have a node. */
    void joined(int ofTry, OwnNode made) {
        if (node != null) {
            throw new IllegalStateException("a second node of " + standing + " while " + node + " is ours");
        }
        node = made;
        joining = null;
        if (made.generation() != session.generation()) {
            vanished();
        } else if (!wanted || ofTry != tries) {
            takeBack();
        } else {
            phase = Phase.WAITING;
            session.watches().listen(made.path(), onOwn);
            look();
        }
    }

    /** We could not join, and left nothing behind. */
    void notJoined() {
        joining = null;
        if (wanted) {
            out();
            at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), this::joinIfWanted);
        } else {
            settled();
        }
    }

    /** The election is over: told when we have nothing there. */
    void overBeforeJoining() {
        joining = null;
        wanted = false;
        out();
        tellEnd();
    }

    private void joinIfWanted() {
        if (wanted && phase == Phase.OUT) {
            join();
        }
    }

    // ---------------------------------------------------------------- our place in the queue

    /** Looks where we stand. */
    private void look() {
        var mine = node;
        if (mine == null || (phase != Phase.WAITING && phase != Phase.FIRST)) {
            return;
        }
        answer(session.requests().children(electionPath(), null), mine, children -> {
            if (phase != Phase.WAITING && phase != Phase.FIRST) {
                return; // we had asked twice, or are leaving: what we see now must not grant anything
            }
            var queue = Paths.queue(children.names());
            var place = queue.indexOf(mine.name());
            if (place < 0) {
                vanished();
            } else if (era != 0 && era != children.stat().getCzxid()) {
                theEnd();
            } else if (children.names().contains(Paths.DONE)) {
                theEnd();
            } else {
                era = children.stat().getCzxid();
                if (place == 0) {
                    first();
                } else {
                    follow(mine, queue.get(place - 1));
                }
            }
        });
    }

    /** Waits for the one before us, and watches nobody else: so that one departure wakes one candidate. */
    private void follow(OwnNode mine, String name) {
        var path = session.full(arbiter.paths().node(election, name));
        watchPredecessor(path);
        then(session.requests().data(path, session.watches().watcher(path)), (read, error) -> {
            if (!mine.equals(node) || !path.equals(predecessor)) {
                return;
            }
            if (read != null) {
                claimant.attempted(Attempt.REFUSED, Duration.ZERO);
                claimant.following(Optional.of(NodeData.of(read.text()).candidate()));
            } else if (error != null && Failures.code(error) == Code.NONODE) {
                look();
            } else {
                troubled(error);
            }
        });
    }

    private void watchPredecessor(@Nullable String path) {
        var before = predecessor;
        predecessor = path;
        if (before != null && !before.equals(path)) {
            session.watches().unlisten(before, onPredecessor);
        }
        if (path != null) {
            session.watches().listen(path, onPredecessor);
        }
    }

    private void predecessorChanged() {
        if (phase == Phase.WAITING) {
            look();
        }
    }

    private void first() {
        watchPredecessor(null);
        if (phase == Phase.WAITING) {
            phase = Phase.FIRST;
            var order = session.full(arbiter.paths().node(election, Paths.STAND_DOWN));
            session.watches().listen(order, onOrder);
        }
        var recent = session.proof(longestUse());
        if (recent.isPresent()) {
            hold(recent.get());
        } else {
            session.prove();
        }
    }

    private void hold(Proof sessionProof) {
        if (node == null || phase != Phase.FIRST) {
            return;
        }
        phase = Phase.HOLDING;
        proof = ours(sessionProof);
        claimant.attempted(Attempt.WON, Duration.ofNanos(loop.clock().now().nanosSince(sessionProof.since())));
        claimant.granted(node.token(), proof);
        readOrder();
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

    Duration renewInterval() {
        return standing.config().renewInterval();
    }

    Duration retryInterval() {
        return standing.config().retryInterval();
    }

    /** Whether our node should be checked in the next proof. */
    boolean provable() {
        return node != null && (phase == Phase.FIRST || phase == Phase.HOLDING);
    }

    /** Returns the path of our node, if there is one. */
    String path() {
        return node == null ? electionPath() : node.path();
    }

    /** The session was proven, and that our node is there. */
    void proven(Proof sessionProof, Duration latency) {
        if (phase == Phase.HOLDING && node != null) {
            proof = ours(sessionProof);
            attempted(Attempt.RENEWED, latency);
            claimant.proven(node.token(), proof);
        }
    }

    /** There is a new proof of the session. */
    void refreshed() {
        session.refusal(standing.config()).ifPresent(this::failed);
        if (phase == Phase.FIRST) {
            look(); // is it still ours to take?
        }
    }

    void attempted(Attempt attempt, Duration latency) {
        claimant.attempted(attempt, latency);
    }

    /** Our node is gone, though the session need not be. */
    void vanished() {
        gone(Cause.REPLACED);
    }

    /** The session is gone, and with it our node. */
    void expired() {
        gone(Cause.EXPIRED); // one who is joining will see it
    }

    private void gone(Cause cause) {
        var mine = node;
        if (mine == null) {
            return;
        }
        var held = phase;
        forget();
        if (held == Phase.HOLDING || held == Phase.ENDING) {
            wanted = false;
            claimant.attempted(Attempt.LOST, Duration.ZERO);
            claimant.lost(mine.token(), cause);
        }
        settled();
    }

    /** There is a connection again: what waits for an answer need not wait for a timer. */
    void connected() {
        session.refusal(standing.config()).ifPresent(this::failed);
        switch (phase) {
            case WAITING, FIRST -> look();
            case LEAVING -> takeBack();
            case OUT, JOINING, HOLDING, ENDING -> {}
        }
    }

    void failed(ElectionException error) {
        if (!over) {
            claimant.failed(error);
        }
    }

    // ---------------------------------------------------------------- what others do to the election

    private void ownChanged() {
        var mine = node;
        if (mine == null || phase == Phase.LEAVING) {
            return;
        }
        then(session.requests().data(mine.path(), session.watches().watcher(mine.path())), (read, error) -> {
            if (!mine.equals(node) || error == null) {
                return; // written to, by whomever: that concerns nobody
            }
            if (Failures.code(error) == Code.NONODE) {
                vanished();
            } else {
                troubled(error);
            }
        });
    }

    private void doneChanged() {
        var mine = node;
        if (mine != null && !endTold) {
            answer(session.requests().exists(done(), session.watches().watcher(done())), mine, stat -> {
                if (stat.isPresent()) {
                    theEnd();
                }
            });
        }
    }

    /** The election is over for those who stand. */
    private void theEnd() {
        switch (phase) {
            case HOLDING -> {
                if (node != null && !endTold) {
                    endTold = true;
                    claimant.asked(node.token(), Cause.ENDED, standing.config().standDownBudget());
                }
            }
            case WAITING, FIRST -> {
                wanted = false;
                tellEnd();
                takeBack();
            }
            case OUT, JOINING, ENDING, LEAVING -> {} // told when it is tried again
        }
    }

    private void tellEnd() {
        endTold = true;
        claimant.ended();
    }

    private void readOrder() {
        var mine = node;
        if (mine == null || (phase != Phase.FIRST && phase != Phase.HOLDING)) {
            return;
        }
        var path = session.full(arbiter.paths().node(election, Paths.STAND_DOWN));
        then(session.requests().exists(path, session.watches().watcher(path)), (stat, error) -> {
            if (mine.equals(node) && phase == Phase.HOLDING && stat != null && stat.isPresent()) {
                answer(session.requests().data(path, null), mine, read -> {
                    if (phase == Phase.HOLDING && read.text().equals(mine.name())) {
                        ordered = true;
                        claimant.asked(
                                mine.token(),
                                Cause.REVOKED_BY_OPERATOR,
                                standing.config().standDownBudget());
                    }
                });
            }
        });
    }

    // ---------------------------------------------------------------- going

    /** Takes back what we have there; then settles what comes next. */
    private void takeBack() {
        cancelTimer();
        var mine = node;
        if (mine == null) {
            if (joining == null) {
                settled();
            } else {
                joining.cancel(); // it will tell us
            }
            return;
        }
        phase = Phase.LEAVING;
        if (mine.generation() != session.generation()) {
            forget();
            settled();
            return;
        }
        then(session.requests().delete(mine.path(), -1), (deleted, error) -> {
            if (!mine.equals(node) || phase != Phase.LEAVING) {
                return;
            }
            if (error == null) {
                forget();
                arbiter.departed(session, electionPath(), mine.name(), ordered, endTold);
                ordered = false;
                settled();
            } else if (Failures.code(error) == Code.NOAUTH) {
                Failures.fatal(error, session.where()).ifPresent(this::failed);
                forget(); // it goes with the session
                settled();
            } else {
                at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), this::takeBack);
            }
        });
    }

    private void forget() {
        var mine = node;
        if (mine != null) {
            session.watches().gone(mine.path(), onOwn);
            mine.forget();
        }
        watchPredecessor(null);
        session.watches().unlisten(session.full(arbiter.paths().node(election, Paths.STAND_DOWN)), onOrder);
        node = null;
        proof = null;
    }

    /** We have nothing there. */
    private void settled() {
        out();
        if (over) {
            if (!left) {
                left = true;
                session.exit(this);
                arbiter.left(this);
                claimant.left();
            }
        } else {
            joinIfWanted();
        }
    }

    private void out() {
        cancelTimer();
        session.watches().unlisten(done(), onDone);
        phase = Phase.OUT;
    }

    // ---------------------------------------------------------------- small things

    Standing standing() {
        return standing;
    }

    NodeData data() {
        return data;
    }

    long era() {
        return era;
    }

    Loop loop() {
        return loop;
    }

    String electionPath() {
        return session.full(arbiter.paths().election(election));
    }

    String done() {
        return session.full(arbiter.paths().node(election, Paths.DONE));
    }

    /** Something failed that is worth another look. */
    private void troubled(@Nullable Throwable error) {
        if (error != null) {
            Failures.fatal(error, session.where()).ifPresent(this::failed);
        }
        if (phase == Phase.WAITING || phase == Phase.FIRST) {
            at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), this::look);
        }
    }

    /** Heeds a good answer, if our node is still the same; looks again after a bad one. */
    private <T> void answer(CompletableFuture<T> request, OwnNode mine, java.util.function.Consumer<T> turn) {
        then(request, (value, error) -> {
            if (!mine.equals(node)) {
                return;
            }
            if (value != null) {
                turn.accept(value);
            } else if (error != null && Failures.code(error) == Code.NONODE) {
                ownChanged(); // the election's node, or an order, was deleted under us
            } else {
                troubled(error);
            }
        });
    }

    <T> void then(CompletableFuture<T> request, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        Requests.whenDone(request, (value, error) -> onLoop(() -> turn.accept(value, error)));
    }

    private void onLoop(Runnable turn) {
        loop.execute(turn);
    }

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
