package dev.bellwether.zookeeper;

import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Standing;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the note of a hand-over in sight, for one candidate with a node in the queue, and says what it is to do.
 *
 * <p>Confined to the loop. The queue decides who is next: so those who stand before the candidate that is ready go
 * behind it, and the leader hands over when that one is right behind it, or not at all.
 */
final class HandOverWatch {
    /** Who is told what to do. */
    interface Owner {
        /** Get ready for the seat of this leader. */
        void prepare(HandOverNote order, String leader);

        /** Queue again, behind all others. */
        void goBehind();

        /** We lead, and the one that is ready is next: stand down. */
        void handOver();
    }

    private static final long LOOK_NANOS = 20_000_000L;

    private final Owner owner;
    private final ElectionNodes nodes;
    private final Loop loop;
    private final Standing standing;
    private final NodeWatch watch;
    private @Nullable OwnNode own;
    private boolean leads;
    private Optional<NodeRequests.Node> found = Optional.empty();
    /** The last order for which we were told what to do. */
    private String obeyed = "";
    /** While we lead: until when the order is to be carried out, and which that is. */
    private String awaited = "";

    private long awaitedUntilNanos;
    private Loop.@Nullable Timer timer;

    HandOverWatch(Owner owner, ElectionNodes nodes, Loop loop, Standing standing, Consumer<Throwable> unanswered) {
        this.owner = owner;
        this.nodes = nodes;
        this.loop = loop;
        this.standing = standing;
        watch = new NodeWatch(
                nodes.session(), loop, nodes.handOver(), NodeWatch.Usually.MISSING, this::seen, unanswered);
    }

    /** We have this node, and wait. */
    void begin(OwnNode node) {
        own = node;
        leads = false;
        watch.begin();
    }

    /** We lead, from now on. */
    void leads() {
        leads = true;
        consider();
    }

    /** We have no node, or are about to have none. */
    void end() {
        own = null;
        leads = false;
        found = Optional.empty();
        cancelTimer();
        watch.end();
    }

    void readIfUnread() {
        watch.readIfUnread();
    }

    private void seen(Optional<NodeRequests.Node> note) {
        found = note;
        consider();
    }

    private void consider() {
        cancelTimer();
        var mine = own;
        var note = found.flatMap(node -> HandOverNote.parse(ElectionNodes.noteOf(node.text())));
        if (mine == null || note.isEmpty()) {
            return;
        }
        var order = note.get();
        if (leads) {
            if (order.token() == mine.token()) {
                await(order, mine);
            } else {
                withdraw(); // of a leader before us
            }
        } else if (!obeyed.equals(order.order() + order.stage()) && concerns(order, mine)) {
            ifLed(order, leader -> {
                obeyed = order.order() + order.stage();
                if (order.isReady()) {
                    owner.goBehind();
                } else {
                    owner.prepare(order, leader);
                }
            });
        }
    }

    private boolean concerns(HandOverNote order, OwnNode mine) {
        return order.isReady() ? Paths.isBefore(mine.name(), readyNode()) : order.asks(standing.candidate());
    }

    private String readyNode() {
        return found.map(node -> ElectionNodes.readyNodeOf(node.text())).orElse("");
    }

    /** Does this if the note is for the present leader: one may have outlived the leader that it was for. */
    private void ifLed(HandOverNote order, Consumer<String> then) {
        NodeRequests.then(loop, nodes.first(), (first, error) -> {
            if (error != null && own != null && !leads) {
                askAgain();
            } else if (first != null
                    && own != null
                    && !leads
                    && first.filter(node -> node.stat().getCzxid() == order.token())
                            .isPresent()) {
                then.accept(NodeData.of(first.get().text()).candidate());
            }
        });
    }

    // ---------------------------------------------------------------- while we lead

    /** Waits until somebody is ready, and then until that one is next; not forever. */
    private void await(HandOverNote order, OwnNode mine) {
        var now = loop.clock().nanos();
        var what = order.order() + order.stage();
        var config = standing.config();
        if (!what.equals(awaited)) {
            awaited = what;
            awaitedUntilNanos = now
                    + (order.isReady()
                            ? config.lease().toNanos()
                            : order.within().toNanos() + config.renewInterval().toNanos());
        }
        if (now - awaitedUntilNanos >= 0) {
            withdraw();
        } else if (order.isReady()) {
            look(order, mine);
        } else {
            timer = loop.at(awaitedUntilNanos, this::consider);
        }
    }

    private void look(HandOverNote order, OwnNode mine) {
        NodeRequests.then(loop, nodes.requests().children(nodes.path(), null), (children, error) -> {
            if (!mine.equals(own) || !leads || !awaited.equals(order.order() + order.stage())) {
                return;
            }
            var queue = children == null ? null : Paths.queue(children.names());
            if (queue != null && queue.size() > 1 && queue.indexOf(readyNode()) == 1) {
                owner.handOver();
            } else if (queue != null && !queue.contains(readyNode())) {
                withdraw(); // it has left
            } else {
                timer = loop.at(loop.clock().nanos() + LOOK_NANOS, this::consider);
            }
        });
    }

    /** Takes the note away that was found: again and again, since nobody can order anything while it is there. */
    private void withdraw() {
        var note = found;
        note.ifPresent(present -> NodeRequests.then(loop, nodes.withdrawNote(present), (deleted, error) -> {
            if (error != null && leads && found.equals(note)) {
                askAgain();
            }
        }));
    }

    private void askAgain() {
        cancelTimer();
        timer = loop.at(loop.clock().nanos() + standing.config().retryInterval().toNanos(), this::consider);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }
}
