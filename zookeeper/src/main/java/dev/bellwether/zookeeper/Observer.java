package dev.bellwether.zookeeper;

import dev.bellwether.Watch;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches an election for somebody who does not stand: the first node of the queue, or while there is none, for one to
 * come. A watch tells once: so it sees to it, now and then, that it was told, and that the client hears at all.
 *
 * <p>Confined to the loop, except {@link #close}.
 */
final class Observer implements Watch {
    private static final Logger log = LoggerFactory.getLogger(Observer.class);
    private static final long AGAIN_NANOS = 500_000_000L;
    private static final long CARE_NANOS = 3_000_000_000L;
    /** An answer that is late for so long was lost here: there was no memory for it. */
    private static final int MOST_UNSEEN = 10;

    private final String name;
    private final ElectionNodes nodes;
    private final Consumer<View> watcher;
    private final Loop loop;
    private final Consumer<Observer> onClose;
    private final Runnable onChange;
    private volatile boolean closed;
    private @Nullable String watched;
    private Loop.@Nullable Timer timer;
    private Loop.@Nullable Timer care;
    private long highest;
    /** Of the queue that was read last. */
    private String note = "";

    private int looks;
    private boolean looking; // and not seen yet
    private int unseen; // how often we have cared since without effect
    /** How often the session could not tell of a change when we last looked. */
    private int untold;

    private boolean refused; // and that was told

    Observer(String name, ElectionNodes nodes, Consumer<View> watcher, Loop loop, Consumer<Observer> onClose) {
        this.name = name;
        this.nodes = nodes;
        this.watcher = watcher;
        this.loop = loop;
        this.onClose = onClose;
        onChange = () -> loop.execute(this::look);
    }

    void begin() {
        nodes.session().onConnect(onChange);
        loop.execute(() -> {
            if (!closed) {
                care = loop.every(CARE_NANOS, this::care);
                look();
            }
        });
    }

    private void care() {
        nodes.session().probe();
        unseen = looking ? unseen + 1 : 0;
        if (looking ? unseen % MOST_UNSEEN == 0 : untold != watches().untold()) {
            look();
        }
    }

    private void look() {
        if (closed) {
            return;
        }
        looks++;
        looking = true;
        untold = watches().untold();
        ask(requests().children(nodes.path(), null), (children, error) -> {
            if (children != null) {
                note = children.names().contains(Paths.HAND_OVER) ? View.UNREAD : "";
                Paths.queue(children.names()).stream()
                        .findFirst()
                        .ifPresentOrElse(first -> readLeader(nodes.candidate(first)), this::awaitCandidate);
            } else if (isMissing(error)) {
                awaitElection();
            } else {
                again(error);
            }
        });
    }

    private void awaitElection() {
        ask(requests().exists(nodes.path(), watch(nodes.path())), (stat, error) -> {
            if (stat != null && stat.isEmpty()) {
                see(Optional.empty());
            } else {
                again(error); // perhaps there is one now
            }
        });
    }

    private void awaitCandidate() {
        ask(requests().children(nodes.path(), watch(nodes.path())), (children, error) -> {
            if (children != null && Paths.queue(children.names()).isEmpty()) {
                see(Optional.empty());
            } else {
                onChange.run();
            }
        });
    }

    private void readLeader(String path) {
        ask(requests().data(path, watch(path)), (read, error) -> {
            if (read != null) {
                see(Optional.of(read));
            } else if (isMissing(error)) {
                look();
            } else {
                again(error);
            }
        });
    }

    private static boolean isMissing(@Nullable Throwable error) {
        return error != null && ZooKeeperErrors.code(error) == Code.NONODE;
    }

    private NodeRequests requests() {
        return nodes.requests();
    }

    /** Watches this, and nothing else. */
    private Watcher watch(String path) {
        watched = watches().move(watched, path, onChange);
        return watches().watcher(path);
    }

    private PathWatches watches() {
        return nodes.session().watches();
    }

    private void see(Optional<NodeRequests.Node> leader) {
        looking = false;
        if (refused) {
            refused = false;
            log.info("\"{}\" may be watched again", name);
        }
        highest = leader.map(node -> node.stat().getCzxid())
                .filter(token -> token > highest)
                .orElse(highest);
        watcher.accept(View.of(name, highest)
                .heldBy(leader.map(ElectionNodes::holder), Duration.ZERO)
                .noted(leader.isPresent() ? note : ""));
    }

    /** Looks again after a while; what is refused for so long is told once. */
    private void again(@Nullable Throwable error) {
        if (error != null && !refused) {
            ZooKeeperErrors.refusal(error, nodes.session().where()).ifPresent(refusal -> {
                refused = true;
                log.warn("\"{}\" may not be watched now: {}. Trying again, until it may", name, refusal.getMessage());
            });
        }
        if (timer != null) {
            timer.cancel();
        }
        timer = loop.at(loop.clock().nanos() + AGAIN_NANOS, this::look);
    }

    /** Obeys the answer unless it has looked again meanwhile. */
    private <T> void ask(CompletableFuture<T> request, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        var number = looks;
        NodeRequests.then(loop, request, (value, error) -> {
            if (!closed && number == looks) {
                turn.accept(value, error);
            }
        });
    }

    @Override
    public void close() {
        closed = true;
        onClose.accept(this);
        nodes.session().offConnect(onChange);
        loop.execute(() -> {
            watched = watches().move(watched, null, onChange);
            if (timer != null) {
                timer.cancel();
            }
            if (care != null) {
                care.cancel();
            }
        });
    }
}
