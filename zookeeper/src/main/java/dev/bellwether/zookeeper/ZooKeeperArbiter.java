package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The elections of one ensemble, below one node.
 *
 * <p>Thread-safe.
 */
final class ZooKeeperArbiter implements Arbiter {
    private static final Duration START_PATIENCE = Duration.ofSeconds(10);
    private static final Duration STAND_PATIENCE = Duration.ofSeconds(3);
    /** For how long a request of an operator is tried again while there is no connection. */
    private static final Duration PERSISTENCE = Duration.ofSeconds(4);

    /** Not in the common pool, which an application may keep busy: what is done there does not wait. */
    private static final Executor SOON = CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS, Runnable::run);

    private static final Logger log = LoggerFactory.getLogger(ZooKeeperArbiter.class);

    private final Sessions sessions;
    private final ZooKeeperConfig config;
    private final Paths paths;
    private final SeatSession main;
    private final Set<Duration> warned = ConcurrentHashMap.newKeySet();
    private final Set<Observer> observers = ConcurrentHashMap.newKeySet();
    private volatile @Nullable Loop loop;
    private final Set<QueueSeat> seats = ConcurrentHashMap.newKeySet();

    ZooKeeperArbiter(Sessions sessions, ZooKeeperConfig config) {
        this.sessions = sessions;
        this.config = config;
        paths = new Paths(config.root());
        main = sessions.main();
        if (!main.awaitConnected(START_PATIENCE)) {
            sessions.close();
            throw new UnavailableException(
                    "no answer from " + main.where() + " within " + Durations.show(START_PATIENCE));
        }
    }

    @Override
    public String describe() {
        return paths.parent() + " of " + main.where();
    }

    @Override
    public void check(String election, CandidacyConfig settings) {
        var session = sessions.take(settings.lease());
        try {
            if (session.awaitConnected(STAND_PATIENCE)) { // else we learn it later, and fail then
                check(session, settings);
            }
        } finally {
            sessions.giveBack(settings.lease());
        }
    }

    private void check(SeatSession session, CandidacyConfig settings) {
        session.refusal(settings).or(() -> tooShort(session, settings)).ifPresent(error -> {
            throw error;
        });
        if (session.client().timeout().compareTo(settings.lease()) > 0
                && warned.add(session.client().timeout())) {
            log.warn(
                    "sessions with {} live for {} at least: a crash will cost that, not the lease of {}",
                    session.where(),
                    Durations.show(session.client().timeout()),
                    Durations.show(settings.lease()));
        }
    }

    private static Optional<ElectionException> tooShort(SeatSession session, CandidacyConfig settings) {
        learnHops(session);
        return session.tooShort(settings);
    }

    private static void learnHops(SeatSession session) {
        if (!session.knowsHops()) {
            session.requests()
                    .ensemble()
                    .handle((ensemble, error) -> {
                        if (ensemble != null) {
                            session.hops(Ensemble.hops(ensemble));
                        }
                        return true; // else a proof will ask again
                    })
                    .completeOnTimeout(false, STAND_PATIENCE.toNanos(), TimeUnit.NANOSECONDS)
                    .join();
        }
    }

    /** A proof takes half a tick and more, so that it is old when it arrives. */
    @Override
    public Duration renewal(CandidacyConfig settings) {
        var session = sessions.take(settings.lease());
        try {
            if (session.awaitConnected(STAND_PATIENCE)) {
                learnHops(session);
            }
            return session.renewal(settings);
        } finally {
            sessions.giveBack(settings.lease());
        }
    }

    @Override
    public List<Finding> findings(CandidacyConfig settings) {
        var session = sessions.take(settings.lease());
        try {
            return ZooKeeperDoctor.of(session, settings, paths.parent(), config.tickTime());
        } finally {
            sessions.giveBack(settings.lease());
        }
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        this.loop = loop;
        var seat = new QueueSeat(
                standing, claimant, loop, this, sessions.take(standing.config().lease()));
        seats.add(seat);
        return seat;
    }

    // ---------------------------------------------------------------- for seats

    ZooKeeperConfig config() {
        return config;
    }

    /** Returns the full path of the node of an election. */
    String path(SeatSession session, String election) {
        return session.client().full(paths.election(election));
    }

    void left(QueueSeat seat) {
        if (seats.remove(seat)) {
            sessions.giveBack(seat.config().lease());
        }
    }

    /** A candidate has taken its node back: clears away what was there for its sake. */
    void departed(SeatSession session, String election, String node, boolean ordered, boolean ended) {
        if (ordered) {
            Orders.obeyed(session, election, node);
        }
        if (ended) {
            SingleRequests.whenDone(Orders.tidy(session, election), (deleted, error) -> {});
        }
    }

    /** Returns what to say where elections are made by administrators only. */
    ElectionException missing(String election) {
        return new ElectionException("there is no node " + election + " on " + main.where()
                + ", and createElections is false: have it made");
    }

    /** Makes the node of an election and those above it, as far as they are missing. */
    CompletableFuture<Boolean> make(SeatSession session, String path) {
        return session.requests()
                .all(List.of(session.client().creation(CreateMode.PERSISTENT, path, "")))
                .thenApply(made -> true)
                .exceptionallyCompose(error -> switch (ZooKeeperErrors.code(error)) {
                    case NODEEXISTS -> CompletableFuture.completedFuture(false);
                    case NONODE -> {
                        var slash = path.lastIndexOf('/');
                        yield slash <= 0
                                ? CompletableFuture.failedFuture(error)
                                : make(session, path.substring(0, slash)).thenCompose(above -> make(session, path));
                    }
                    default -> CompletableFuture.failedFuture(error);
                });
    }

    // ---------------------------------------------------------------- for observers and operators

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        var path = path(main, election);
        return persistently(() -> main.requests()
                .sync(path)
                .thenCompose(synced -> main.requests().children(path, null))
                .thenCompose(children -> read(election, path, children.names()))
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                        ? CompletableFuture.completedFuture(View.unheld(election))
                        : CompletableFuture.failedFuture(error)));
    }

    private CompletableFuture<View> read(String election, String path, List<String> children) {
        var queue =
                Paths.queue(children).stream().map(node -> path + '/' + node).toList();
        return readAll(queue)
                .thenCompose(nodes -> ordered(path, children)
                        .thenApply(ordered ->
                                Views.of(election, children.contains(Paths.DONE), ordered, Views.present(nodes))));
    }

    /** Whether the leader is to stand down: an order may have outlived whom it named. */
    private CompletableFuture<Boolean> ordered(String path, List<String> children) {
        var queue = Paths.queue(children);
        if (queue.isEmpty() || !children.contains(Paths.STAND_DOWN)) {
            return CompletableFuture.completedFuture(false);
        }
        return readAll(List.of(path + '/' + Paths.STAND_DOWN))
                .thenApply(order -> order.get(0)
                        .filter(node -> node.text().equals(queue.get(0)))
                        .isPresent());
    }

    private CompletableFuture<List<Optional<SingleRequests.Node>>> readAll(List<String> nodes) {
        return new NodeReader(main.requests()).read(nodes, stat -> true);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        var observer = new Observer(election, main, path(main, election), watcher, loop, observers::remove);
        observers.add(observer);
        observer.begin();
        return observer;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        var path = path(main, election);
        return persistently(() -> Orders.carryOut(this, main, path, order));
    }

    /** Deletes all candidates of an election, by telling them; returns false if there is no such election. */
    CompletionStage<Boolean> dismiss(String election) {
        var path = path(main, election);
        return persistently(() -> Orders.dismiss(main, path));
    }

    @Override
    public CompletionStage<List<String>> list() {
        var parent = main.client().full(paths.parent());
        var prefix = parent.equals("/") ? "/" : parent + '/';
        return persistently(() -> main.requests()
                .sync(parent)
                .thenCompose(synced -> main.requests().children(parent, null))
                .thenCompose(children -> {
                    var names = children.names().stream()
                            .filter(name -> !prefix.equals("/") || !name.equals("zookeeper"))
                            .toList();
                    return readAll(names.stream()
                                    .map(name -> prefix + name + '/' + Paths.DONE)
                                    .toList())
                            .thenApply(done -> IntStream.range(0, names.size())
                                    .filter(i -> done.get(i)
                                            .filter(node -> Orders.isDeletion(node.text()))
                                            .isEmpty())
                                    .mapToObj(i -> Paths.decode(names.get(i)))
                                    .toList());
                })
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NONODE
                        ? CompletableFuture.completedFuture(List.of())
                        : CompletableFuture.failedFuture(error)));
    }

    /** Tries again while there is no answer, for a while: all that is asked here may be asked twice. */
    private <T> CompletionStage<T> persistently(Supplier<CompletableFuture<T>> request) {
        var until = System.nanoTime() + PERSISTENCE.toNanos();
        return attempt(request, until)
                .exceptionallyCompose(
                        error -> CompletableFuture.failedFuture(ZooKeeperErrors.translated(error, main.where())));
    }

    private static <T> CompletableFuture<T> attempt(Supplier<CompletableFuture<T>> request, long untilNanos) {
        return request.get().exceptionallyCompose(error -> {
            var passing = switch (ZooKeeperErrors.code(error)) {
                case CONNECTIONLOSS, SESSIONEXPIRED, SESSIONMOVED, OPERATIONTIMEOUT, REQUESTTIMEOUT ->
                    !(error instanceof ElectionException) && !(error.getCause() instanceof ElectionException);
                default -> false;
            };
            return passing && System.nanoTime() - untilNanos < 0
                    ? CompletableFuture.completedFuture(true)
                            .thenComposeAsync(soon -> attempt(request, untilNanos), SOON)
                    : CompletableFuture.failedFuture(error);
        });
    }

    // ---------------------------------------------------------------- the end

    @Override
    public void close() {
        List.copyOf(observers).forEach(Observer::close);
        var last = loop;
        if (last != null && !main.isOurs()) {
            var done = new CompletableFuture<Boolean>();
            last.execute(() -> {
                seats.forEach(QueueSeat::abandon);
                done.complete(true);
            });
            done.completeOnTimeout(false, 1, TimeUnit.SECONDS).join();
        }
        sessions.close();
    }
}
