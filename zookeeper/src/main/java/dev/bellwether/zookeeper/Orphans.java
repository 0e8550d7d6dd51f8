package dev.bellwether.zookeeper;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Finds the node of a creation whose answer was lost: it belongs to our session, holds what we wrote, and nobody here
 * knows it.
 *
 * <p>That it is not found means that there is none and will be none: what we had sent over the lost connection has
 * either been carried out before our server catches up, or is refused, since the session has moved to another server.
 */
final class Orphans {
    private Orphans() {}

    /** Returns the path of such a node, which is now taken; fails if it cannot be told. */
    static CompletableFuture<Optional<String>> find(SeatSession session, long owner, String election, NodeData data) {
        var breaks = session.breaks();
        return session.requests()
                .sync(election)
                .thenCompose(synced -> session.requests().children(election, null))
                .thenCompose(children -> {
                    var paths = Paths.queue(children.names()).stream()
                            .map(name -> election + '/' + name)
                            .toList();
                    return new NodeReader(session.requests())
                            .read(paths, stat -> stat.getEphemeralOwner() == owner)
                            .thenApply(nodes -> first(owner, data, paths, nodes));
                })
                .thenApply(found -> {
                    if (found.isEmpty() && session.breaks() != breaks) {
                        throw new IllegalStateException("the connection broke while we looked");
                    }
                    return found;
                });
    }

    private static Optional<String> first(
            long owner, NodeData data, List<String> paths, List<Optional<SingleRequests.Node>> nodes) {
        var text = data.text();
        return IntStream.range(0, paths.size())
                .filter(i ->
                        nodes.get(i).filter(node -> node.text().equals(text)).isPresent())
                .mapToObj(paths::get)
                .filter(path -> OwnNode.take(owner, path))
                .findFirst();
    }
}
