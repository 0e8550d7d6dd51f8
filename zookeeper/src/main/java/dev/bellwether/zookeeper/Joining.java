package dev.bellwether.zookeeper;

import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;

/**
 * One try to join a queue: ends by telling either that there is a node, or that there is none.
 *
 * <p>Confined to the loop. A creation is sent once. If its answer is lost, we look for the node, and know in the end:
 * so no node of ours is ever left that we do not know of.
 */
final class Joining {
    private final QueueSeat seat;
    private final Stay stay;
    private final Nodes nodes;
    private final SeatSession session;
    private final ZooKeeperArbiter arbiter;
    /** The session in which we create: known only when it has answered something. */
    private long generation;

    private long owner;
    private boolean cancelled;

    Joining(QueueSeat seat, Stay stay, Nodes nodes, ZooKeeperArbiter arbiter) {
        this.seat = seat;
        this.stay = stay;
        this.nodes = nodes;
        this.arbiter = arbiter;
        session = nodes.session();
    }

    /** Looks whether the election is over, with a watch that will tell. */
    void begin() {
        nodes.then(nodes.requests().exists(nodes.done(), nodes.watches().watcher(nodes.done())), (stat, error) -> {
            if (stat == null) {
                failed(error);
            } else if (stat.isPresent()) {
                over();
            } else if (cancelled) {
                stay.notJoined();
            } else {
                create();
            }
        });
    }

    /** Nobody joins now. Is it over for good, or only until all who stood have left, after which it begins afresh? */
    private void over() {
        nodes.then(nodes.requests().data(nodes.done(), null), (read, error) -> {
            if (read == null) {
                failed(error);
            } else if (seat.era() == 0 && Orders.isPassing(read.text())) {
                nodes.then(Orders.tidy(session, nodes.election()), (done, failure) -> stay.notJoined());
            } else {
                stay.overBeforeJoining();
            }
        });
    }

    private void create() {
        generation = session.generation();
        owner = session.client().sessionId();
        var creation = session.client()
                .creation(
                        CreateMode.EPHEMERAL_SEQUENTIAL,
                        nodes.candidate(Paths.CANDIDATE),
                        seat.data().text());
        nodes.then(nodes.requests().all(List.of(creation)), (results, error) -> {
            if (results != null && results.get(0) instanceof OpResult.CreateResult created) {
                created(created.getPath());
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
        var name = answered.substring(answered.lastIndexOf('/') + 1); // a chroot stands before it, in some versions
        var path = nodes.candidate(name);
        if (OwnNode.take(owner, path)) {
            confirm(path);
        } else {
            resolve(); // one who had lost his answer took ours for his
        }
    }

    private void makeElection() {
        if (seat.era() != 0) {
            stay.overBeforeJoining(); // it was there when we first stood: somebody has deleted it
        } else if (arbiter.config().createElections()) {
            nodes.then(arbiter.make(session, nodes.election()), (made, error) -> {
                if (error != null) {
                    failed(error);
                } else if (cancelled) {
                    stay.notJoined();
                } else {
                    create();
                }
            });
        } else {
            seat.failed(arbiter.missing(nodes.election()));
            stay.notJoined();
        }
    }

    /** We do not know whether there is a node of ours: look. */
    private void resolve() {
        if (isExpired()) {
            stay.notJoined();
            return;
        }
        nodes.then(Orphans.find(session, owner, nodes.election(), seat.data()), (found, error) -> {
            if (found != null) {
                found.ifPresentOrElse(this::confirm, stay::notJoined);
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                stay.notJoined();
            } else {
                later(this::resolve);
            }
        });
    }

    /** There is a node of ours: learn its zxid, and have it watched. */
    private void confirm(String path) {
        nodes.then(nodes.requests().data(path, nodes.watches().watcher(path)), (read, error) -> {
            var of = read == null ? 0 : read.stat().getEphemeralOwner();
            if (read != null && of == owner && !isExpired()) {
                var name = path.substring(path.lastIndexOf('/') + 1);
                stay.joined(new OwnNode(name, path, owner, read.stat().getCzxid(), generation));
            } else if (read != null && of == session.client().sessionId()) {
                discard(path); // made in a later session than we had seen
            } else if (read != null || isExpired() || (error != null && ZooKeeperErrors.code(error) == Code.NONODE)) {
                nothingAt(path); // of another session of ours, it goes by itself
            } else {
                later(() -> confirm(path));
            }
        });
    }

    private void discard(String path) {
        nodes.then(nodes.requests().delete(path, -1), (deleted, error) -> {
            if (error == null) {
                nothingAt(path);
            } else {
                later(() -> confirm(path));
            }
        });
    }

    private void nothingAt(String path) {
        OwnNode.forget(owner, path);
        stay.notJoined();
    }

    /** Nothing was created. */
    private void failed(@Nullable Throwable error) {
        if (error != null) {
            seat.refused(error);
        }
        stay.notJoined();
    }

    /** The seat does not want a node any more; it will hear when that is so. */
    void cancel() {
        cancelled = true;
    }

    private boolean isExpired() {
        return session.generation() != generation;
    }

    private void later(Runnable step) {
        nodes.after(seat.config().retryInterval(), step);
    }
}
