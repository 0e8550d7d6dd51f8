package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;

/**
 * Proves, again and again, for how long the ensemble will keep a session: for all seats in it at one time, however many.
 *
 * <p>Confined to the loop.
 */
final class Proving {
    /*
     * A session is expired by the leader of the ensemble (or the lone server), by its clock, when the timeout has passed since it last
     * heard of the session; rounded up to its next tick, never down. Which of our requests tell it of the session?
     *
     *   - Any, if our server is the leader: it notes the session before it answers.
     *   - None directly, if our server is a follower or an observer. That one notes which sessions it has heard of, and hands its list
     *     over with its reply to the leader's next ping, which comes every half tick. A write that goes through the follower is
     *     checked against the session at the leader, but does not extend it.
     *
     * So a round is a sequence of requests on one connection, each sent when the one before was answered:
     *
     *   1. touch: any read. Our server notes the session. From before this one the time counts.
     *   2. sync: goes to the leader and back. The leader is alive, after our server has noted the session.
     *      Then half a tick passes, and some more, with another sync in between: meanwhile the leader has sent our server a ping.
     *   3. sync: what comes back has queued behind that ping. So our server has replied to it, with the list.
     *   4. a transaction, which changes nothing: it has queued behind that reply on its way to the leader. When it is carried out, the
     *      leader has read the list, and keeps the session from then on for the timeout. It is a transaction, not a read, since only a
     *      leader that has not been deposed gets one through; a later leader begins all sessions anew. It also checks that the nodes
     *      of those who lead are still there.
     *
     * The one thing that is taken on trust: a leader that answers does not keep its pings back for longer than the slack. Without the
     * syncs before and within the half tick, a leader that was paused, and answers ours before it sends the ping that is overdue, would
     * make a proof of nothing.
     *
     * Both ways between the servers keep their order, since each is one TCP connection. If ours broke meanwhile, the round is void:
     * the two halves may have gone through different servers.
     */

    private static final long SLACK_NANOS = 100_000_000;
    /** How many syncs see to it that the leader is alive while we wait for its ping. */
    private static final int LOOKS = 2;

    private static final String ROOT = "/";
    /** Checks in one transaction: some hundred bytes each, of the megabyte that a request may have. */
    private static final int BATCH = 1_000;

    private final Session session;
    private final Duration tick;
    private @Nullable Loop loop;
    private Loop.@Nullable Timer timer;
    private @Nullable Round current;
    private @Nullable Proof last;
    private long lastGeneration;

    Proving(Session session, Duration tick) {
        this.session = session;
        this.tick = tick;
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
        return age < youngerThan.toNanos() ? Optional.of(proof) : Optional.empty();
    }

    /** Begins a round, and sets the time of the next. */
    void now() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        var interval = shortest(CandidacyConfig::renewInterval);
        if (interval.isEmpty()) {
            return; // until somebody enters
        }
        timer = loop().at(loop().clock().nanos() + interval.get().toNanos(), this::now);
        var unfinished = current;
        if (unfinished != null) {
            unfinished.missed();
        }
        current = new Round();
        current.begin();
    }

    private void retry(Round failed) {
        if (current != failed) {
            return; // there is a newer one
        }
        current = null;
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

    private <T> void then(CompletableFuture<T> answer, BiConsumer<@Nullable T, @Nullable Throwable> turn) {
        var present = loop();
        Requests.whenDone(answer, (value, error) -> present.execute(() -> turn.accept(value, error)));
    }

    /** One sequence of the three requests. */
    private final class Round {
        private final long breaks = session.breaks();
        private final long generation = session.generation();
        private final Moment since = loop().clock().now();
        private final Duration timeout = session.client().timeout();
        private boolean missed;

        private void begin() {
            then(session.requests().exists(ROOT, null), (stat, error) -> {
                if (error != null) {
                    failed();
                } else {
                    sync(LOOKS);
                }
            });
        }

        /** How long it takes at most until the leader has pinged our server: half a tick, and its clock and threads may be slow. */
        private long flushNanos() {
            var half = Math.min(tick.toNanos() / 2, timeout.toNanos() / 4); // a session has two ticks at least
            return half + half / 10 + Math.min(SLACK_NANOS, timeout.toNanos() / 8);
        }

        private void sync(int looks) {
            then(session.requests().sync(ROOT), (done, error) -> {
                if (error != null || session.breaks() != breaks) {
                    failed();
                } else if (looks == 0) {
                    check();
                } else {
                    loop().at(loop().clock().nanos() + flushNanos() / LOOKS, () -> sync(looks - 1));
                }
            });
        }

        private void check() {
            var holders = session.seats().stream().filter(QueueSeat::provable).toList();
            var checks = new ArrayList<CompletableFuture<List<OpResult>>>();
            for (var from = 0; from == 0 || from < holders.size(); from += BATCH) {
                var batch = holders.subList(from, Math.min(holders.size(), from + BATCH));
                checks.add(session.requests().all(checks(batch)).whenComplete((results, error) -> {
                    if (error instanceof Requests.Refused refused
                            && refused.code() == Code.NONODE
                            && refused.failed() >= 0
                            && refused.failed() < batch.size()) {
                        loop().execute(batch.get(refused.failed())::vanished);
                    }
                }));
            }
            then(CompletableFuture.allOf(checks.toArray(CompletableFuture[]::new)), (done, error) -> {
                if (error == null || (holders.isEmpty() && isAnswer(Failures.code(error)))) {
                    proven(holders);
                } else if (Failures.code(error) == Code.NONODE && session.breaks() == breaks) {
                    check(); // without the one that is no more
                } else {
                    failed();
                }
            });
        }

        /** Whether the ensemble has agreed on it: a transaction that is refused is one, too. */
        private boolean isAnswer(Code code) {
            return code == Code.NONODE || code == Code.NOAUTH;
        }

        private List<Op> checks(List<QueueSeat> holders) {
            return holders.isEmpty()
                    ? List.of(Op.check(ROOT, -1))
                    : holders.stream().map(seat -> Op.check(seat.path(), -1)).toList();
        }

        private void proven(List<QueueSeat> holders) {
            var negotiated = session.client().timeout();
            if (session.breaks() != breaks || session.generation() != generation) {
                failed();
                return;
            }
            var proof = new Proof(since, timeout.compareTo(negotiated) < 0 ? timeout : negotiated);
            var present = last;
            if (present == null || lastGeneration != generation || since.nanosSince(present.since()) > 0) {
                last = proof;
                lastGeneration = generation;
            }
            if (current == this) {
                current = null;
            }
            var latency = Duration.ofNanos(loop().clock().now().nanosSince(since));
            holders.forEach(seat -> seat.proven(proof, latency));
            session.seats().forEach(seat -> seat.refreshed());
        }

        private void failed() {
            missed();
            retry(this);
        }

        private void missed() {
            if (!missed) {
                missed = true;
                var latency = Duration.ofNanos(loop().clock().now().nanosSince(since));
                session.seats().stream()
                        .filter(QueueSeat::provable)
                        .forEach(seat -> seat.attempted(Attempt.MISSED, latency));
            }
        }
    }
}
