package dev.bellwether.zookeeper;

import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Where a candidate stands in the queue: looks, and while others stand before it, watches the nearest of them and
 * nobody else, so that one departure wakes one candidate.
 *
 * <p>Confined to the loop. Heeds no answer any more once it rests: two listings may be under way at one time, and when
 * the first has granted the seat, or the seat was given up, the second must not grant it again.
 */
final class Place {
    private final QueueSeat seat;
    private final Nodes nodes;
    private final Runnable onPredecessor;
    /**
     * The zxid that made the election's node when we first joined; 0 before that. If another stands there, ours was
     * deleted.
     */
    private long era;

    private @Nullable OwnNode sought;
    private @Nullable String predecessor;

    Place(QueueSeat seat, Nodes nodes) {
        this.seat = seat;
        this.nodes = nodes;
        onPredecessor = nodes.onLoop(this::look);
    }

    /** Returns the zxid of the node of the election that we stand in; 0 if we never stood. */
    long era() {
        return era;
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
        nodes.then(nodes.requests().children(nodes.election(), null), (children, error) -> {
            if (!mine.equals(sought)) {
                return;
            }
            if (children == null) {
                seat.troubled(error);
            } else {
                find(mine, children);
            }
        });
    }

    private void find(OwnNode mine, SingleRequests.Children children) {
        var queue = Paths.queue(children.names());
        var place = queue.indexOf(mine.name());
        var present = children.stat().getCzxid();
        if (place < 0) {
            seat.vanished();
        } else if ((era != 0 && era != present) || children.names().contains(Paths.DONE)) {
            seat.electionOver();
        } else {
            era = present;
            if (place == 0) {
                watch(null);
                seat.first();
            } else {
                follow(mine, nodes.candidate(queue.get(place - 1)));
            }
        }
    }

    private void follow(OwnNode mine, String path) {
        watch(path);
        nodes.then(nodes.requests().data(path, nodes.watches().watcher(path)), (read, error) -> {
            if (!mine.equals(sought) || !path.equals(predecessor)) {
                return;
            }
            if (read != null) {
                seat.follows(NodeData.of(read.text()).candidate());
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                look();
            } else {
                seat.troubled(error);
            }
        });
    }

    private void watch(@Nullable String path) {
        var before = predecessor;
        predecessor = path;
        if (before != null && !before.equals(path)) {
            nodes.watches().unlisten(before, onPredecessor);
        }
        if (path != null) {
            nodes.watches().listen(path, onPredecessor);
        }
    }
}
