package dev.bellwether.zookeeper;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
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
 * Requests by ZooKeeper's client. Curator sends a request again when its connection broke; anybody who counts time from
 * a request, or must know what became of it, cannot have that.
 *
 * <p>Thread-safe. Answers come on the client's event thread, errors as {@link KeeperException} or {@link
 * RefusedTransaction}.
 */
final class SingleRequests implements NodeRequests {

    private interface Call<T> {
        void send(ZooKeeper zooKeeper, CompletableFuture<T> answer);
    }

    private final Client client;
    private final Hearing hearing;

    /** Tells of it when the client hears nothing. */
    SingleRequests(Client client, Runnable onDeaf) {
        this.client = client;
        hearing = new Hearing(onDeaf);
    }

    @Override
    public CompletableFuture<Optional<Stat>> exists(String path, @Nullable Watcher watcher) {
        CompletableFuture<Stat> answer = send((zooKeeper, told) ->
                zooKeeper.exists(path, watcher, (rc, p, context, stat) -> settle(told, rc, path, stat), null));
        return NodeRequests.ifMissing(answer.thenApply(Optional::of), Optional.empty());
    }

    @Override
    public CompletableFuture<Node> data(String path, @Nullable Watcher watcher) {
        return send((zooKeeper, answer) -> zooKeeper.getData(
                path,
                watcher,
                (rc, p, context, data, stat) -> settle(answer, rc, path, rc == 0 ? Node.of(data, stat) : null),
                null));
    }

    @Override
    public CompletableFuture<List<Optional<Node>>> read(List<String> paths) {
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

    @Override
    public CompletableFuture<Children> children(String path, @Nullable Watcher watcher) {
        return send((zooKeeper, answer) -> zooKeeper.getChildren(
                path,
                watcher,
                (int rc, String p, Object context, List<String> names, Stat stat) ->
                        settle(answer, rc, path, rc == 0 ? new Children(names, stat) : null),
                null));
    }

    @Override
    public CompletableFuture<String> ensemble() {
        return send((zooKeeper, answer) -> zooKeeper.getConfig(
                (Watcher) null,
                (rc, p, context, data, stat) -> settle(
                        answer,
                        rc,
                        ZooDefs.CONFIG_NODE,
                        rc == 0 ? Node.of(data, stat).text() : null),
                null));
    }

    @Override
    public CompletableFuture<Boolean> sync(String path) {
        return send(
                (zooKeeper, answer) -> zooKeeper.sync(path, (rc, p, context) -> settle(answer, rc, path, true), null));
    }

    @Override
    public CompletableFuture<String> create(CreateMode mode, String path, String text) {
        return all(List.of(client.creation(mode, path, text)))
                .thenApply(results -> ((OpResult.CreateResult) results.get(0)).getPath());
    }

    @Override
    public CompletableFuture<Boolean> delete(String path, int version) {
        CompletableFuture<Boolean> answer = send((zooKeeper, told) ->
                zooKeeper.delete(path, version, (rc, p, context) -> settle(told, rc, path, true), null));
        return NodeRequests.ifMissing(answer, false);
    }

    @Override
    public CompletableFuture<List<OpResult>> all(List<Op> operations) {
        return send((zooKeeper, answer) -> zooKeeper.multi(
                operations,
                (rc, p, context, results) -> {
                    if (rc == 0) {
                        answer.complete(results);
                    } else {
                        answer.completeExceptionally(RefusedTransaction.of(Code.get(rc), operations, results));
                    }
                },
                null));
    }

    @Override
    public void unwatch(String path) {
        try {
            client.zooKeeper().removeAllWatches(path, WatcherType.Any, true, (rc, p, context) -> {}, null);
        } catch (Exception e) {
            // there is no session, and so no watch
        }
    }

    private <T> CompletableFuture<T> send(Call<T> call) {
        var answer = new CompletableFuture<T>();
        try {
            var by = client.zooKeeper();
            hearing.asks(by);
            var unused = answer.whenComplete((value, error) -> hearing.hears(by));
            call.send(by, answer);
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
}
