package dev.bellwether.zookeeper;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.zookeeper.data.Stat;

/**
 * Reads many nodes, however many and however large, without an answer that is too large for the client: that would
 * break the connection ({@code jute.maxbuffer}), and with it every proof that is under way on it. Looks at their sizes
 * first, then reads in parts.
 *
 * <p>Thread-safe.
 */
final class NodeReader {
    /** Bytes of data, and of paths, in one exchange: of the megabyte that it may have. */
    private static final int PART_BYTES = 200_000;
    /** What an answer takes for a node besides its data. */
    private static final int NODE_BYTES = 128;
    /** Data beyond this is none of ours: an id, a priority and metadata take less. */
    private static final int LARGEST_BYTES = 50_000;
    /** How many questions for sizes are under way at a time. */
    private static final int STATS = 200;

    private final NodeRequests requests;

    NodeReader(NodeRequests requests) {
        this.requests = requests;
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
        var found = new ArrayList<Optional<NodeRequests.Node>>(
                paths.stream().map(path -> Optional.<NodeRequests.Node>empty()).toList());
        return sizes(paths, 0, new ArrayList<>()).thenCompose(sized -> {
            var small = new ArrayList<Sized>();
            for (var node : sized) {
                var bytes = node.stat().getDataLength();
                if (wanted.test(node.stat())) {
                    if (bytes <= LARGEST_BYTES) {
                        small.add(node);
                    } else {
                        found.set(
                                node.index(),
                                Optional.of(new NodeRequests.Node("data of " + bytes + " bytes", node.stat())));
                    }
                }
            }
            return data(small, 0, found).thenApply(done -> List.copyOf(found));
        });
    }

    private CompletableFuture<List<Sized>> sizes(List<String> paths, int from, List<Sized> so) {
        if (from >= paths.size()) {
            return CompletableFuture.completedFuture(so);
        }
        var to = Math.min(paths.size(), from + STATS);
        var stats = IntStream.range(from, to)
                .mapToObj(i -> requests.exists(paths.get(i), null))
                .toList();
        return CompletableFuture.allOf(stats.toArray(CompletableFuture[]::new)).thenCompose(done -> {
            for (var i = from; i < to; i++) {
                var index = i;
                stats.get(i - from).join().ifPresent(stat -> so.add(new Sized(index, paths.get(index), stat)));
            }
            return sizes(paths, to, so);
        });
    }

    private CompletableFuture<Boolean> data(List<Sized> nodes, int from, List<Optional<NodeRequests.Node>> found) {
        if (from >= nodes.size()) {
            return CompletableFuture.completedFuture(true);
        }
        var to = from + 1;
        var bytes = nodes.get(from).bytes();
        while (to < nodes.size() && bytes + nodes.get(to).bytes() <= PART_BYTES) {
            bytes += nodes.get(to).bytes();
            to++;
        }
        var part = nodes.subList(from, to);
        var next = to;
        return requests.read(part.stream().map(Sized::path).toList()).thenCompose(read -> {
            for (var i = 0; i < read.size(); i++) {
                found.set(part.get(i).index(), read.get(i));
            }
            return data(nodes, next, found);
        });
    }
}
