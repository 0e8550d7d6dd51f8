package dev.bellwether.zookeeper;

import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;

/**
 * One try to join a queue: ends by telling the seat either that it has a node, or that there is none.
 *
 * <p>Confined to the loop. A creation is sent once. If its answer is lost, we look for the node, and know in the end: so no node of
 * ours is ever left that we do not know of.
 */
final class Joining {
    private final QueueSeat seat;
    private final Session session;
    private final ZooKeeperArbiter arbiter;
    private final int number;
    private final String election;
    /** The session in which we create: known only when it has answered something. */
    private long generation;

    private long owner;
    private boolean cancelled;

    Joining(QueueSeat seat, Session session, ZooKeeperArbiter arbiter, int number) {
        this.seat = seat;
        this.session = session;
        this.arbiter = arbiter;
        this.number = number;
        election = seat.electionPath();
    }

    /** Looks whether the election is over, with a watch that will tell. */
    void begin() {
        seat.then(session.requests().exists(seat.done(), session.watches().watcher(seat.done())), (stat, error) -> {
            if (stat == null) {
                failed(error);
            } else if (stat.isPresent()) {
                over();
            } else if (cancelled) {
                seat.notJoined();
            } else {
                create();
            }
        });
    }

    /** Nobody joins now. Is it over for good, or on its way to be deleted, after which it may begin afresh? */
    private void over() {
        seat.then(session.requests().data(seat.done(), null), (read, error) -> {
            if (read == null) {
                failed(error);
            } else if (seat.era() == 0 && Orders.isDeletion(read.text())) {
                seat.then(Orders.tidy(session, election), (done, failure) -> seat.notJoined());
            } else {
                seat.overBeforeJoining();
            }
        });
    }

    private void create() {
        generation = session.generation();
        owner = session.id();
        var creation = session.creation(
                CreateMode.EPHEMERAL_SEQUENTIAL,
                election + '/' + Paths.CANDIDATE,
                seat.data().text());
        seat.then(session.requests().all(List.of(creation)), (results, error) -> {
            if (results != null && results.get(0) instanceof OpResult.CreateResult created) {
                created(created.getPath());
                return;
            }
            switch (error == null ? Code.CONNECTIONLOSS : Failures.code(error)) {
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
        var path =
                election + answered.substring(answered.lastIndexOf('/')); // a chroot stands before it, in some versions
        if (OwnNode.take(owner, path)) {
            confirm(path);
        } else {
            resolve(); // one who had lost his answer took ours for his
        }
    }

    private void makeElection() {
        if (seat.era() != 0) {
            seat.overBeforeJoining(); // it was there when we first stood: somebody has deleted it
        } else if (arbiter.config().createElections()) {
            seat.then(arbiter.make(session, election), (made, error) -> {
                if (error != null) {
                    failed(error);
                } else if (cancelled) {
                    seat.notJoined();
                } else {
                    create();
                }
            });
        } else {
            seat.failed(arbiter.missing(election));
            seat.notJoined();
        }
    }

    /** We do not know whether there is a node of ours: look. */
    private void resolve() {
        if (isExpired()) {
            seat.notJoined();
            return;
        }
        seat.then(Orphans.find(session, owner, election, seat.data()), (found, error) -> {
            if (found != null) {
                found.ifPresentOrElse(this::confirm, seat::notJoined);
            } else if (error != null && Failures.code(error) == Code.NONODE) {
                seat.notJoined();
            } else {
                later(this::resolve);
            }
        });
    }

    /** There is a node of ours: learn its zxid, and have it watched. */
    private void confirm(String path) {
        if (isExpired()) {
            nothingAt(path);
            return;
        }
        seat.then(session.requests().data(path, session.watches().watcher(path)), (read, error) -> {
            if (read != null && read.stat().getEphemeralOwner() == owner) {
                var name = path.substring(path.lastIndexOf('/') + 1);
                seat.joined(number, new OwnNode(name, path, owner, read.stat().getCzxid(), generation));
            } else if (read != null || (error != null && Failures.code(error) == Code.NONODE)) {
                nothingAt(path); // of another session of ours, it goes by itself
            } else {
                later(() -> confirm(path));
            }
        });
    }

    private void nothingAt(String path) {
        OwnNode.forget(owner, path);
        seat.notJoined();
    }

    /** Nothing was created. */
    private void failed(@Nullable Throwable error) {
        if (error != null) {
            Failures.fatal(error, session.where()).ifPresent(seat::failed);
        }
        seat.notJoined();
    }

    /** The seat does not want a node any more; it will hear when that is so. */
    void cancel() {
        cancelled = true;
    }

    private boolean isExpired() {
        return session.generation() != generation;
    }

    private void later(Runnable step) {
        seat.loop().at(seat.loop().clock().nanos() + seat.retryInterval().toNanos(), step);
    }
}
