package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * A candidate's node in the queue: made while it is wanted, taken back when it is not, made again when it was lost.
 *
 * <p>Confined to the loop. A creation is sent once. If its answer is lost, we look for the node, and know in the end:
 * so no node of ours is ever left that we do not know of.
 */
final class QueueNode {
    /*
     *   OUT --enter--> LOOKING --no DONE--> JOINING --made, and read--> THERE --withdraw--> LEAVING --deleted--> OUT
     *
     * From everywhere: when the session has expired, or the node was deleted by others, we are OUT. LOOKING and JOINING
     * go through to their end, whatever is wanted meanwhile: who then has a node that is not wanted takes it back. A
     * node that comes OUT and is wanted begins again, at once after a loss, after the retry interval if it could not
     * join.
     */
    private enum Phase {
        /** We have no node. */
        OUT,
        /** Is the election over? */
        LOOKING,
        /** We may have a node, and do not know it yet. */
        JOINING,
        /** We have one. */
        THERE,
        /** We delete it. */
        LEAVING
    }

    /** Who is told what becomes of it. */
    interface Owner {
        /** We have a node in the queue. */
        void arrived(OwnNode node);

        /** Our node was deleted, by no doing of ours. It stays ours until {@link #lost} says that this is known. */
        void vanished();

        /** The election is over, and we have a node in it. */
        void electionOver();

        /** The election is over, and we have none. */
        void ended();

        /** The servers did not do what we asked; returns whether that is here to stay. */
        boolean refused(Throwable error);

        /** What we wanted to write was not written; this follows. */
        void unwritten(Throwable error, String therefore);

        /**
         * We have nothing there; or we have lost sight of it, and it goes with its session.
         *
         * @param deleted our node, if we have taken it back
         * @param confirmed whether the servers have told us that nothing of ours is there
         */
        void settled(@Nullable OwnNode deleted, boolean confirmed);
    }

    private final Owner owner;
    private final Loop loop;
    private final ElectionNodes nodes;
    private NodeData data;
    /** What we have sent with the last creation. */
    private NodeData created;
    /** What is shown is not what our node says, as far as we know. */
    private boolean unshown;

    private final Duration retry;
    private final boolean createElections;
    private final NodeWatch done;

    private Phase phase = Phase.OUT;
    private boolean wanted;
    /** We had a node in this election: if it is not there any more, somebody has deleted it. */
    private boolean stood;
    /** The session in which we create: known only when it has answered something. */
    private NodeSession.State joined = new NodeSession.State(0, 0, 0, Duration.ZERO);

    private @Nullable OwnNode node;
    /** Of our node, or of one that may be. */
    private @Nullable NodeWatch own;
    /**
     * Of the session before this one, if the servers may not have ended that yet: others, and we, would wait for it.
     */
    private @Nullable OwnNode former;
    /** Where there is a node of ours that we have not read yet. */
    private @Nullable String made;
    /** We may not delete our node, or not look for it, and have left it behind. */
    private boolean stuck;
    /** What is there, or may be, is taken away by others: we take nothing for ours any more. */
    private boolean abandoned;

    private Loop.@Nullable Timer timer;

