package dev.bellwether.zookeeper;

import dev.bellwether.spi.Loop;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.ToIntFunction;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * What one session may ask of the nodes of an ensemble: each request is sent once, and answered once or never. An error
 * is one that {@link ZooKeeperErrors#code} knows.
 */
interface NodeRequests {
    /** Bytes of paths and data in one exchange: of the megabyte that it may have. */
    int PART_BYTES = 200_000;

    /** A node with what is written there; whatever is no text comes out as some other. */
    record Node(String text, Stat stat) {
        static Node of(byte @Nullable [] data, Stat stat) {
            return new Node(data == null ? "" : new String(data, StandardCharsets.UTF_8), stat);
        }
    }

    /** The children of a node, with its own state. */
    record Children(List<String> names, Stat stat) {}

    /**
     * Returns the node's state, or empty if there is none; with a watcher, either way, that is told of the next change.
     */
    CompletableFuture<Optional<Stat>> exists(String path, @Nullable Watcher watcher);

    /** Returns the node with its data; with a watcher, if there is a node, that is told of the next change. */
    CompletableFuture<Node> data(String path, @Nullable Watcher watcher);

    /** Reads all these nodes at one time; those that are not there, or not for us to read, come out empty. */
    CompletableFuture<List<Optional<Node>>> read(List<String> paths);

    /** Returns the children of a node; with a watcher, that is told of the next one to come or go. */
    CompletableFuture<Children> children(String path, @Nullable Watcher watcher);

    /** Returns what the server says of its ensemble: outside of any chroot. */
    CompletableFuture<String> ensemble();

    /** Has the server catch up with the leader of the ensemble. */
    CompletableFuture<Boolean> sync(String path);

    /** Makes a node; returns its path, which a sequential one learns only so. */
    CompletableFuture<String> create(CreateMode mode, String path, String text);

    /** Deletes a node; returns false if there was none. */
    CompletableFuture<Boolean> delete(String path, int version);

    /** Does all of it or nothing, in one transaction of the ensemble. If nothing, fails as the first that failed. */
    CompletableFuture<List<OpResult>> all(List<Op> operations);

    /** Forgets all watches of one path, here and at the server; whether there were any does not matter. */
    void unwatch(String path);

    /** Writes to a node that is there. */
    default CompletableFuture<Boolean> write(String path, String text, int version) {
        return all(List.of(Op.setData(path, text.getBytes(StandardCharsets.UTF_8), version)))
                .thenApply(set -> true);
    }

    /** Splits what is asked of the servers so that each part fits into a request, and its answer into an answer. */
    static <T> List<List<T>> parts(List<T> all, ToIntFunction<T> bytes) {
        var parts = new ArrayList<List<T>>();
        var from = 0;
        var sum = 0;
        for (var i = 0; i < all.size(); i++) {
            var size = bytes.applyAsInt(all.get(i));
            if (sum + size > PART_BYTES && i > from) {
                parts.add(all.subList(from, i));
                from = i;
                sum = 0;
            }
            sum += size;
        }
        parts.add(all.subList(from, all.size()));
        return parts;
    }

    /** Does this when the answer is there: with the value, or with the error. */
    // what the turn throws is the concern of anybody who runs it
    @SuppressWarnings("FutureReturnValueIgnored")
    static <T> void whenDone(CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        answer.whenComplete(turn);
    }

    /** Takes this turn on the loop when the answer is there: with the value, or with the error. */
    static <T> void then(Loop loop, CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        whenDone(answer, (value, error) -> {
            try {
                loop.execute(() -> turn.accept(value, error));
            } catch (Throwable fault) { // on the client's thread, without memory: the candidates must hear of it
                loop.execute(() -> {
                    throw new IllegalStateException("an answer was lost on its way to the loop", fault);
                });
            }
        });
    }

    /** Returns this value in place of the error that there is no such node. */
    static <T> CompletableFuture<T> ifMissing(CompletableFuture<T> answer, T otherwise) {
        return answer.exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                ? CompletableFuture.completedFuture(otherwise)
                : CompletableFuture.failedFuture(error));
    }
}
