package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Order;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;

/** Carries out an operator's orders, by nodes that the candidates watch. Stateless. */
final class Orders {
    private static final String END = "end";
    private static final String DELETION = "delete";
    private static final String DISMISSAL = "dismiss";

    private Orders() {}

    /** Returns whether this is what stands in {@code DONE} while an election is being deleted. */
    static boolean isDeletion(String text) {
        return text.equals(DELETION);
    }

    /** Returns whether this stands in {@code DONE} until the last candidate has left, after which others may join. */
    static boolean isPassing(String text) {
        return isDeletion(text) || text.equals(DISMISSAL);
    }

    static CompletableFuture<Boolean> carryOut(
            ZooKeeperArbiter arbiter, SeatSession session, String election, Order order) {
        return switch (order) {
            case STAND_DOWN -> standDown(session, election);
            case END ->
                write(session, election + '/' + Paths.DONE, END, false)
                        .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                                ? arbiter.make(session, election)
                                        .thenCompose(made -> write(session, election + '/' + Paths.DONE, END, false))
                                : CompletableFuture.failedFuture(error));
            case DELETE -> delete(session, election);
            case REOPEN -> reopen(session, election);
        };
    }

    /**
     * Makes a passing order of the end: who stands still, and has not heard of it, is told, and when nobody is left
     * others may join. Of two at a time the second finds nothing to do.
     */
    private static CompletableFuture<Boolean> reopen(SeatSession session, String election) {
        var done = election + '/' + Paths.DONE;
        return session.requests()
                .sync(done)
                .thenCompose(synced -> session.requests().data(done, null))
                .thenCompose(read -> {
                    if (!read.text().equals(END)) {
                        return CompletableFuture.completedFuture(false);
                    }
                    var passing = Op.setData(
                            done,
                            DISMISSAL.getBytes(StandardCharsets.UTF_8),
                            read.stat().getVersion());
                    return session.requests()
                            .all(List.of(passing))
                            .thenCompose(set -> tidy(session, election))
                            .thenApply(tidied -> true);
                })
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.BADVERSION
                        ? CompletableFuture.completedFuture(false) // another operator was faster
                        : falseIfGone(error));
    }

    private static CompletableFuture<Boolean> standDown(SeatSession session, String election) {
        return children(session, election).thenCompose(children -> {
            var queue = Paths.queue(children);
            return queue.isEmpty()
                    ? CompletableFuture.completedFuture(false)
                    : write(session, election + '/' + Paths.STAND_DOWN, queue.get(0), true)
                            .exceptionallyCompose(Orders::falseIfGone);
        });
    }

    /** Tells all who stand, by {@code DONE}; the last who leaves deletes what is left, or we do if nobody stands. */
    private static CompletableFuture<Boolean> delete(SeatSession session, String election) {
        return children(session, election).thenCompose(children -> {
            var foreign = Paths.foreign(children);
            if (!foreign.isEmpty()) {
                return CompletableFuture.failedFuture(new ElectionException(election
                        + " cannot be deleted, since it holds nodes that are none of an election: " + foreign
                        + "; delete those, or name another election"));
            }
            return write(session, election + '/' + Paths.DONE, DELETION, true)
                    .thenCompose(written -> tidy(session, election))
                    .exceptionallyCompose(Orders::falseIfGone);
        });
    }

    /** Tells all who stand, by {@code DONE}, which the last who leaves takes away, or we do if nobody stands. */
    static CompletableFuture<Boolean> dismiss(SeatSession session, String election) {
        return write(session, election + '/' + Paths.DONE, DISMISSAL, false)
                .thenCompose(written -> tidy(session, election))
                .thenApply(tidied -> true)
                .exceptionallyCompose(Orders::falseIfGone);
    }

    private static CompletableFuture<Boolean> falseIfGone(Throwable error) {
        return ZooKeeperErrors.code(error) == Code.NONODE
                ? CompletableFuture.completedFuture(false) // there is no such election
                : CompletableFuture.failedFuture(error);
    }

    /** Clears away what a passing {@code DONE} leaves when nobody stands any more. Returns whether it did. */
    static CompletableFuture<Boolean> tidy(SeatSession session, String election) {
        var done = election + '/' + Paths.DONE;
        return session.requests()
                .data(done, null)
                .thenCompose(read -> session.requests().children(election, null).thenCompose(children -> {
                    var names = children.names();
                    if (!isPassing(read.text()) || !Paths.queue(names).isEmpty()) {
                        return CompletableFuture.completedFuture(false);
                    }
                    var deletions = new ArrayList<Op>();
                    if (names.contains(Paths.STAND_DOWN)) {
                        deletions.add(Op.delete(election + '/' + Paths.STAND_DOWN, -1));
                    }
                    deletions.add(Op.delete(done, read.stat().getVersion()));
                    if (isDeletion(read.text())) {
                        deletions.add(
                                Op.delete(election, -1)); // refused if somebody has come meanwhile: all or nothing
                    }
                    return session.requests().all(deletions).thenApply(deleted -> true);
                }))
                .exceptionally(error -> false); // others do the same, and the next who stands
    }

    /** Takes an order away that was carried out, unless there is a newer one. */
    static void obeyed(SeatSession session, String election, String node) {
        var path = election + '/' + Paths.STAND_DOWN;
        SingleRequests.whenDone(session.requests().data(path, null), (read, error) -> {
            if (read != null && read.text().equals(node)) {
                SingleRequests.whenDone(
                        session.requests().delete(path, read.stat().getVersion()), (deleted, failure) -> {});
            }
        });
    }

    private static CompletableFuture<List<String>> children(SeatSession session, String election) {
        return session.requests()
                .sync(election)
                .thenCompose(synced -> session.requests().children(election, null))
                .thenApply(SingleRequests.Children::names)
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                        ? CompletableFuture.completedFuture(List.of())
                        : CompletableFuture.failedFuture(error));
    }

    /** Makes the node, or if there is one, gives it this content if so wanted. */
    private static CompletableFuture<Boolean> write(SeatSession session, String path, String text, boolean replace) {
        return session.requests()
                .all(List.of(session.client().creation(CreateMode.PERSISTENT, path, text)))
                .thenApply(made -> true)
                .exceptionallyCompose(error -> {
                    if (ZooKeeperErrors.code(error) != Code.NODEEXISTS) {
                        return CompletableFuture.failedFuture(error);
                    }
                    return replace ? replace(session, path, text) : CompletableFuture.completedFuture(true);
                });
    }

    private static CompletableFuture<Boolean> replace(SeatSession session, String path, String text) {
        return session.requests()
                .all(List.of(Op.setData(path, text.getBytes(StandardCharsets.UTF_8), -1)))
                .thenApply(set -> true)
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                        ? write(session, path, text, true) // whoever obeyed an earlier order has taken that away
                        : CompletableFuture.failedFuture(error));
    }
}
