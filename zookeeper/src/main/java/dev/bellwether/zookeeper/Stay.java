package dev.bellwether.zookeeper;

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
     * From everywhere: when the session has expired, or the node was deleted by others, we are OUT. Every step but the
     * first is taken by one who has a node, and takes it back if it is no longer wanted. Whoever comes OUT and is
     * wanted joins again.
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
    /**
     * Of the session before this one, if the servers may not have ended that yet: others, and we, would wait for it.
     */
    private @Nullable OwnNode former;
    /** We may not delete our node: it goes with the session. */
    private boolean stuck;

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
        var mine = node;
        if (mine != null && mine.generation() != nodes.session().generation()) {
            former = mine;
        }
        forget();
        settled();
    }

    /**
     * Takes the node away that we had in the session before, if it is still there. We stand again, so that nothing
     * rests on it: the mandate under it has ended, and the work as well. And it is ours beyond doubt: while our new
     * node is there, the election cannot be deleted and made anew, so that its name is given to nobody else.
     */
    private void removeFormer() {
        var before = former;
        var present = node;
        if (before == null || present == null) {
            return;
        }
        nodes.then(nodes.requests().exists(before.path(), null), (stat, error) -> {
            if (!before.equals(former) || !present.equals(node) || stat == null) {
                return; // asked again when there is a connection
            }
            if (stat.filter(found -> found.getCzxid() == before.token() && found.getEphemeralOwner() == before.owner())
                    .isEmpty()) {
                former = null;
                return;
            }
            nodes.then(nodes.requests().delete(before.path(), -1), (deleted, failure) -> {
                if (before.equals(former) && failure == null) {
                    former = null;
                }
            });
        });
    }

    /** There is a connection again. */
    void connected() {
        if (phase == Phase.LEAVING) {
            takeBack();
        }
        removeFormer();
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
        stuck = false;
        if (made.generation() != nodes.session().generation()) {
            lost();
        } else if (!wanted) {
            takeBack();
        } else {
            phase = Phase.THERE;
            removeFormer();
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
        seat.settled(confirmed()); // it may have been told to leave meanwhile
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
            if (seat.refused(error)) {
                stuck = true;
                lost();
            } else {
                soon(this::takeBack);
            }
        }
    }

    private void forget() {
        if (node != null) {
            node.forget();
        }
        node = null;
    }

    /** We have nothing there, or nothing that we can reach. */
    private void settled() {
        out();
        seat.settled(confirmed());
        joinIfWanted();
    }

    private void out() {
        cancelTimer();
        notices.ignoreEnd();
        phase = Phase.OUT;
    }

    // ---------------------------------------------------------------- small things

    /** Returns whether the servers have told us that nothing of ours is there. */
    private boolean confirmed() {
        return former == null && !stuck;
    }

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
