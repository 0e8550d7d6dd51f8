package dev.bellwether.zookeeper;

import dev.bellwether.spi.Loop;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * One node that is kept in sight: read, and read again whenever it has changed.
 *
 * <p>Confined to the loop. A watch tells once that something has changed, and is set again by the request that finds
 * out what. If that one is lost with its connection, anybody who has this has it sent again on the next.
 */
final class NodeWatch {
    /** Whether there usually is such a node: then reading it takes one request, else to see that there is none does. */
    enum Usually {
        THERE,
        MISSING
    }

    private final NodeSession session;
    private final Loop loop;
    private final String path;
    private final Usually usually;
    private final Consumer<Optional<NodeRequests.Node>> seen;
    private final Consumer<Throwable> unanswered;
    private final Runnable onChange;
    private boolean watching;
    private boolean unread;
    /** How often the session could not tell of a change when we last read. */
    private int untold;
    /** Counted up when it ends: what was asked before that is nobody's concern. */
    private int era;

    NodeWatch(
            NodeSession session,
            Loop loop,
            String path,
            Usually usually,
            Consumer<Optional<NodeRequests.Node>> seen,
            Consumer<Throwable> unanswered) {
        this.session = session;
        this.loop = loop;
        this.path = path;
        this.usually = usually;
        this.seen = seen;
        this.unanswered = unanswered;
        onChange = () -> loop.execute(this::read);
    }

    /** Reads the node, from now on whenever it changes. */
    void begin() {
        if (!watching) {
            watching = true;
            session.watches().listen(path, onChange); // first: a change behind the answer must find us
        }
        read();
    }

    /** Reads it now, too. */
    void read() {
        if (!watching) {
            return;
        }
        unread = false;
        untold = session.watches().untold();
        var asked = era;
        NodeRequests.then(loop, ask(), (found, error) -> {
            if (asked != era) {
                return;
            }
            if (found != null) {
                seen.accept(found);
            } else if (error != null) {
                unread = true;
                unanswered.accept(error);
            }
        });
    }

    private CompletableFuture<Optional<NodeRequests.Node>> ask() {
        var requests = session.requests();
        var watcher = session.watches().watcher(path);
        return switch (usually) {
            case THERE ->
                NodeRequests.ifMissing(requests.data(path, watcher).thenApply(Optional::of), Optional.empty());
            case MISSING ->
                requests.exists(path, watcher)
                        .thenCompose(stat -> stat.isEmpty()
                                ? CompletableFuture.completedFuture(Optional.empty())
                                : NodeRequests.ifMissing(
                                        requests.data(path, null).thenApply(Optional::of), Optional.empty()));
        };
    }

    /** Reads it again if the last answer was lost, or a change since. */
    void readIfUnread() {
        if (unread || untold != session.watches().untold()) {
            read();
        }
    }

    /** Cares for it no more; the next begins again. */
    void end() {
        if (stop()) {
            session.watches().unlisten(path, onChange);
        }
    }

    /** The same, of a node that is gone permanently, or will be at once, and the server's watch with it. */
    void endGone() {
        if (stop()) {
            session.watches().gone(path, onChange);
        }
    }

    private boolean stop() {
        var before = watching;
        watching = false;
        unread = false;
        era++;
        return before;
    }
}