    QueueNode(Owner owner, ElectionNodes nodes, Loop loop, NodeData data, Duration retry, boolean createElections) {
        this.owner = owner;
        this.loop = loop;
        this.nodes = nodes;
        this.data = data;
        created = data;
        this.retry = retry;
        this.createElections = createElections;
        done = new NodeWatch(
                nodes.session(), loop, nodes.done(), NodeWatch.Usually.MISSING, this::doneSeen, this::doneUnanswered);
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

    /** Observers are to see this from now on. */
    void show(NodeData data) {
        this.data = data;
        unshown = true;
        writeIfUnshown();
    }

    private void writeIfUnshown() {
        var mine = node;
        if (!unshown || mine == null || phase != Phase.THERE) {
            return;
        }
        unshown = false;
        var shown = data;
        NodeRequests.then(loop, nodes.requests().write(mine.path(), shown.text(), -1), (written, error) -> {
            if (error != null && mine.equals(node)) {
                unshown = true; // tried again with the next proof
                owner.unwritten(error, "What it shows is not up to date");
            }
        });
    }

    /** We want to have nothing there. */
    void withdraw() {
        wanted = false;
        switch (phase) {
            case OUT -> settled(null);
            case LOOKING, JOINING -> {} // goes through to its end
            case THERE, LEAVING -> takeBack();
        }
    }

    /** Our node is no more, by no doing of ours. */
    void lost() {
        var mine = node;
        if (mine != null && isOfEarlierSession(mine)) {
            former = mine;
        }
        forget();
        settled(null);
    }

    /** There is a connection again. */
    void connected() {
        readUnread();
        if (phase == Phase.LEAVING) {
            takeBack();
        }
        removeFormer();
    }

    /** Asks again for what was not answered. */
    void readUnread() {
        if (phase == Phase.THERE && own != null) {
            done.readIfUnread();
            own.readIfUnread();
            writeIfUnshown();
        }
    }

    /** Something concerning our node was not found: is it still there? */
    void look() {
        if (own != null) {
            own.read();
        }
    }

    /** Nobody will drive us any more: what is there, or may be, is taken away behind us if the session goes on. */
    void abandon() {
        abandoned = true;
        if (phase != Phase.OUT) {
            forgetMade();
            Orphans.cleanUp(nodes, created, node);
        }
    }

    // ---------------------------------------------------------------- joining

    private void joinIfWanted() {
        if (wanted && phase == Phase.OUT) {
            phase = Phase.LOOKING;
            done.begin();
        }
    }

    private void doneSeen(Optional<NodeRequests.Node> found) {
        switch (phase) {
            case LOOKING -> found.ifPresentOrElse(over -> isOver(over.text()), wanted ? this::create : this::notJoined);
            case THERE -> found.ifPresent(over -> owner.electionOver());
            case OUT, JOINING, LEAVING -> {} // who arrives looks who is there, and sees it then
        }
    }

    private void doneUnanswered(Throwable error) {
        owner.refused(error);
        if (phase == Phase.LOOKING) {
            notJoined();
        }
    }

    /** Nobody joins now. Is it over permanently, or only until all who stood have left, after which it begins again? */
    private void isOver(String text) {
        if (!stood && ElectionNodes.isPassing(text)) {
            phase = Phase.JOINING;
            NodeRequests.then(loop, nodes.tidy(), (tidied, error) -> notJoined());
        } else {
            ended();
        }
    }

    private void create() {
        phase = Phase.JOINING;
        joined = nodes.session().state();
        created = data;
        var creation =
                nodes.requests().create(CreateMode.EPHEMERAL_SEQUENTIAL, nodes.candidate(Paths.CANDIDATE), data.text());
        NodeRequests.then(loop, creation, (path, error) -> {
            if (path != null) {
                created(path);
                return;
            }
            switch (error == null ? Code.CONNECTIONLOSS : ZooKeeperErrors.code(error)) {
                case CONNECTIONLOSS,
                        OPERATIONTIMEOUT,
                        REQUESTTIMEOUT,
                        SESSIONMOVED,
                        SYSTEMERROR,
                        RUNTIMEINCONSISTENCY -> resolve();
                case NONODE -> makeElection();
                default -> failed(error);
            }
        });
    }

    private void created(String answered) {
        if (abandoned) {
            return; // it is found
        }
        var path = nodes.candidate(nameOf(answered)); // a chroot stands before it, in some versions
        if (OwnNode.take(joined.id(), path)) {
            confirm(path);
        } else {
            resolve(); // one that had lost its answer took ours for its own
        }
    }

    private static String nameOf(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private void makeElection() {
        if (stood) {
            ended(); // it was there when we first stood: somebody has deleted it
        } else if (createElections) {
            NodeRequests.then(loop, nodes.make(), (made, error) -> {
                if (error != null) {
                    failed(error);
                } else if (wanted) {
                    create();
                } else {
                    notJoined();
                }
            });
        } else {
            failed(new ElectionException("there is no node " + nodes.path() + " on "
                    + nodes.session().where() + ", and createElections is false: have it made"));
        }
    }

    /** We do not know whether there is a node of ours: look. */
    private void resolve() {
        if (isExpired()) {
            notJoined();
            return;
        }
        if (joined.id() == 0) { // the creation has waited for the session
            joined = nodes.session().state();
        }
        if (joined.id() == 0) {
            later(this::resolve);
            return;
        }
        NodeRequests.then(loop, Orphans.find(nodes, joined.id(), created), (found, error) -> {
            if (abandoned) {
                return; // what takes it away has seen it, too
            }
            if (found != null) {
                resolved(found);
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                notJoined();
            } else if (error != null && owner.refused(error)) {
                leaveBehind(null);
            } else {
                later(this::resolve);
            }
        });
    }

    private void resolved(List<String> found) {
        var ours = OwnNode.takeOne(joined.id(), found);
        if (ours.isPresent()) {
            confirm(ours.get());
        } else if (found.isEmpty()) {
            notJoined();
        } else {
            resolve(); // another has just taken it: is there one more?
        }
    }

    /** There is a node of ours: learn its zxid, and have it watched. */
    private void confirm(String path) {
        made = path;
        own = new NodeWatch(
                nodes.session(),
                loop,
                path,
                NodeWatch.Usually.THERE,
                found -> ownSeen(path, found),
                error -> ownUnanswered(path, error));
        own.begin();
    }

    private void ownSeen(String path, Optional<NodeRequests.Node> found) {
        if (phase == Phase.JOINING) {
            var creator = found.map(there -> there.stat().getEphemeralOwner()).orElse(0L);
            if (found.isPresent() && creator == joined.id() && !isExpired()) {
                var token = found.get().stat().getCzxid();
                joined(new OwnNode(nameOf(path), path, joined.id(), token, joined.generation()));
            } else if (found.isPresent() && creator == nodes.session().state().id()) {
                discard(path); // made in a later session than we had seen
            } else {
                nothingAt(); // of another session of ours, it goes by itself
            }
        } else if (node != null
                && phase == Phase.THERE
                && found.map(NodeRequests.Node::stat).filter(node::is).isEmpty()) {
            owner.vanished(); // what is written to it, by whomever, concerns nobody
        }
    }

    private void ownUnanswered(String path, Throwable error) {
        if (phase == Phase.THERE) {
            owner.refused(error);
        } else if (isExpired()) {
            nothingAt();
        } else {
            owner.refused(error);
            if (ZooKeeperErrors.code(error) == Code.NOAUTH) {
                discard(path); // nobody can stand with it, nor lead behind it
            } else {
                later(this::look);
            }
        }
    }

    private void discard(String path) {
        unwatch();
        NodeRequests.then(loop, nodes.requests().delete(path, -1), (deleted, error) -> {
            if (error == null) {
                nothingAt();
            } else if (owner.refused(error)) {
                leaveBehind(null);
            } else {
                later(() -> confirm(path));
            }
        });
    }

    private void nothingAt() {
        unwatch();
        forgetMade();
        notJoined();
    }

    /** One who looks for a node that nobody knows may find it from now on. */
    private void forgetMade() {
        if (made != null) {
            OwnNode.forget(joined.id(), made);
            made = null;
        }
    }

    private void joined(OwnNode arrived) {
        node = arrived;
        made = null;
        stood = true;
        stuck = false;
        phase = Phase.THERE;
        unshown = !created.equals(data);
        writeIfUnshown();
        if (!wanted) {
            takeBack();
        } else if (Paths.isUsedUp(arrived.name())) {
            owner.refused(new ElectionException("the numbers of nodes in " + nodes.path() + " on "
                    + nodes.session().where() + " are used up, and without them a queue has no order: delete the"
                    + " election, and stand again. Its tokens go on rising"));
        } else {
            removeFormer();
            owner.arrived(arrived);
        }
    }

    /** Nothing was created. */
    private void failed(@Nullable Throwable error) {
        if (error != null) {
            owner.refused(error);
        }
        notJoined();
    }

    /** We could not join, and left nothing behind. */
    private void notJoined() {
        if (wanted) {
            out();
            later(this::joinIfWanted);
        } else {
            settled(null);
        }
    }

    /** The election is over: told when we have nothing there. */
    private void ended() {
        wanted = false;
        out();
        owner.ended();
        owner.settled(null, confirmed()); // it may have been told to leave meanwhile
    }

    private boolean isExpired() {
        return nodes.session().state().generation() != joined.generation();
    }

    // ---------------------------------------------------------------- leaving

    private void takeBack() {
        cancelTimer();
        unwatch();
        var again = phase == Phase.LEAVING;
        phase = Phase.LEAVING;
        var mine = node;
        if (mine == null || isOfEarlierSession(mine)) {
            lost();
            return;
        }
        // we had it in sight until now; if we could not delete it then, it may be gone meanwhile
        var deletion = again ? nodes.delete(mine) : nodes.requests().delete(mine.path(), -1);
        NodeRequests.then(loop, deletion, (deleted, error) -> {
            if (!mine.equals(node) || phase != Phase.LEAVING) {
                return;
            }
            if (error == null) {
                forget();
                settled(mine);
            } else if (owner.refused(error)) {
                leaveBehind(mine);
            } else {
                later(this::takeBack);
            }
        });
    }

    /**
     * We may not delete our node, or not look for it, and wait no longer for that: if the session lives on, it is taken
     * away behind us once we may.
     */
    private void leaveBehind(@Nullable OwnNode mine) {
        stuck = true;
        wanted = false;
        unwatch();
        node = null; // still known to be ours: no other candidacy of the session takes it for the one that it made
        forgetMade();
        Orphans.cleanUp(nodes, created, mine);
        settled(null);
    }

    /**
     * Takes the node away that we had in the session before, if it is still there. We stand again, so that nothing
     * rests on it: the mandate under it has ended, and the work as well. If there is no answer, that is asked again
     * when there is a connection.
     */
    private void removeFormer() {
        var before = former;
        if (before != null && node != null) {
            NodeRequests.then(loop, nodes.delete(before), (deleted, error) -> {
                if (before.equals(former) && error == null) {
                    former = null;
                }
            });
        }
    }

    private boolean isOfEarlierSession(OwnNode mine) {
        return mine.generation() != nodes.session().state().generation();
    }

    private void forget() {
        unwatch();
        if (node != null) {
            node.forget();
        }
        node = null;
    }

    private void unwatch() {
        if (own != null) {
            own.endGone();
            own = null;
        }
    }

    /** We have nothing there, or nothing that we can reach. */
    private void settled(@Nullable OwnNode deleted) {
        out();
        owner.settled(deleted, confirmed());
        joinIfWanted();
    }

    private void out() {
        cancelTimer();
        done.end();
        phase = Phase.OUT;
    }

    private boolean confirmed() {
        return former == null && !stuck;
    }

    // ---------------------------------------------------------------- small things

    private void later(Runnable turn) {
        cancelTimer();
        timer = loop.at(loop.clock().nanos() + retry.toNanos(), turn);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }
}
