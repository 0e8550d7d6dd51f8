package dev.bellwether.zookeeper;

import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Hears what others do to the nodes that concern one candidate: that its own is deleted, that the election ends, that
 * it is to stand down.
 *
 * <p>Confined to the loop. A watch tells once that something has changed, and is set anew by the request that finds out
 * what. If that one is lost with its connection, it is sent again on the next.
 */
final class Notices {
    private final QueueSeat seat;
    private final Nodes nodes;
    private final Runnable onOwn;
    private final Runnable onDone;
    private final Runnable onOrder;
    private @Nullable OwnNode own;
    private boolean endUnread;
    private boolean orderUnread;

    Notices(QueueSeat seat, Nodes nodes) {
        this.seat = seat;
        this.nodes = nodes;
        onOwn = nodes.onLoop(this::checkOwn);
        onDone = nodes.onLoop(this::readEnd);
        onOrder = nodes.onLoop(this::readOrder);
    }

    /** Listens for the end of the election; whoever tries to join sets the watch. */
    void awaitEnd() {
        nodes.watches().listen(nodes.done(), onDone);
    }

    /** Does not care for the end of the election any more. */
    void ignoreEnd() {
        nodes.watches().unlisten(nodes.done(), onDone);
    }

    /** Listens for what befalls this node, which is watched already. */
    void attend(OwnNode node) {
        own = node;
        nodes.watches().listen(node.path(), onOwn);
    }

    /** Listens for orders, from the next {@link #readOrder}. */
    void awaitOrders() {
        nodes.watches().listen(nodes.standDown(), onOrder);
    }

    /** The node is given up or gone: what befalls it, and what is ordered, concerns us no more. */
    void rest() {
        var before = own;
        own = null;
        endUnread = false;
        orderUnread = false;
        if (before != null) {
            nodes.watches().gone(before.path(), onOwn);
            nodes.watches().unlisten(nodes.standDown(), onOrder);
        }
    }

    /** Asks again for what was not answered. */
    void readUnread() {
        if (endUnread) {
            readEnd();
        }
        if (orderUnread) {
            readOrder();
        }
    }

    /** Whether our node is still there. */
    void checkOwn() {
        var mine = own;
        if (mine == null) {
            return;
        }
        var watcher = nodes.watches().watcher(mine.path());
        nodes.then(nodes.requests().data(mine.path(), watcher), (read, error) -> {
            if (!mine.equals(own) || error == null) {
                return; // written to, by whomever: that concerns nobody
            }
            if (ZooKeeperErrors.code(error) == Code.NONODE) {
                seat.vanished();
            } else {
                seat.troubled(error);
            }
        });
    }

    private void readEnd() {
        var mine = own;
        if (mine == null) {
            return;
        }
        endUnread = false;
        var watcher = nodes.watches().watcher(nodes.done());
        nodes.then(nodes.requests().exists(nodes.done(), watcher), (stat, error) -> {
            if (!mine.equals(own)) {
                return;
            }
            if (stat == null) {
                endUnread = true;
                seat.troubled(error);
            } else if (stat.isPresent()) {
                seat.electionOver();
            }
        });
    }

    /** Whether an operator wants us to stand down. */
    void readOrder() {
        var mine = own;
        if (mine == null) {
            return;
        }
        orderUnread = false;
        var watcher = nodes.watches().watcher(nodes.standDown());
        nodes.then(nodes.requests().exists(nodes.standDown(), watcher), (stat, error) -> {
            if (!mine.equals(own)) {
                return;
            }
            if (stat == null) {
                orderUnread = true;
                seat.troubled(error);
            } else if (stat.isPresent()) {
                readName(mine);
            }
        });
    }

    private void readName(OwnNode mine) {
        nodes.then(nodes.requests().data(nodes.standDown(), null), (read, error) -> {
            if (!mine.equals(own)) {
                return;
            }
            if (read == null) {
                orderUnread = error != null && ZooKeeperErrors.code(error) != Code.NONODE; // else it was taken back
                seat.troubled(error);
            } else if (read.text().equals(mine.name())) {
                seat.orderedToStandDown();
            } else if (seat.leads()) { // it named one who is gone
                nodes.then(
                        nodes.requests().delete(nodes.standDown(), read.stat().getVersion()), (deleted, failure) -> {});
            }
        });
    }
}
