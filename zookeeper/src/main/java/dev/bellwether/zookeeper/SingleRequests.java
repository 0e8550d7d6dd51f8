package dev.bellwether.zookeeper;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.WatcherType;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * Single requests to ZooKeeper, each sent once and answered once. Curator sends a request again when its connection
 * broke; whoever counts time from a request, or must know what became of it, cannot have that.
 *
 * <p>Thread-safe. Answers come on the client's event thread, errors as {@link KeeperException}.
 */
final class SingleRequests {
    /** A node with what is written there; whatever is no text comes out as some other. */
    record Node(String text, Stat stat) {
        private static Node of(byte @Nullable [] data, Stat stat) {
            return new Node(data == null ? "" : new String(data, StandardCharsets.UTF_8), stat);
        }
    }

    /** The children of a node, with its own state. */
    record Children(List<String> names, Stat stat) {}

    /** Where to send it; throws if there is no client. */
    interface Handle {
        ZooKeeper get() throws Exception;
    }

    private interface Call<T> {
        void send(ZooKeeper zooKeeper, CompletableFuture<T> answer);
    }

    private final Handle handle;

    SingleRequests(Handle handle) {
        this.handle = handle;
    }

    /**
     * Returns the node's state, or empty if there is none; with a watcher, either way, that is told of the next change.
     */
    CompletableFuture<Optional<Stat>> exists(String path, @Nullable Watcher watcher) {
        return send((zooKeeper, answer) -> zooKeeper.exists(
                path,
                watcher,
                (rc, p, context, stat) -> {
                    if (rc == Code.NONODE.intValue()) {
                        answer.complete(Optional.empty());
                    } else {
                        settle(answer, rc, path, Optional.ofNullable(stat));
                    }
                },
                null));
    }

    /** Returns the node with its data; with a watcher, if there is a node, that is told of the next change. */
    CompletableFuture<Node> data(String path, @Nullable Watcher watcher) {
        return send((zooKeeper, answer) -> zooKeeper.getData(
                path,
                watcher,
                (rc, p, context, data, stat) -> settle(answer, rc, path, rc == 0 ? Node.of(data, stat) : null),
                null));
    }

    /** Returns what the server says of its ensemble: outside of any chroot. */
    CompletableFuture<String> ensemble() {
        return send((zooKeeper, answer) -> zooKeeper.getConfig(
                (Watcher) null,
                (rc, p, context, data, stat) -> settle(
                        answer,
                        rc,
                        ZooDefs.CONFIG_NODE,
                        rc == 0 ? Node.of(data, stat).text() : null),
                null));
    }

    /** Returns the children of a node; with a watcher, that is told of the next one to come or go. */
    CompletableFuture<Children> children(String path, @Nullable Watcher watcher) {
        return send((zooKeeper, answer) -> zooKeeper.getChildren(
                path,
                watcher,
                (int rc, String p, Object context, List<String> names, Stat stat) ->
                        settle(answer, rc, path, rc == 0 ? new Children(names, stat) : null),
                null));
    }

    /** Has the server catch up with the leader of the ensemble. */
    CompletableFuture<Boolean> sync(String path) {
        return send(
                (zooKeeper, answer) -> zooKeeper.sync(path, (rc, p, context) -> settle(answer, rc, path, true), null));
    }

    /** Does all of it or nothing, in one transaction of the ensemble. If nothing, fails as the first that failed. */
    CompletableFuture<List<OpResult>> all(List<Op> operations) {
        return send((zooKeeper, answer) -> zooKeeper.multi(
                operations,
                (rc, p, context, results) -> {
                    if (rc == 0) {
                        answer.complete(results);
                    } else {
                        answer.completeExceptionally(new Refused(rc, operations, results));
                    }
                },
                null));
    }

    /** Reads all these nodes at one time; those that are not there, or not for us to read, come out empty. */
    CompletableFuture<List<Optional<Node>>> read(List<String> paths) {
        if (paths.isEmpty()) {
            return CompletableFuture.completedFuture(List.of());
        }
        return send((zooKeeper, answer) -> zooKeeper.multi(
                paths.stream().map(Op::getData).toList(),
                (rc, p, context, results) -> {
                    if (results != null
                            && results.size() == paths.size()) { // the code is that of the first that failed
                        answer.complete(
                                results.stream().map(SingleRequests::node).toList());
                    } else {
                        settle(answer, rc, paths.get(0), null);
                    }
                },
                null));
    }

    private static Optional<Node> node(OpResult result) {
        return result instanceof OpResult.GetDataResult read
                ? Optional.of(Node.of(read.getData(), read.getStat()))
                : Optional.empty();
    }

    /** Deletes a node; returns false if there was none. */
    CompletableFuture<Boolean> delete(String path, int version) {
        return send((zooKeeper, answer) -> zooKeeper.delete(
                path,
                version,
                (rc, p, context) -> {
                    if (rc == Code.NONODE.intValue()) {
                        answer.complete(false);
                    } else {
                        settle(answer, rc, path, true);
                    }
                },
                null));
    }

    /** Forgets all watches of one path, here and at the server; whether there were any does not matter. */
    void unwatch(String path) {
        try {
            handle.get().removeAllWatches(path, WatcherType.Any, true, (rc, p, context) -> {}, null);
        } catch (Exception e) {
            // there is no session, and so no watch
        }
    }

    /** Does this when the answer is there: with the value, or with the error. */
    // what the turn throws is the concern of whoever runs it
    @SuppressWarnings("FutureReturnValueIgnored")
    static <T> void whenDone(CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        answer.whenComplete(turn);
    }

    private <T> CompletableFuture<T> send(Call<T> call) {
        var answer = new CompletableFuture<T>();
        try {
            call.send(handle.get(), answer);
        } catch (Exception e) {
            answer.completeExceptionally(e);
        }
        return answer;
    }

    private static <T> void settle(CompletableFuture<T> answer, int rc, String path, @Nullable T value) {
        if (rc == 0 && value != null) {
            answer.complete(value);
        } else {
            answer.completeExceptionally(KeeperException.create(rc == 0 ? Code.SYSTEMERROR : Code.get(rc), path));
        }
    }

    /** A transaction that was not carried out. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        private final transient List<Op> operations;
        private final transient @Nullable List<OpResult> results;
        private final Code code;

        private Refused(int rc, List<Op> operations, @Nullable List<OpResult> results) {
            super(KeeperException.create(Code.get(rc)));
            code = Code.get(rc);
            this.operations = operations;
            this.results = results;
        }

        /** Returns why. */
        Code code() {
            return code;
        }

        /** Returns the node that it failed at, if one is known. */
        Optional<String> node() {
            return failed() < 0
                    ? Optional.empty()
                    : Optional.of(operations.get(failed()).getPath());
        }

        /** Returns the place of the operation that failed for this reason; -1 if none is known to have. */
        int failed() {
            for (var i = 0; results != null && i < results.size() && i < operations.size(); i++) {
                if (results.get(i) instanceof OpResult.ErrorResult error && error.getErr() == code.intValue()) {
                    return i;
                }
            }
            return -1;
        }
    }
}
