package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;

/**
 * The nodes of one election: where they are, what observers see in them, and what is done to those that are no
 * candidates'. Stateless.
 *
 * @param session by which they are reached
 * @param path of the node of the election
 */
record ElectionNodes(NodeSession session, String path) {
    private static final String END = "end";
    private static final String DELETION = "delete";
    private static final String DISMISSAL = "dismiss";

    NodeRequests requests() {
        return session.requests();
    }

    /** Returns the path of a candidate's node, or without its number, of one to be made. */
    String candidate(String name) {
        return path + '/' + name;
    }

    /** Returns the path of the node that tells that the election is over. */
    String done() {
        return path + '/' + Paths.DONE;
    }

    /** Returns the path of the node that names the candidate who is to stand down. */
    String standDown() {
        return path + '/' + Paths.STAND_DOWN;
    }

    /** Returns the path of the node that holds the note of a hand-over. */
    String handOver() {
        return path + '/' + Paths.HAND_OVER;
    }

    /** Returns the note of what stands in {@link #handOver}: its first line. */
    static String noteOf(String text) {
        return text.split("\n", 2)[0];
    }

    /** Returns the node of the candidate that is ready, which stands behind the note. */
    static String readyNodeOf(String text) {
        var lines = text.split("\n", 2);
        return lines.length > 1 ? lines[1] : "";
    }

    /** Returns whether this is what stands in {@link #done} while an election is being deleted. */
    static boolean isDeletion(String text) {
        return text.equals(DELETION);
    }

    /** Returns whether this stands in {@link #done} until the last candidate has left, after which others may join. */
    static boolean isPassing(String text) {
        return isDeletion(text) || text.equals(DISMISSAL);
    }

    // ---------------------------------------------------------------- what observers see

    /**
     * Reads the seat, with its candidates. The first in the queue leads if there was no note beside it at the same
     * instant: so where the note goes in between, all is read once more.
     */
    CompletableFuture<View> view(String election) {
        return synced().thenCompose(children -> readAll(Paths.queue(children))
                .thenCompose(queue -> isOrdered(children)
                        .thenApply(ordered -> view(election, children.contains(Paths.DONE), ordered, queue)))
                .thenCompose(view -> note(children)
                        .thenCompose(note -> note.map(text -> CompletableFuture.completedFuture(view.noted(text)))
                                .orElseGet(() -> view(election)))));
    }

    private static View view(String election, boolean ended, boolean ordered, List<NodeRequests.Node> queue) {
        var leader = queue.stream().findFirst();
        var candidates = queue.stream()
                .map(node -> NodeData.of(node.text()).shown(node.equals(queue.get(0))))
                .toList();
        return View.of(election, leader.map(node -> node.stat().getCzxid()).orElse(0L))
                .heldBy(leader.map(ElectionNodes::holder), Duration.ZERO)
                .orderedToStandDown(ordered)
                .inEra(0, ended)
                .among(Integer.MIN_VALUE, candidates);
    }

    /** Returns who holds the seat whose first node this is. */
    static View.Holder holder(NodeRequests.Node node) {
        var data = NodeData.of(node.text());
        return new View.Holder(
                data.candidate(),
                Long.toHexString(node.stat().getCzxid()),
                Instant.ofEpochMilli(node.stat().getCtime()),
                data.metadata());
    }

    /** Whether the leader is to stand down: an order may have outlived the candidate that it named. */
    private CompletableFuture<Boolean> isOrdered(List<String> children) {
        var queue = Paths.queue(children);
        return queue.isEmpty() || !children.contains(Paths.STAND_DOWN)
                ? CompletableFuture.completedFuture(false)
                : readAll(List.of(Paths.STAND_DOWN))
                        .thenApply(order ->
                                order.stream().anyMatch(node -> node.text().equals(queue.get(0))));
    }

    /**
     * Returns the note, of which these children tell whether it is there; nothing if it has gone since. One that is not
     * for us to read has not gone: it would be looked for again and again.
     */
    private CompletableFuture<Optional<String>> note(List<String> children) {
        if (!children.contains(Paths.HAND_OVER)) {
            return CompletableFuture.completedFuture(Optional.of(""));
        }
        return readAll(List.of(Paths.HAND_OVER))
                .thenCompose(note -> note.isEmpty()
                        ? unreadNote()
                        : CompletableFuture.completedFuture(
                                Optional.of(noteOf(note.get(0).text()))));
    }

    private CompletableFuture<Optional<String>> unreadNote() {
        return requests().exists(handOver(), null).thenApply(stat -> stat.map(there -> View.UNREAD));
    }

