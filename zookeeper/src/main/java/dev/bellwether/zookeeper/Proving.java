package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;

/**
 * Proves, again and again, for how long the ensemble will keep a session: for all seats in it at one time, however
 * many. Sends what a {@link ProofRound} asks for; a round begins while others are under way, if they take long.
 *
 * <p>Confined to the loop.
 */
final class Proving {
    private static final String ROOT = "/";
    /** Bytes of paths in one transaction of checks, of the megabyte that a request may have. */
    private static final int BATCH_BYTES = 200_000;
    /** Of what a check takes besides its path. */
    private static final int CHECK_BYTES = 32;

    private final SeatSession session;
    private final ProofTiming timing;
    private final Set<Flight> flights = new LinkedHashSet<>();
    private @Nullable Loop loop;
    private Loop.@Nullable Timer timer;
    private @Nullable Flight newest;
    private @Nullable Proof last;
    private long lastGeneration;

    Proving(SeatSession session, ProofTiming timing) {
        this.session = session;
        this.timing = timing;
    }

    /** A seat has come: if it is the first for a while, begin. */
    void entered(Loop loop) {
        this.loop = loop;
        if (timer == null) {
            firstProof();
            now();
        }
    }

    /** There is a connection again. */
    void connected() {
        firstProof();
        if (timer != null) {
            now();
        }
    }

    /** A session that was created after a moment cannot be expired before that moment and its timeout. */
    private void firstProof() {
        if (last == null) {
            session.opened()
                    .filter(since -> !session.client().timeout().isZero())
                    .ifPresent(since -> last = new Proof(since, session.client().timeout()));
        }
    }

    /** Returns the last proof of the present session, if it is younger than this. */
    Optional<Proof> last(Duration youngerThan) {
        var proof = last;
        if (proof == null || lastGeneration != session.generation()) {
            return Optional.empty();
        }
        var age = loop().clock().now().nanosSince(proof.since());
        var negotiated = session.client().timeout(); // perhaps less by now, with another server
        return age < youngerThan.toNanos()
                ? Optional.of(
                        negotiated.compareTo(proof.guarantee()) < 0 ? new Proof(proof.since(), negotiated) : proof)
                : Optional.empty();
    }

