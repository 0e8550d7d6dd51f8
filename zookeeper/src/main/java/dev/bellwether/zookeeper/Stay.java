package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Loop;
import org.jspecify.annotations.Nullable;

/**
 * A candidate's node in the queue: made while it is wanted, taken back when it is not, made anew when it was lost.
 *
 * <p>Confined to the loop.
 */
final class Stay {
    /*
     *   OUT --enter--> JOINING --node made--> THERE --withdraw--> LEAVING --node deleted--> OUT
     *
     * From everywhere: when the session has expired, or the node was deleted by others, we are OUT. Every step but the first is taken
     * by one who has a node, and takes it back if it is no longer wanted. Whoever comes OUT and is wanted joins again.
     */
    private enum Phase {
        OUT,
        JOINING,
        THERE,
        LEAVING
    }

    private final QueueSeat seat;
    private final Nodes nodes;
    private final ZooKeeperArbiter arbiter;
    private final Notices notices;

    private Phase phase = Phase.OUT;
    private boolean wanted;
    private @Nullable Joining joining;
    private @Nullable OwnNode node;
    private Loop.@Nullable Timer timer;

    Stay(QueueSeat seat, Nodes nodes, ZooKeeperArbiter arbiter, Notices notices) {
        this.seat = seat;
        this.nodes = nodes;
        this.arbiter = arbiter;
        this.notices = notices;
    }

    /** Returns our node, while we have one. */
    @Nullable
    OwnNode node() {
        return node;
    }

    /** We want to be there, from now on. */
    void enter() {
        wanted = true;
        joinIfWanted();
    }

    /** What we have may stay; if it is lost, we want no other. */
    void unwant() {
        wanted = false;
    }

    /** We want to have nothing there. */
    void withdraw() {
        wanted = false;
        takeBack();
    }

    /** Our node is no more, by no doing of ours. */
    void lost() {
        forget();
        settled();
    }

    /** There is a connection again. */
    void connected() {
        if (phase == Phase.LEAVING) {
            takeBack();
        }
    }

    /** Nobody will drive us any more: what is there, or may be, is taken away behind us if the session goes on. */
    void abandon() {
        if (node != null || joining != null) {
            new Sweep(nodes.session(), nodes.election(), seat.data(), node).begin();
        }
    }

    // ---------------------------------------------------------------- joining

    private void joinIfWanted() {
        if (wanted && phase == Phase.OUT) {
            phase = Phase.JOINING;
            notices.awaitEnd();
            joining = new Joining(seat, this, nodes, arbiter);
            joining.begin();
        }
    }

    /** We have a node. */
    void joined(OwnNode made) {
        if (node != null) {
            throw new IllegalStateException("a second node " + made + " while " + node + " is ours");
        }
        node = made;
        joining = null;
        if (made.generation() != nodes.session().generation()) {
            lost();
        } else if (!wanted) {
            takeBack();
        } else {
            phase = Phase.THERE;
            seat.arrived(made);
        }
    }

    /** We could not join, and left nothing behind. */
    void notJoined() {
        joining = null;
        if (wanted) {
            out();
            soon(this::joinIfWanted);
        } else {
            settled();
        }
    }

    /** The election is over: told when we have nothing there. */
    void overBeforeJoining() {
        joining = null;
        wanted = false;
        out();
        seat.tellEnd();
        seat.settled(); // it may have been told to leave meanwhile
    }

    // ---------------------------------------------------------------- leaving

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
        if (mine.generation() != nodes.session().generation()) {
            lost();
            return;
        }
        nodes.then(nodes.requests().delete(mine.path(), -1), (deleted, error) -> {
            if (mine.equals(node) && phase == Phase.LEAVING) {
                takenBack(mine, error);
            }
        });
    }

    private void takenBack(OwnNode mine, @Nullable Throwable error) {
        if (error == null) {
            forget();
            seat.departed(mine);
            settled();
        } else {
            Failures.fatal(error, nodes.session().where())
                    .ifPresentOrElse(this::leftBehind, () -> soon(this::takeBack));
        }
    }

    /** We may not delete it, or not even authenticate any more: it goes with the session. */
    private void leftBehind(ElectionException error) {
        seat.failed(error);
        lost();
    }

    private void forget() {
        if (node != null) {
            node.forget();
        }
        node = null;
    }

    /** We have nothing there. */
    private void settled() {
        out();
        seat.settled();
        joinIfWanted();
    }

    private void out() {
        cancelTimer();
        notices.ignoreEnd();
        phase = Phase.OUT;
    }

    // ---------------------------------------------------------------- small things

    private void soon(Runnable turn) {
        cancelTimer();
        timer = nodes.after(seat.config().retryInterval(), turn);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }
}