    /** Returns the first node of the queue. */
    CompletableFuture<Optional<NodeRequests.Node>> first() {
        return synced().thenCompose(children -> readAll(
                        Paths.queue(children).stream().limit(1).toList())
                .thenApply(queue -> queue.stream().findFirst()));
    }

    /** Returns those that are there. */
    private CompletableFuture<List<NodeRequests.Node>> readAll(List<String> names) {
        return new NodeReader(requests())
                .read(names.stream().map(this::candidate).toList(), stat -> true)
                .thenApply(nodes -> nodes.stream().flatMap(Optional::stream).toList());
    }

    // ---------------------------------------------------------------- what operators order

    /** Carries an order out, by nodes that the candidates watch. */
    CompletableFuture<Boolean> order(Order order) {
        return switch (order) {
            case STAND_DOWN -> standDownFirst();
            case END ->
                write(done(), END, false)
                        .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                                ? make().thenCompose(made -> write(done(), END, false))
                                : CompletableFuture.failedFuture(error));
            case DELETE -> delete();
            case REOPEN -> reopen();
        };
    }

    /**
     * Makes a passing order of the end: who stands still, and has not heard of it, is told, and when nobody is left
     * others may join. Of two at a time the second finds nothing to do.
     */
    private CompletableFuture<Boolean> reopen() {
        var reopened = requests()
                .sync(done())
                .thenCompose(synced -> requests().data(done(), null))
                .thenCompose(read -> read.text().equals(END)
                        ? requests()
                                .write(done(), DISMISSAL, read.stat().getVersion())
                                .thenCompose(set -> tidy())
                                .thenApply(tidied -> true)
                        : CompletableFuture.completedFuture(false));
        return falseIfGone(reopened.exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.BADVERSION
                ? CompletableFuture.completedFuture(false) // another operator was faster
                : CompletableFuture.failedFuture(error)));
    }

    /**
     * Replaces the note of a hand-over, if it is the expected one and the leader has this token. It may be asked twice.
     *
     * @param readyNode of the candidate that is ready; empty if none is
     */
    CompletableFuture<Boolean> note(long token, String expected, String note, String readyNode) {
        return first().thenCompose(leader ->
                leader.filter(node -> node.stat().getCzxid() == token).isEmpty()
                        ? CompletableFuture.completedFuture(false)
                        : NodeRequests.ifMissing(
                                        requests().data(handOver(), null).thenApply(Optional::of),
                                        Optional.<NodeRequests.Node>empty())
                                .thenCompose(present -> replaceNote(present, expected, note, readyNode)));
    }

    private CompletableFuture<Boolean> replaceNote(
            Optional<NodeRequests.Node> present, String expected, String note, String readyNode) {
        var before = present.map(node -> noteOf(node.text())).orElse("");
        if (before.equals(note)) {
            return CompletableFuture.completedFuture(true);
        }
        if (!before.equals(expected)) {
            return CompletableFuture.completedFuture(false);
        }
        var text = readyNode.isEmpty() ? note : note + '\n' + readyNode;
        var version = present.map(node -> node.stat().getVersion()).orElse(-1);
        var replaced = note.isEmpty()
                ? requests().delete(handOver(), version)
                : present.isPresent()
                        ? requests().write(handOver(), text, version)
                        : requests()
                                .create(CreateMode.PERSISTENT, handOver(), text)
                                .thenApply(made -> true);
        return replaced.exceptionallyCompose(error -> switch (ZooKeeperErrors.code(error)) {
            case BADVERSION, NODEEXISTS, NONODE -> CompletableFuture.completedFuture(false); // another was faster
            default -> CompletableFuture.failedFuture(error);
        });
    }

    /** Takes this note away, unless there is a newer one. */
    CompletableFuture<Boolean> withdrawNote(NodeRequests.Node note) {
        return requests().delete(handOver(), note.stat().getVersion());
    }

    private CompletableFuture<Boolean> standDownFirst() {
        return synced().thenCompose(children -> {
            var queue = Paths.queue(children);
            return queue.isEmpty()
                    ? CompletableFuture.completedFuture(false)
                    : falseIfGone(write(standDown(), queue.get(0), true));
        });
    }

    /** Tells all who stand; the last who leaves deletes what is left, or we do if nobody stands. */
    private CompletableFuture<Boolean> delete() {
        return synced().thenCompose(children -> {
            var foreign = Paths.foreign(children);
            return foreign.isEmpty()
                    ? falseIfGone(write(done(), DELETION, true).thenCompose(written -> tidy()))
                    : CompletableFuture.failedFuture(new ElectionException(path
                            + " cannot be deleted, because it holds nodes that do not belong to an election: " + foreign
                            + "; delete those, or name another election"));
        });
    }

    /**
     * Deletes all candidates, by telling them; the last who leaves takes that away, or we do if nobody stands. Returns
     * false if there is no such election.
     */
    CompletableFuture<Boolean> dismiss() {
        return falseIfGone(
                write(done(), DISMISSAL, false).thenCompose(written -> tidy()).thenApply(tidied -> true));
    }

    private static CompletableFuture<Boolean> falseIfGone(CompletableFuture<Boolean> carriedOut) {
        return NodeRequests.ifMissing(carriedOut, false); // there is no such election
    }

    // ---------------------------------------------------------------- what candidates do

    /** Makes the node of the election and those above it, as far as they are missing. */
    CompletableFuture<Boolean> make() {
        return make(path);
    }

    private CompletableFuture<Boolean> make(String node) {
        return requests()
                .create(CreateMode.PERSISTENT, node, "")
                .thenApply(made -> true)
                .exceptionallyCompose(error -> {
                    var slash = node.lastIndexOf('/');
                    return switch (ZooKeeperErrors.code(error)) {
                        case NODEEXISTS -> CompletableFuture.completedFuture(false);
                        case NONODE ->
                            slash <= 0
                                    ? CompletableFuture.failedFuture(withoutChroot())
                                    : make(node.substring(0, slash)).thenCompose(above -> make(node));
                        default -> CompletableFuture.failedFuture(error);
                    };
                });
    }

    /** What may not be made at the top has nothing above it: ZooKeeper makes no chroot by itself. */
    private ElectionException withoutChroot() {
        return new ElectionException("the chroot in the connect string of " + session.where()
                + " does not exist, so nobody can stand there: create that node, or correct the connect string");
    }

    /** Clears away what a passing order leaves when nobody stands any more. Returns whether it did. */
    CompletableFuture<Boolean> tidy() {
        return requests()
                .data(done(), null)
                .thenCompose(read -> requests().children(path, null).thenCompose(children -> {
                    var names = children.names();
                    if (!isPassing(read.text()) || !Paths.queue(names).isEmpty()) {
                        return CompletableFuture.completedFuture(false);
                    }
                    var deletions = new ArrayList<Op>();
                    if (names.contains(Paths.STAND_DOWN)) {
                        deletions.add(Op.delete(standDown(), -1));
                    }
                    if (names.contains(Paths.HAND_OVER)) {
                        deletions.add(Op.delete(handOver(), -1));
                    }
                    deletions.add(Op.delete(done(), read.stat().getVersion()));
                    if (isDeletion(read.text())) {
                        deletions.add(Op.delete(path, -1)); // refused if somebody has come meanwhile: all or nothing
                    }
                    return requests().all(deletions).thenApply(deleted -> true);
                }))
                .exceptionally(error -> false); // others do the same, and the next who stands
    }

    /**
     * Deletes a candidate's node, unless it is gone; then another may have its name, since nodes are numbered from 0
     * again in an election that was deleted and made again.
     */
    CompletableFuture<Boolean> delete(OwnNode node) {
        return requests()
                .exists(node.path(), null)
                .thenCompose(stat -> stat.filter(node::is).isPresent()
                        ? requests().delete(node.path(), -1)
                        : CompletableFuture.completedFuture(false));
    }

    /** Takes an order away that this candidate's node has carried out, unless there is a newer one. */
    void obeyed(String node) {
        NodeRequests.whenDone(requests().data(standDown(), null), (read, error) -> {
            if (read != null && read.text().equals(node)) {
                withdraw(read);
            }
        });
    }

    /** Takes this order to stand down away, unless there is a newer one. */
    void withdraw(NodeRequests.Node order) {
        NodeRequests.whenDone(requests().delete(standDown(), order.stat().getVersion()), (deleted, failure) -> {});
    }

    // ---------------------------------------------------------------- small things

    private CompletableFuture<List<String>> synced() {
        return NodeRequests.ifMissing(
                requests()
                        .sync(path)
                        .thenCompose(synced -> requests().children(path, null))
                        .thenApply(NodeRequests.Children::names),
                List.of());
    }

    /** Makes the node, or if there is one, gives it this content if so wanted. */
    private CompletableFuture<Boolean> write(String node, String text, boolean replace) {
        return requests()
                .create(CreateMode.PERSISTENT, node, text)
                .thenApply(made -> true)
                .exceptionallyCompose(error -> {
                    if (ZooKeeperErrors.code(error) != Code.NODEEXISTS) {
                        return CompletableFuture.failedFuture(error);
                    }
                    return replace ? replace(node, text) : CompletableFuture.completedFuture(true);
                });
    }

    private CompletableFuture<Boolean> replace(String node, String text) {
        return requests()
                .write(node, text, -1)
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                        ? write(node, text, true) // anybody who obeyed an earlier order has taken that away
                        : CompletableFuture.failedFuture(error));
    }
}
