package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.DelayThread;
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
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
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
    private static final Executor SOON = DelayThread.after(Duration.ofMillis(100));

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
    public Optional<String> handOverObjection() {
        return Optional.empty();
    }

    @Override
    public Optional<String> proclaimObjection() {
        return Optional.empty();
    }

    @Override
    public void check(String election, CandidacyConfig settings) {
        sessions.with(settings.lease(), session -> {
            if (session.awaitConnected(patience())) { // else we learn it later, and fail then
                check(session, settings);
            }
            return true;
        });
    }

    /** In an outage nobody waits: what we cannot know now is refused later. */
    private Duration patience() {
        return main.client().isConnected() ? STAND_PATIENCE : Duration.ZERO;
    }

    private void check(SeatSession session, CandidacyConfig settings) {
        session.refusal(settings).or(() -> tooShort(session, settings)).ifPresent(error -> {
            throw error;
        });
        var timeout = session.state().timeout();
        if (timeout.compareTo(Client.timeoutFor(settings.lease())) > 0 && warned.add(timeout)) {
            log.warn(
                    "sessions with {} last {} at least: a crash will cost that, not the lease of {}",
                    session.where(),
                    Durations.show(timeout),
                    Durations.show(settings.lease()));
        }
    }

    private Optional<ElectionException> tooShort(SeatSession session, CandidacyConfig settings) {
        learnHops(session);
        return session.prover().tooShort(settings);
    }

    private void learnHops(SeatSession session) {
        session.prover()
                .learnHops()
                .exceptionally(error -> 0) // a proof will ask again
                .completeOnTimeout(0, patience().toNanos(), TimeUnit.NANOSECONDS)
                .join();
    }

    /** A proof takes half a tick and more, so that it is old when it arrives. */
    @Override
    public Duration renewal(CandidacyConfig settings) {
        return timed(settings, prover -> prover.renewal(settings));
    }

    /** The round that failed is followed by another, or that by which there is a connection again. */
    @Override
    public Duration recovery(CandidacyConfig settings) {
        return timed(settings, prover -> settings.retryInterval().plus(prover.round()));
    }

    private Duration timed(CandidacyConfig settings, Function<SessionProver, Duration> length) {
        return sessions.with(settings.lease(), session -> {
            if (session.awaitConnected(patience())) {
                learnHops(session);
            }
            return length.apply(session.prover());
        });
    }

    @Override
    public List<Finding> findings(CandidacyConfig settings) {
        return sessions.with(
                settings.lease(), session -> ZooKeeperDoctor.of(session, settings, paths.parent(), config.tickTime()));
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        this.loop = loop.shared(); // in the end it is for all
        var session = sessions.take(standing.config().lease());
        var nodes = nodes(session, standing.election());
        var seat =
                new QueueSeat(standing, claimant, loop, nodes, session.prover(), config.createElections(), this::left);
        seats.add(seat);
        return seat;
    }

    private void left(QueueSeat seat) {
        if (seats.remove(seat)) {
            sessions.giveBack(seat.config().lease());
        }
    }

    private ElectionNodes nodes(SeatSession session, String election) {
        return new ElectionNodes(session, session.client().full(paths.election(election)));
    }

    // ---------------------------------------------------------------- for observers and operators

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return persistently(() -> nodes(main, election).view(election));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        var observer = new Observer(election, nodes(main, election), watcher, loop, observers::remove);
        observers.add(observer);
        observer.begin();
        return observer;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return persistently(() -> nodes(main, election).order(order));
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return persistently(() -> nodes(main, election).note(token, expected, note, ""));
    }

    /** Deletes all candidates of an election, by telling them; returns false if there is no such election. */
    CompletionStage<Boolean> dismiss(String election) {
        return persistently(() -> nodes(main, election).dismiss());
    }

    @Override
    public CompletionStage<List<String>> list() {
        var parent = main.client().full(paths.parent());
        var prefix = parent.equals("/") ? "/" : parent + '/';
        var requests = main.requests();
        return persistently(() -> NodeRequests.ifMissing(
                requests.sync(parent)
                        .thenCompose(synced -> requests.children(parent, null))
                        .thenCompose(children -> {
                            var names = children.names().stream()
                                    .filter(name -> !prefix.equals("/") || !name.equals("zookeeper"))
                                    .toList();
                            var ends = names.stream()
                                    .map(name -> prefix + name + '/' + Paths.DONE)
                                    .toList();
                            return NodeReader.leavingOut(requests) // of those that others keep to themselves
                                    .read(ends, stat -> true)
                                    .thenApply(done -> IntStream.range(0, names.size())
                                            .filter(i -> done.get(i)
                                                    .filter(node -> ElectionNodes.isDeletion(node.text()))
                                                    .isEmpty())
                                            .mapToObj(i -> Paths.decode(names.get(i)))
                                            .toList());
                        }),
                List.of()));
    }

    /** Tries again while there is no answer, for a while: all that is asked here may be asked twice. */
    private <T> CompletionStage<T> persistently(Supplier<CompletableFuture<T>> request) {
        var until = System.nanoTime() + PERSISTENCE.toNanos();
        return attempt(request, until)
                .exceptionallyCompose(
                        error -> CompletableFuture.failedFuture(ZooKeeperErrors.translated(error, main.where())));
    }

    private static <T> CompletableFuture<T> attempt(Supplier<CompletableFuture<T>> request, long untilNanos) {
        return request.get()
                .exceptionallyCompose(error -> ZooKeeperErrors.isUnanswered(error) && System.nanoTime() - untilNanos < 0
                        ? CompletableFuture.completedFuture(true)
                                .thenComposeAsync(soon -> attempt(request, untilNanos), SOON)
                        : CompletableFuture.failedFuture(error));
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
