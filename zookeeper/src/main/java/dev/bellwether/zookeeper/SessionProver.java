package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Proves, again and again, for how long the ensemble will keep a session: for all seats in it at one time, however
 * many. Sends what a {@link ProofRound} asks for; a round begins while others are under way, if they take long.
 *
 * <p>Confined to the loop, except what it knows of {@linkplain #hops hops} and {@linkplain #tooShort lengths}. A
 * function of its state, of answers and of the loop's clock.
 */
final class SessionProver {
    private static final Logger log = LoggerFactory.getLogger(SessionProver.class);
    private static final String ROOT = "/";
    /** Of what a check takes besides its path. */
    private static final int CHECK_BYTES = 32;

    private final NodeSession session;
    private final ProofTiming timing;
    private final @Nullable Moment opened;
    private final Set<SessionSeat> seats = new LinkedHashSet<>();
    /** Those whose lease was long enough for a proof once. */
    private final Set<SessionSeat> fitting = new HashSet<>();

    private boolean warned;
    private final Set<Flight> flights = new LinkedHashSet<>();
    /** That of the seats, without what guards any one of them: whatever becomes of that, the others must be proven. */
    private volatile @Nullable Loop loop;

    private Loop.@Nullable Timer timer;
    /** When that timer begins the next round. */
    private long dueNanos;

    private @Nullable Flight newest;
    /** How long after a proof the next arrives, at most, with the seats that there were when a round last began. */
    private Duration renewal = Duration.ZERO;

    private @Nullable Proof last;
    private long lastGeneration;
    /** In how many hops our server hands on which sessions it has heard of; 0 as long as we have not asked. */
    private volatile int hops;

    /**
     * Proves a session.
     *
     * @param opened when the first session began, if that was ours to know
     */
    SessionProver(NodeSession session, ProofTiming timing, @Nullable Moment opened) {
        this.session = session;
        this.timing = timing;
        this.opened = opened;
    }

    // ---------------------------------------------------------------- seats

    /** A seat has come: if it is the first for a while, begin. If it needs proofs more often, begin the next sooner. */
    void enter(SessionSeat seat) {
        loop = seat.loop().shared();
        seats.add(seat);
        var present = newest;
        if (timer == null || present == null) {
            firstProof();
            now();
            return;
        }
        var now = loop().clock().nanos();
        var interval = timing.interval(seat.config(), hops()).toNanos();
        var sooner = present.round.since().nanos() + interval - now;
        if (sooner <= 0) {
            now();
        } else if (now + sooner - dueNanos < 0) {
            next(sooner);
        }
    }

    void exit(SessionSeat seat) {
        seats.remove(seat);
        fitting.remove(seat);
    }

    /** Does this for each seat: one at which it throws fails, and harms no other. */
    // whatever it is: the others must hear
    @SuppressWarnings("CatchingUnchecked")
    void each(Consumer<SessionSeat> action) {
        for (var seat : List.copyOf(seats)) {
            seat.loop().runNow(() -> {
                try {
                    action.accept(seat);
                } catch (Throwable fault) {
                    seat.refused(new ElectionException(
                            "what its session with " + session.where() + " told a seat was not heard out: " + fault,
                            fault));
                }
            });
        }
    }

    /** Does this on the loop, if anybody has ever entered; returns whether it will be done. */
    boolean onLoop(Runnable turn) {
        var present = loop;
        if (present != null) {
            present.execute(turn);
        }
        return present != null;
    }

    // ---------------------------------------------------------------- how long it takes, for any thread

    /** Returns in how many hops, at most, our server hands on which sessions it has heard of. */
    int hops() {
        return Math.max(1, hops);
    }

    /**
     * Asks for that, if it was not asked before. One who may not know takes the most: our server may be an observer.
     * Fails if there is no answer; a proof will ask again.
     */
    CompletableFuture<Integer> learnHops() {
        return hops > 0 ? CompletableFuture.completedFuture(hops) : askHops();
    }

    private CompletableFuture<Integer> askHops() {
        return session.requests()
                .ensemble()
                .thenApply(Ensemble::hops)
                .exceptionallyCompose(error -> ZooKeeperErrors.code(error) == Code.NOAUTH
                        ? CompletableFuture.completedFuture(Ensemble.MOST_HOPS)
                        : CompletableFuture.failedFuture(error))
                .thenApply(known -> hops = known);
    }

    /** Returns how long after a proof the next arrives, at most, as long as all goes well. */
    Duration renewal(CandidacyConfig config) {
        return timing.renewal(config, hops());
    }

    /** Returns how long a proof takes, besides the way through the network. */
    Duration round() {
        return timing.round(hops());
    }

    /** Returns why a lease is too short to be proven here in time, as far as is known. */
    Optional<ElectionException> tooShort(CandidacyConfig config) {
        if (timing.fits(config, hops())) {
            return Optional.empty();
        }
        return Optional.of(new ElectionException(
                ("the lease is %d ms, but with %s a proof of leadership takes %d ms, because its servers have a"
                                + " tickTime of %d ms by the setting%s: make the lease %d ms or longer, or set"
                                + " tickTime to the longest of any server")
                        .formatted(
                                config.lease().toMillis(),
                                session.where(),
                                timing.round(hops()).toMillis(),
                                timing.tick().toMillis(),
                                hops() > 1 ? ", and some are observers" : "",
                                timing.shortestLease(config, hops()).toMillis())));
    }

    // ---------------------------------------------------------------- proofs

    /** There is a connection again. */
    void connected() {
        firstProof();
        if (timer != null) {
            now();
        }
        each(seat -> {
            session.refusal(seat.config()).ifPresent(seat::refused);
            seat.connected();
        });
    }

    /** A session that was created after a moment cannot be expired before that moment and its timeout. */
    private void firstProof() {
        var state = session.state();
        if (last == null
                && opened != null
                && state.generation() == 0
                && !state.timeout().isZero()) {
            last = new Proof(opened, state.timeout());
        }
    }

    /** Returns the last proof of the present session, if it is younger than this. */
    Optional<Proof> last(Duration youngerThan) {
        var proof = last;
        var state = session.state();
        if (proof == null || lastGeneration != state.generation()) {
            return Optional.empty();
        }
        var age = loop().clock().now().nanosSince(proof.since());
        return age < youngerThan.toNanos()
                ? Optional.of(new Proof(
                        proof.since(), shorter(proof.guarantee(), state.timeout()))) // perhaps less with another server
                : Optional.empty();
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /**
     * A seat has no proof that is young enough to begin with. A round that is under way will bring one: were there one
     * for each seat, each with the nodes of all, a thousand seats would keep the ensemble from answering any.
     */
    void need() {
        var present = newest;
        if (present == null || !flights.contains(present) || present.isOverdue()) {
            now();
        }
    }

    /** Begins a round, and sets the time of the next. */
    void now() {
        var interval = shortest(config -> timing.interval(config, hops()));
        if (interval.isEmpty()) {
            if (timer != null) {
                timer.cancel();
                timer = null;
            }
            return; // until somebody enters
        }
        next(interval.get().toNanos()); // first: whatever is thrown below, it comes
        renewal = timing.round(hops()).plus(interval.get());
        var overdue = flights.stream().filter(Flight::isOverdue).toList();
        flights.removeAll(overdue); // they may never be answered; if they are, they prove as much
        overdue.forEach(Flight::missed);
        newest = new Flight();
        flights.add(newest);
        newest.proceed();
    }

    /** The next round begins after so long, and as long as that throws, after as long again. */
    private void next(long nanos) {
        var before = timer;
        timer = loop().every(nanos, this::now);
        dueNanos = loop().clock().nanos() + nanos;
        if (before != null) {
            before.cancel(); // last: if there is no memory for the new one, the old one goes on
        }
    }

    /**
     * Refuses a seat that stood when nobody could know how long a proof takes. One that has fitted stays: an observer
     * that is added, or a right that is withdrawn, must not end all candidacies at once. Each proof is made over as
     * many hops as its own first read tells, so no mandate is longer for that. It may end before the next proof.
     */
    private void requireFitting(SessionSeat seat) {
        var tooShort = tooShort(seat.config());
        if (tooShort.isEmpty()) {
            if (seats.contains(seat)) { // another, told before it, may have ended it
                fitting.add(seat);
            }
        } else if (!fitting.contains(seat)) {
            seat.refused(tooShort.get());
        } else if (!warned) {
            warned = true;
            log.warn(
                    "A proof of leadership takes longer than when candidacies began, because {} names an observer now,"
                            + " or its configuration may no longer be read: {}. Candidacies go on, and a leader may"
                            + " lose its seat when an answer is late",
                    session.where(),
                    tooShort.get().getMessage());
        }
    }

    /** Returns how many rounds are waited for. */
    int awaited() {
        return flights.size();
    }

    private void retry(Flight failed) {
        var pause = shortest(CandidacyConfig::retryInterval);
        if (newest == failed && timer != null && pause.isPresent()) { // else there is a newer one
            next(pause.get().toNanos());
        }
    }

    private Optional<Duration> shortest(Function<CandidacyConfig, Duration> setting) {
        return seats.stream().map(seat -> setting.apply(seat.config())).min(Comparator.naturalOrder());
    }

    private Loop loop() {
        var present = loop;
        if (present == null) {
            throw new IllegalStateException("nobody has entered");
        }
        return present;
    }

    /** A round that is under way. */
    private final class Flight {
        private final NodeSession.State began = session.state();
        private final ProofRound round = new ProofRound(timing, loop().clock().now(), began.timeout(), began.breaks());
        private final Set<String> refused = new HashSet<>();
        private Set<String> checked = Set.of();
        private boolean missed;

        /** Does what the round asks for. */
        private void proceed() {
            switch (round.step()) {
                case TOUCH ->
                    then(askHops(), (known, error) -> {
                        if (known != null) {
                            round.touched(known, breaks());
                        } else {
                            round.fail();
                        }
                    });
                case SYNC ->
                    then(session.requests().sync(ROOT), (done, error) -> {
                        if (error == null) {
                            round.synced(loop().clock().nanos(), breaks());
                        } else {
                            round.fail();
                        }
                    });
                case AWAIT_PING, AWAIT_SLACK ->
                    loop().at(round.wakeAtNanos(), () -> {
                        round.tick(loop().clock().nanos(), breaks());
                        proceed();
                    });
                case CHECK -> check();
                case PROVEN -> proven();
                case VOID -> failed();
            }
        }

        private long breaks() {
            return session.state().breaks();
        }

        private <T> void then(CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
            NodeRequests.then(loop(), answer, (value, error) -> {
                turn.accept(value, error);
                proceed();
            });
        }

        private void check() {
            checked = seats.stream()
                    .flatMap(seat -> seat.toCheck().stream())
                    .filter(path -> !refused.contains(path))
                    .collect(Collectors.toCollection(LinkedHashSet::new));
            var parts = NodeRequests.parts(List.copyOf(checked), path -> CHECK_BYTES + 3 * path.length());
            var checks = parts.stream().map(this::check).toArray(CompletableFuture[]::new);
            then(CompletableFuture.allOf(checks), (done, error) -> {
                if (error == null || (checked.isEmpty() && isAnswer(ZooKeeperErrors.code(error)))) {
                    round.checked(breaks());
                } else if (breaks() != round.connection() || !isOfOne(error)) {
                    round.fail();
                } // else again, without the one that is no more, or not for us to read
            });
        }

        private CompletableFuture<List<OpResult>> check(List<String> part) {
            var paths = part.isEmpty() ? List.of(ROOT) : part;
            var checks = paths.stream().map(path -> Op.check(path, -1)).toList();
            return session.requests().all(checks).whenComplete((results, error) -> {
                if (error instanceof RefusedTransaction transaction
                        && isOfOne(error)
                        && transaction.failed() < part.size()) {
                    onLoop(() -> failed(part.get(transaction.failed()), error));
                }
            });
        }

        /** Whether the error is about one node, and it is known about which. */
        private boolean isOfOne(Throwable error) {
            return Causes.unwrapped(error) instanceof RefusedTransaction transaction
                    && isAnswer(ZooKeeperErrors.code(error))
                    && transaction.failed() >= 0;
        }

        /** The others are proven without it. */
        private void failed(String path, Throwable error) {
            var refusal = ZooKeeperErrors.refusal(error, session.where());
            if (refusal.isPresent()) {
                refused.add(path);
            }
            each(seat -> {
                if (seat.toCheck().filter(path::equals).isPresent()) {
                    refusal.ifPresentOrElse(seat::refused, seat::vanished);
                }
            });
        }

        /** Whether the ensemble has agreed on it: a transaction that is refused is one, too. */
        private boolean isAnswer(Code code) {
            return code == Code.NONODE || code == Code.NOAUTH;
        }

        private void proven() {
            var state = session.state();
            var wasKnown = !began.timeout().isZero(); // how long the session lives
            if (state.generation() != began.generation() || !wasKnown) {
                failed();
                return;
            }
            flights.remove(this);
            var proof = round.proof(state.timeout());
            var present = last;
            if (present == null
                    || lastGeneration != state.generation()
                    || proof.since().nanosSince(present.since()) > 0) {
                last = proof;
                lastGeneration = state.generation();
            }
            var latency = age();
            each(seat -> {
                session.refusal(seat.config()).ifPresentOrElse(seat::refused, () -> requireFitting(seat));
                seat.proven(
                        proof, latency, seat.toCheck().filter(checked::contains).isPresent());
            });
        }

        private void failed() {
            flights.remove(this);
            missed();
            retry(this);
        }

        /** Whether the next should have arrived by now. */
        private boolean isOverdue() {
            return age().compareTo(renewal) > 0;
        }

        private void missed() {
            if (!missed) {
                missed = true;
                var waited = age();
                each(seat -> seat.unproven(waited));
            }
        }

        private Duration age() {
            return Duration.ofNanos(loop().clock().now().nanosSince(round.since()));
        }
    }
}
