package dev.bellwether.zookeeper;

import dev.bellwether.spi.Loop;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a candidate stands in the queue: looks, and while others stand before it, watches the nearest of them and
 * nobody else, so that one departure wakes one candidate.
 *
 * <p>Confined to the loop. Obeys no answer any more once it rests: two listings may be under way at one time, and when
 * the first has granted the seat, or the seat was given up, the second must not grant it again.
 */
final class QueuePosition {
    private static final Logger log = LoggerFactory.getLogger(QueuePosition.class);

    /** Who is told where it stands. */
    interface Owner {
        /** Nobody is before us. */
        void first();

        /** This one is before us. */
        void follows(String candidate);

        /** Our node is not in the queue. */
        void vanished();

        /** The election is over for those who stand, or it is another one. */
        void electionOver();

        /** A request failed: this must look again. */
        void unanswered(Throwable error);
    }

    private final Owner owner;
    private final Loop loop;
    private final ElectionNodes nodes;
    private final Runnable onPredecessor;
    /**
     * The zxid that made the election's node when we first joined; 0 before that. If another stands there, ours was
     * deleted.
     */
    private long era;

    private @Nullable OwnNode sought;
    private @Nullable String predecessor;
    /** The last predecessor of which was told that no session ends it. */
    private String permanent = "";
    /** How often the session could not tell of a departure when we last looked. */
    private int untold;

    QueuePosition(Owner owner, ElectionNodes nodes, Loop loop) {
        this.owner = owner;
        this.loop = loop;
        this.nodes = nodes;
        onPredecessor = () -> loop.execute(this::look);
    }

    /** Looks where this node stands, now and whenever that may have changed. */
    void seek(OwnNode node) {
        sought = node;
        look();
    }

    /** Looks no more. */
    void rest() {
        sought = null;
        watch(null);
    }

    /** Looks again, unless at rest. */
    void look() {
        var mine = sought;
        if (mine == null) {
            return;
        }
        untold = nodes.session().watches().untold();
        NodeRequests.then(loop, nodes.requests().children(nodes.path(), null), (children, error) -> {
            if (!mine.equals(sought)) {
                return;
            }
            if (children != null) {
                find(mine, children);
            } else if (error != null) {
                owner.unanswered(error);
            }
        });
    }

    /** Looks again if we may not have been told of a departure. */
    void lookIfUntold() {
        if (untold != nodes.session().watches().untold()) {
            look();
        }
    }

    private void find(OwnNode mine, NodeRequests.Children children) {
        var queue = Paths.queue(children.names());
        var place = queue.indexOf(mine.name());
        var present = children.stat().getCzxid();
        if (place < 0) {
            owner.vanished();
        } else if ((era != 0 && era != present) || children.names().contains(Paths.DONE)) {
            owner.electionOver();
        } else {
            era = present;
            if (place == 0) {
                watch(null);
                owner.first();
            } else {
                follow(mine, nodes.candidate(queue.get(place - 1)));
            }
        }
    }

    private void follow(OwnNode mine, String path) {
        watch(path);
        var read = nodes.requests().data(path, nodes.session().watches().watcher(path));
        NodeRequests.then(loop, read, (found, error) -> {
            if (!mine.equals(sought) || !path.equals(predecessor)) {
                return;
            }
            if (found != null) {
                if (found.stat().getEphemeralOwner() == 0 && !path.equals(permanent)) {
                    permanent = path;
                    log.warn(
                            "{} is not ephemeral, as the node of a candidate is: it may be a copy. Nobody can lead"
                                    + " behind it. Delete it by hand",
                            path);
                }
                owner.follows(NodeData.of(found.text()).candidate());
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                look();
            } else if (error != null) {
                owner.unanswered(error);
            }
        });
    }

    private void watch(@Nullable String path) {
        predecessor = nodes.session().watches().move(predecessor, path, onPredecessor);
    }
}
