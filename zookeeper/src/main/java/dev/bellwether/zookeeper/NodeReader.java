package dev.bellwether.zookeeper;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;

/**
 * Reads many nodes, however many and however large, without an answer that is too large for the client: that would
 * break the connection ({@code jute.maxbuffer}), and with it every proof that is under way on it. Looks at their sizes
 * first, then reads in parts.
 *
 * <p>Thread-safe.
 */
final class NodeReader {
    /** What an answer takes for a node besides its data. */
    private static final int NODE_BYTES = 128;
    /** Data beyond this is none of ours: an id, a priority and metadata take less. */
    private static final int LARGEST_BYTES = 50_000;
    /** How many questions for sizes are under way at a time. */
    private static final int STATS = 200;

    private final NodeRequests requests;
    private final boolean leavesOut;

    /** Reads nodes, and fails if a server does not tell us the size of one; older ones tell that to anybody. */
    NodeReader(NodeRequests requests) {
        this(requests, false);
    }

    private NodeReader(NodeRequests requests, boolean leavesOut) {
        this.requests = requests;
        this.leavesOut = leavesOut;
    }

    /** Returns one that leaves out those whose sizes it is not told. */
    static NodeReader leavingOut(NodeRequests requests) {
        return new NodeReader(requests, true);
    }

    private record Sized(int index, String path, Stat stat) {
        private int bytes() {
            return NODE_BYTES + stat.getDataLength() + 3 * path.length();
        }
    }

    /**
     * Returns those nodes that are wanted, each at its place; empty for those that are not there, not wanted, or not
     * for us to read. In place of data that is too large, what is said of it.
     */
    CompletableFuture<List<Optional<NodeRequests.Node>>> read(List<String> paths, Predicate<Stat> wanted) {
        var found = new ArrayList<>(Collections.nCopies(paths.size(), Optional.<NodeRequests.Node>empty()));
        return sizes(paths).thenCompose(sized -> {
            var small = new ArrayList<Sized>();
            for (var node : sized) {
                var bytes = node.stat().getDataLength();
                if (wanted.test(node.stat()) && bytes <= LARGEST_BYTES) {
                    small.add(node);
                } else if (wanted.test(node.stat())) {
                    var said = new NodeRequests.Node("data of " + bytes + " bytes", node.stat());
                    found.set(node.index(), Optional.of(said));
                }
            }
            return inTurn(NodeRequests.parts(small, Sized::bytes), part -> data(part, found))
                    .thenApply(done -> List.copyOf(found));
        });
    }

    private CompletableFuture<List<Sized>> sizes(List<String> paths) {
        var sized = new ArrayList<Sized>();
        var all = IntStream.range(0, paths.size()).boxed().toList();
        var parts = IntStream.iterate(0, from -> from < all.size(), from -> from + STATS)
                .mapToObj(from -> all.subList(from, Math.min(all.size(), from + STATS)))
                .toList();
        return inTurn(parts, part -> sizes(paths, part, sized)).thenApply(done -> sized);
    }

    private CompletableFuture<Void> sizes(List<String> paths, List<Integer> part, List<Sized> sized) {
        var stats = part.stream()
                .map(i -> stat(paths.get(i))
                        .thenAccept(stat -> stat.ifPresent(there -> {
                            synchronized (sized) {
                                sized.add(new Sized(i, paths.get(i), there));
                            }
                        })))
                .toArray(CompletableFuture[]::new);
        return CompletableFuture.allOf(stats);
    }

    private CompletableFuture<Optional<Stat>> stat(String path) {
        return requests.exists(path, null)
                .exceptionallyCompose(error -> leavesOut && ZooKeeperErrors.code(error) == Code.NOAUTH
                        ? CompletableFuture.completedFuture(Optional.empty())
                        : CompletableFuture.failedFuture(error));
    }

    private CompletableFuture<Void> data(List<Sized> part, List<Optional<NodeRequests.Node>> found) {
        return requests.read(part.stream().map(Sized::path).toList()).thenAccept(read -> {
            for (var i = 0; i < read.size(); i++) {
                found.set(part.get(i).index(), read.get(i));
            }
        });
    }

    /** Asks for one part when the one before is there. */
    private static <T> CompletableFuture<Void> inTurn(List<T> parts, Function<T, CompletableFuture<Void>> asking) {
        CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
        for (var part : parts) {
            last = last.thenCompose(before -> asking.apply(part));
        }
        return last;
    }
}
