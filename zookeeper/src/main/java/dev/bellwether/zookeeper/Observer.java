package dev.bellwether.zookeeper;

import dev.bellwether.Watch;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Watches an election for somebody who does not stand: the first node of the queue, or while there is none, for one to
 * come.
 *
 * <p>Confined to the loop, except {@link #close}.
 */
final class Observer implements Watch {
    private static final long AGAIN_NANOS = 500_000_000L;

    private final String name;
    private final SeatSession session;
    private final String election;
    private final Consumer<View> watcher;
    private final Loop loop;
    private final Consumer<Observer> onClose;
    private final Runnable onChange;
    private volatile boolean closed;
    private @Nullable String watched;
    private Loop.@Nullable Timer timer;
    private long highest;
    private int looks;

    Observer(
            String name,
            SeatSession session,
            String election,
            Consumer<View> watcher,
            Loop loop,
            Consumer<Observer> onClose) {
        this.name = name;
        this.session = session;
        this.election = election;
        this.watcher = watcher;
        this.loop = loop;
        this.onClose = onClose;
        onChange = () -> loop.execute(this::look);
    }

    void begin() {
        session.onConnect(onChange);
        loop.execute(this::look);
    }

    private void look() {
        if (closed) {
            return;
        }
        var number = ++looks;
        answer(session.requests().children(election, null), number, (children, error) -> {
            if (children != null) {
                var queue = Paths.queue(children.names());
                if (queue.isEmpty()) {
                    awaitCandidate(number);
                } else {
                    watch(election + '/' + queue.get(0));
                    readLeader(number, election + '/' + queue.get(0));
                }
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                awaitElection(number);
            } else {
                again();
            }
        });
    }

    private void awaitElection(int number) {
        watch(election);
        answer(session.requests().exists(election, session.watches().watcher(election)), number, (stat, error) -> {
            if (stat != null && stat.isEmpty()) {
                see(Optional.empty());
            } else {
                again(); // now there is one
            }
        });
    }

    private void awaitCandidate(int number) {
        watch(election);
        answer(
                session.requests().children(election, session.watches().watcher(election)),
                number,
                (children, error) -> {
                    if (children != null && Paths.queue(children.names()).isEmpty()) {
                        see(Optional.empty());
                    } else {
                        onChange.run();
                    }
                });
    }

    private void readLeader(int number, String path) {
        answer(session.requests().data(path, session.watches().watcher(path)), number, (read, error) -> {
            if (read != null) {
                see(Optional.of(read));
            } else if (error != null && ZooKeeperErrors.code(error) == Code.NONODE) {
                look();
            } else {
                again();
            }
        });
    }

    private void see(Optional<SingleRequests.Node> leader) {
        highest = leader.map(node -> node.stat().getCzxid())
                .filter(token -> token > highest)
                .orElse(highest);
        watcher.accept(View.of(name, highest).heldBy(leader.map(Views::holder), Duration.ZERO));
    }

    private void watch(@Nullable String path) {
        if (watched != null && !watched.equals(path)) {
            session.watches().unlisten(watched, onChange);
        }
        watched = path;
        if (path != null) {
            session.watches().listen(path, onChange);
        }
    }

    private void again() {
        if (timer != null) {
            timer.cancel();
        }
        timer = loop.at(loop.clock().nanos() + AGAIN_NANOS, this::look);
    }

    private <T> void answer(
            java.util.concurrent.CompletableFuture<T> request,
            int number,
            BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        SingleRequests.whenDone(
                request,
                (value, error) -> loop.execute(() -> {
                    if (!closed && number == looks) {
                        turn.accept(value, error);
                    }
                }));
    }

    @Override
    public void close() {
        closed = true;
        onClose.accept(this);
        session.offConnect(onChange);
        loop.execute(() -> {
            watch(null);
            if (timer != null) {
                timer.cancel();
            }
        });
    }
}
