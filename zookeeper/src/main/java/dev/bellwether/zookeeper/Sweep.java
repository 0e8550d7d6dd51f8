package dev.bellwether.zookeeper;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Takes away what a candidacy has left in a session that lives on without it: its elections were closed while there was
 * no connection. Tries on each connection, until it is done or the session has expired.
 *
 * <p>Thread-safe: runs on the client's event thread.
 */
final class Sweep implements Runnable {
    private final SeatSession session;
    private final long generation;
    private final long owner;
    private final String election;
    private final NodeData data;
    private final @Nullable OwnNode node;

    /** Without a node, one may have been created for all that we know. */
    Sweep(SeatSession session, String election, NodeData data, @Nullable OwnNode node) {
        this.session = session;
        this.election = election;
        this.data = data;
        this.node = node;
        generation = session.generation();
        owner = session.client().sessionId();
    }

    void begin() {
        session.onConnect(this);
        run();
    }

    @Override
    public void run() {
        if (session.generation() != generation) {
            session.offConnect(this);
            if (node != null) {
                node.forget();
            }
            return;
        }
        var found = node == null
                ? Orphans.find(session, owner, election, data)
                : CompletableFuture.completedFuture(Optional.of(node.path()));
        SingleRequests.whenDone(found.thenCompose(this::delete), (done, error) -> {
            if (error == null || ZooKeeperErrors.code(error) == Code.NONODE) {
                session.offConnect(this);
            }
        });
    }

    private CompletableFuture<Boolean> delete(Optional<String> path) {
        return path.isEmpty()
                ? CompletableFuture.completedFuture(false)
                : session.requests()
                        .delete(path.get(), -1)
                        .whenComplete((deleted, error) -> OwnNode.forget(owner, path.get()));
    }
}
