package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the node of a creation whose answer was lost, and takes away what a candidacy has left behind. Such a node
 * belongs to our session, holds what we wrote, and nobody here knows it.
 *
 * <p>That it is not found means that there is none and will be none: what we had sent over the lost connection has
 * either been carried out before our server catches up, or is refused, since the session has moved to another server.
 */
final class Orphans {
    private static final Logger log = LoggerFactory.getLogger(Orphans.class);

    private Orphans() {}

    /** Returns the paths of such nodes; fails if it cannot be told. The caller takes one of them. */
    static CompletableFuture<List<String>> find(ElectionNodes nodes, long owner, NodeData data) {
        var session = nodes.session();
        var breaks = session.state().breaks();
        return nodes.requests()
                .sync(nodes.path())
                .thenCompose(synced -> nodes.requests().children(nodes.path(), null))
                .thenCompose(children -> {
                    var paths = Paths.queue(children.names()).stream()
                            .map(nodes::candidate)
                            .toList();
                    return new NodeReader(nodes.requests())
                            .read(paths, stat -> stat.getEphemeralOwner() == owner)
                            .thenApply(read -> unknown(owner, data, paths, read));
                })
                .thenApply(found -> {
                    if (found.isEmpty() && session.state().breaks() != breaks) {
                        throw new IllegalStateException("the connection broke while we looked");
                    }
                    return found;
                });
    }

    private static List<String> unknown(
            long owner, NodeData data, List<String> paths, List<Optional<NodeRequests.Node>> nodes) {
        var text = data.text();
        return IntStream.range(0, paths.size())
                .filter(i ->
                        nodes.get(i).filter(node -> node.text().equals(text)).isPresent())
                .mapToObj(paths::get)
                .filter(path -> !OwnNode.isTaken(owner, path))
                .toList();
    }

    /**
     * Takes away what a candidacy has left in a session that lives on without it: its elections were closed while there
     * was no connection, or it may not delete its node. Without a node, one may have been created for all that we know.
     * Tries on each connection, and each second while there is one, on any thread, until it is done or the session has
     * expired.
     */
    static void cleanUp(ElectionNodes nodes, NodeData data, @Nullable OwnNode node) {
        var cleanup = new NodeCleanup(nodes, data, node);
        nodes.session().onConnect(cleanup);
        cleanup.run();
    }

    private static final class NodeCleanup implements Runnable {
        private final ElectionNodes nodes;
        private final NodeSession.State began;
        private final NodeData data;
        private final @Nullable OwnNode node;
        private final AtomicBoolean over = new AtomicBoolean();
        private final AtomicBoolean comesAgain = new AtomicBoolean();
        private final AtomicBoolean told = new AtomicBoolean();

        private NodeCleanup(ElectionNodes nodes, NodeData data, @Nullable OwnNode node) {
            this.nodes = nodes;
            began = nodes.session().state();
            this.data = data;
            this.node = node;
        }

        @Override
        public void run() {
            if (over.get()) {
                return;
            }
            var generation = node == null ? began.generation() : node.generation();
            if (nodes.session().state().generation() != generation) {
                end();
                return;
            }
            var present = began.id() == 0 ? nodes.session().state().id() : began.id();
            if (node == null && present == 0) {
                return; // a creation waits for the session, and we do, too
            }
            NodeRequests.whenDone(sweep(present), (done, error) -> {
                if (error == null || ZooKeeperErrors.code(error) == Code.NONODE) {
                    end();
                    return;
                }
                ZooKeeperErrors.refusal(error, nodes.session().where()).ifPresent(this::refused);
                if (nodes.session().state().id() != 0) { // else it is tried on the next connection, if there is one
                    again();
                }
            });
        }

        /** What cannot even be asked, for lack of memory, has failed as well. */
        private CompletableFuture<Boolean> sweep(long session) {
            try {
                return node == null
                        ? find(nodes, session, data).thenCompose(found -> deleteOne(session, found))
                        : nodes.delete(node);
            } catch (Throwable e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        private void end() {
            if (over.compareAndSet(false, true)) {
                nodes.session().offConnect(this);
                if (node != null) {
                    node.forget();
                }
            }
        }

        private void refused(ElectionException refusal) {
            if (told.compareAndSet(false, true)) {
                log.warn(
                        "What a candidacy has left behind cannot be deleted: {}. Nobody can lead while it is the first"
                                + " of the queue of {}. Trying again each second until this session ends",
                        refusal.getMessage(),
                        nodes.path());
            }
        }

        private void again() {
            if (comesAgain.compareAndSet(false, true)) {
                try {
                    nodes.session().soon(() -> {
                        comesAgain.set(false);
                        run();
                    });
                } catch (RuntimeException | Error e) { // for lack of memory: it comes again with the next connection
                    comesAgain.set(false);
                    throw e;
                }
            }
        }

        private CompletableFuture<Boolean> deleteOne(long owner, List<String> found) {
            var path = OwnNode.takeOne(owner, found);
            return path.isEmpty()
                    ? CompletableFuture.completedFuture(false)
                    : nodes.requests()
                            .delete(path.get(), -1)
                            .whenComplete((deleted, error) -> OwnNode.forget(owner, path.get()));
        }
    }
}