    /** Begins a round, and sets the time of the next. */
    void now() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        var interval = shortest(config -> timing.interval(config, session.hops()));
        if (interval.isEmpty()) {
            return; // until somebody enters
        }
        timer = loop().at(loop().clock().nanos() + interval.get().toNanos(), this::now);
        var overdue = timing.round(session.hops()).plus(interval.get());
        flights.forEach(flight -> flight.missedAfter(overdue));
        newest = new Flight();
        flights.add(newest);
        newest.proceed();
    }

    private void retry(Flight failed) {
        if (newest != failed) {
            return; // there is a newer one
        }
        var pause = shortest(CandidacyConfig::retryInterval);
        if (timer != null && pause.isPresent()) {
            timer.cancel();
            timer = loop().at(loop().clock().nanos() + pause.get().toNanos(), this::now);
        }
    }

    private Optional<Duration> shortest(Function<CandidacyConfig, Duration> setting) {
        return session.seats().stream()
                .map(seat -> setting.apply(seat.config()))
                .min(Comparator.naturalOrder());
    }

    private Loop loop() {
        if (loop == null) {
            throw new IllegalStateException("nobody has entered");
        }
        return loop;
    }

    /** A round that is under way. */
    private final class Flight {
        private final long generation = session.generation();
        private final ProofRound round =
                new ProofRound(timing, loop().clock().now(), session.client().timeout(), session.breaks());
        private List<QueueSeat> holders = List.of();
        private boolean missed;

        /** Does what the round asks for. */
        private void proceed() {
            switch (round.step()) {
                case TOUCH ->
                    then(session.requests().ensemble(), (ensemble, error) -> {
                        if (ensemble != null) {
                            session.hops(Ensemble.hops(ensemble));
                            round.touched(session.hops(), session.breaks());
                        } else if (error != null && ZooKeeperErrors.code(error) == Code.NOAUTH) {
                            session.hops(Ensemble.MOST_HOPS); // we may not know: our server may be an observer
                            round.touched(session.hops(), session.breaks());
                        } else {
                            round.fail();
                        }
                    });
                case SYNC ->
                    then(session.requests().sync(ROOT), (done, error) -> {
                        if (error == null) {
                            round.synced(loop().clock().nanos(), session.breaks());
                        } else {
                            round.fail();
                        }
                    });
                case AWAIT_PING, AWAIT_SLACK ->
                    loop().at(round.wakeAtNanos(), () -> {
                        round.tick(loop().clock().nanos(), session.breaks());
                        proceed();
                    });
                case CHECK -> check();
                case PROVEN -> proven();
                case VOID -> failed();
            }
        }

        private <T> void then(CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
            var present = loop();
            SingleRequests.whenDone(
                    answer,
                    (value, error) -> present.execute(() -> {
                        turn.accept(value, error);
                        proceed();
                    }));
        }

        private void check() {
            holders = session.seats().stream().filter(QueueSeat::provable).toList();
            var checks = batches(holders).stream().map(this::check).toArray(CompletableFuture[]::new);
            then(CompletableFuture.allOf(checks), (done, error) -> {
                if (error == null || (holders.isEmpty() && isAnswer(ZooKeeperErrors.code(error)))) {
                    round.checked(session.breaks());
                } else if (ZooKeeperErrors.code(error) != Code.NONODE || session.breaks() != round.connection()) {
                    round.fail();
                } // else again, without the one that is no more
            });
        }

        private CompletableFuture<List<OpResult>> check(List<QueueSeat> batch) {
            return session.requests().all(checks(batch)).whenComplete((results, error) -> {
                if (error instanceof SingleRequests.Refused refused
                        && refused.code() == Code.NONODE
                        && refused.failed() >= 0
                        && refused.failed() < batch.size()) {
                    loop().execute(batch.get(refused.failed())::vanished);
                }
            });
        }

        /** Whether the ensemble has agreed on it: a transaction that is refused is one, too. */
        private boolean isAnswer(Code code) {
            return code == Code.NONODE || code == Code.NOAUTH;
        }

        private List<Op> checks(List<QueueSeat> batch) {
            return batch.isEmpty()
                    ? List.of(Op.check(ROOT, -1))
                    : batch.stream().map(seat -> Op.check(seat.path(), -1)).toList();
        }

        private void proven() {
            if (session.generation() != generation) {
                failed();
                return;
            }
            flights.remove(this);
            var proof = round.proof(session.client().timeout());
            var present = last;
            if (present == null || lastGeneration != generation || proof.since().nanosSince(present.since()) > 0) {
                last = proof;
                lastGeneration = generation;
            }
            var latency = age();
            session.each(session.seats(), QueueSeat::answered);
            session.each(holders, seat -> seat.proven(proof, latency));
            session.each(session.seats(), QueueSeat::refreshed);
        }

        private void failed() {
            flights.remove(this);
            missed();
            retry(this);
        }

        private void missedAfter(Duration time) {
            if (age().compareTo(time) > 0) {
                missed();
            }
        }

        private void missed() {
            if (!missed) {
                missed = true;
                var latency = age();
                session.each(session.seats(), seat -> {
                    seat.unanswered(latency);
                    if (seat.provable()) {
                        seat.attempted(Attempt.MISSED, latency);
                    }
                });
            }
        }

        private Duration age() {
            return Duration.ofNanos(loop().clock().now().nanosSince(round.since()));
        }
    }

    /** Splits them so that the paths of each part fit into a request. */
    private static List<List<QueueSeat>> batches(List<QueueSeat> seats) {
        var batches = new ArrayList<List<QueueSeat>>();
        var batch = new ArrayList<QueueSeat>();
        var bytes = 0;
        for (var seat : seats) {
            var size = CHECK_BYTES + 3 * seat.path().length();
            if (bytes + size > BATCH_BYTES && !batch.isEmpty()) {
                batches.add(List.copyOf(batch));
                batch.clear();
                bytes = 0;
            }
            batch.add(seat);
            bytes += size;
        }
        batches.add(List.copyOf(batch));
        return batches;
    }
}
