package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics.Attempt;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Gets and keeps the lease of one candidacy: the machine that makes a seat of a {@link LeaseStore}.
 *
 * <p>Confined to the loop, and deterministic: given the same answers at the same times it does the same.
 */
final class LeaseSeat implements Seat {
    /*
     *   IDLE --claim--> CLAIMING --granted--> HOLDING --concede--> CONCEDING
     *                    ^  | |                  |                    |
     *                    |  | +-no answer--> RESOLVING (read, renew)  |
     *                    |  +---refused--> WAITING                    |
     *                    +-------------------'                        |
     *   HOLDING, CONCEDING, WAITING --release--> RELEASING --answer, or lease run out--> IDLE;  --refused--> IDLE, lost
     *   IDLE --release, or a lease later, if we may be listed--> RELEASING
     *   any --leave--> LEAVING (release) --> LEFT
     *
     * How long each of them waits, and for an answer, says Timings.
     *
     * Three rules make it safe.
     *
     * 1. A proof counts from before its request left. A renewal that was sent and never answered proves nothing; the
     * answer to
     *    an older one may still come, and counts from its own beginning.
     * 2. Every claim has a nonce of its own, in which no other process can be in step with us: not even a copy of this
     * one, which
     *    has our instance id and our count of attempts. If its answer is lost, we read the seat. Our nonce there is no
     *    proof yet: a store may show what it has not decided, or not written to its disk. So we renew what we have
     *    read, and lead when that is granted. Anything else means that we do not have the seat now; and if the store
     *    carries the claim out later, the next refusal shows a nonce that we sent, and we release it. We know those one
     *    by one: a nonce that merely begins as ours do is that of a copy, which may lead under it.
     * 3. An answer to a claim that is no longer the present one grants nothing. If it is a grant, we give it back.
     *
     * And a notice is only a hint, since who may send one need not have any right to the seat. It may make us look, or
     * claim sooner. It puts nothing off, and ends nothing: what we obey is what we have read ourselves.
     */
    enum Phase {
        /** Not asked to stand. */
        IDLE,
        /** A claim is under way. */
        CLAIMING,
        /** A claim went unanswered; reading what became of it, and renewing it if it is there. */
        RESOLVING,
        /** Somebody else holds the seat, or we wait before the next try. */
        WAITING,
        /** The lease is ours; renewing it. */
        HOLDING,
        /** The lease is ours; not renewing it any more. */
        CONCEDING,
        /** Giving it back. */
        RELEASING,
        /** Giving back whatever we have, permanently. */
        LEAVING,
        /** Nothing of ours is left. */
        LEFT
    }

    /** What seats share. */
    interface RenewalBatcher {
        /** From now on, tells the seat what others change in its election. */
        void join(LeaseSeat seat);

        /** Extends a lease along with whatever else is due in this turn. The answer comes in a later one. */
        void renew(Lease lease, BiConsumer<@Nullable Answer, @Nullable Throwable> onAnswer);

        /** Tells the seat no more. */
        void leave(LeaseSeat seat);
    }

    private static final int RELEASE_TRIES = 3;
    private static final int READY_TRIES = 3;
    /** So often notices may put off what we would do, between two claims. */
    private static final int MOST_HOLDINGS = 2;
    /**
     * A claim before these that is carried out after all is somebody else's to us: we wait until its lease has run out.
     */
    private static final int REMEMBERED_NONCES = 64;

    private final Standing standing;
    private final LeaseStore store;
    private final RenewalBatcher batcher;
    private final Claimant claimant;
    private final Loop loop;
    private final Timings timings;
    private final AccessPatience access;

    private Phase phase = Phase.IDLE;
    private boolean joined;
    private boolean wanted;
    private long least; // the token to be granted with, if that is above all before
    private int attempt;
    private @Nullable Claim claim; // the present one: under way, or granted
    /** The last nonces that were sent, any of which may still be carried out. */
    private final ArrayDeque<String> sentNonces = new ArrayDeque<>();

    private @Nullable Moment claimedAt;
    private long token;
    private @Nullable Moment lastProof;
    private @Nullable Moment unanswered; // when the renewal was sent that has no answer yet
    private @Nullable View meanwhile; // what was noticed while a claim was under way
    private int refusals;
    private boolean unconfirmed; // the last release has gone unanswered
    private boolean listed; // as a candidate, unless a release that is under way has been carried out
    private int topPriority = Integer.MIN_VALUE;
    private long era = Claim.ANY_ERA;
    private Loop.@Nullable Timer timer;
    private long timerNanos; // when that is due
    private Map<String, String> metadata;
    private String preparing = ""; // the last order by which we were asked to get ready
    private @Nullable HandOverNote ready; // what we have said last
    /** What we have held back for, so that it puts us off once, whatever we are told; and until when. */
    private String heldBackFor = "";

    private long heldBackUntilNanos;
    private int holdings; // since our last claim: notices, which may not be true, must not put us off forever
    private String watchedOrder = ""; // while we lead: by which a candidate is to get ready
    private long orderOverNanos; // and when it should have been
    private boolean confirming; // reading what a notice told
    private boolean confirmAgain;
    private long confirmUntilNanos; // after that, the reading has gone unanswered

    LeaseSeat(Standing standing, LeaseStore store, RenewalBatcher batcher, Claimant claimant, Loop loop) {
        this.standing = standing;
        this.store = store;
        this.batcher = batcher;
        this.claimant = claimant;
        this.loop = loop;
        timings = new Timings(standing.config(), loop.random());
        access = new AccessPatience(standing.config().accessPatience());
        metadata = standing.config().metadata();
    }

    // ---------------------------------------------------------------- asked by the machine

    @Override
    public void claim() {
        claim(0);
    }

    @Override
    public void claim(long least) {
        this.least = least;
        wanted = true;
        if (!joined) {
            joined = true;
            batcher.join(this);
        }
        if (phase == Phase.IDLE) {
            sendClaim();
        }
    }

    @Override
    public void concede(Duration within) {
        if (phase != Phase.HOLDING || claim == null) {
            return;
        }
        renewNoMore();
        sendConcession(token, loop.clock().nanos() + within.toNanos());
    }

    private void renewNoMore() {
        become(Phase.CONCEDING);
    }

    /**
     * Cuts the lease short, until that has been answered or the time is over: then what is left of the lease runs out.
     */
    private void sendConcession(long conceded, long endNanos) {
        var now = loop.clock().nanos();
        if (phase != Phase.CONCEDING || token != conceded || claim == null || endNanos - now <= 0) {
            return;
        }
        setTimer(now + standing.config().retryInterval().toNanos(), () -> sendConcession(conceded, endNanos));
        batcher.renew(new Lease(claim, token, Duration.ofNanos(endNanos - now)), (answer, error) -> {
            if (answer != null && phase == Phase.CONCEDING && token == conceded) {
                cancelTimer();
                if (!answer.granted()) {
                    lose(answer.view());
                }
            }
        });
    }

    @Override
    public void ready(HandOverNote order) {
        ready = order.readyBy(standing.candidate());
        sendReady(order, 1);
    }

    /** Says that we are ready. Should that get lost each time, the order fails, and the leader leads on. */
    private void sendReady(HandOverNote order, int tries) {
        var said = ready;
        if (said == null || !said.order().equals(order.order()) || !claims()) {
            return;
        }
        var sent = loop.clock().now();
        ask(() -> store.note(standing.election(), order.token(), order.text(), said.text()), (done, error) -> {
            if (done == null) {
                claimant.unanswered(latency(sent), error);
                if (tries < READY_TRIES) {
                    loop.at(loop.clock().nanos() + timings.retryNanos(), () -> sendReady(order, tries + 1));
                }
            } else if (done && phase == Phase.WAITING) {
                var soon = timings.retryNanos(); // should we not be told that the seat is vacant
                if (loop.clock().nanos() + soon - timerNanos < 0) {
                    waitFor(soon);
                }
            }
        });
    }

    private boolean claims() {
        return phase == Phase.WAITING || phase == Phase.CLAIMING || phase == Phase.RESOLVING;
    }

    @Override
    public void proclaim(Map<String, String> metadata) {
        this.metadata = metadata;
        if (claim != null) {
            claim = claim.showing(metadata); // while it is under way, the first renewal brings it
        }
        if (phase == Phase.HOLDING && unanswered == null) { // else it goes out behind the answer
            sendRenewal();
        }
    }

    @Override
    public void release() {
        wanted = false;
        switch (phase) {
            case HOLDING, CONCEDING, WAITING -> giveBackAndForget(); // waiting: so that nobody waits for us
            case CLAIMING, RESOLVING -> {} // its answer, or that none comes, will find that it is not wanted
            case IDLE -> {
                if (listed) {
                    loop.execute(this::forget); // unless it is claimed again in this turn
                }
            }
            case RELEASING, LEAVING, LEFT -> {}
        }
    }

    /** Is listed no more, having lost the seat; or if the last release was not answered, or overtaken by a claim. */
    private void forget() {
        if (phase == Phase.IDLE && !wanted && listed) {
            giveBackAndForget();
        }
    }

    /** Gives back what we may hold, and is listed no more. */
    private void giveBackAndForget() {
        become(Phase.RELEASING);
        sendRelease(1);
    }

    @Override
    public void leave() {
        wanted = false;
        batcher.leave(this); // at once: if the rest never comes to its end, no watch is left behind
        switch (phase) {
            case IDLE, WAITING, HOLDING, CONCEDING, CLAIMING, RESOLVING -> {
                attempt++; // the answer to a claim under way finds us gone, and gives back what it may bring
                become(Phase.LEAVING);
                sendRelease(1);
            }
            case RELEASING -> {
                become(Phase.LEAVING); // its release is under way
                if (timer == null) {
                    sendRelease(1);
                }
            }
            case LEAVING -> { // asked again: if something broke off before, this begins again
                if (timer == null) {
                    sendRelease(1);
                }
            }
            case LEFT -> tellLeft();
        }
    }

    Standing standing() {
        return standing;
    }

    // ---------------------------------------------------------------- told by the store

    /**
     * Somebody changed something, or says so: a view that may be old, or made up. On the loop, in anybody who's turn.
     */
    void noticed(View view) {
        loop.runNow(() -> heard(view));
    }

    private void heard(View view) {
        switch (phase) {
            case WAITING -> {
                topPriority = view.topPriority();
                if (endedFor(view)) {
                    confirm();
                } else if (view.holder().isEmpty()) {
                    claimant.following(Optional.empty());
                    refusals = 0;
                    var wait = courtesyNanos(view);
                    if (wait > 0) {
                        waitFor(wait);
                    } else {
                        sendClaim();
                    }
                } else {
                    claimant.following(leader(view));
                    var wait = standbyNanos(view);
                    if (loop.clock().nanos() + wait - timerNanos < 0) {
                        waitFor(wait); // never later than we would have asked: it may not be true
                    }
                    var courtesy = holdBackNanos(view);
                    if (loop.clock().nanos() + courtesy - timerNanos > 0) {
                        waitFor(courtesy); // but that once: what is due now would come between
                    }
                    if (asksUs(view)) {
                        confirm();
                    }
                }
            }
            case HOLDING -> {
                if (view.token() > token || endedFor(view) || (view.standDown() && view.token() == token)) {
                    confirm();
                } else if (view.token() == token && isReady(view)) {
                    confirm();
                }
            }
            case IDLE -> {
                if (endedFor(view)) {
                    confirm(); // a candidate that holds back is told, too
                } else if (!wanted && isOurs(view)) {
                    giveBack(holderOf(view)); // else the work of a lost mandate may still run
                } else {
                    claimant.following(leader(view));
                }
            }
            case CLAIMING, RESOLVING -> meanwhile = view; // it may be newer than the answer
            case CONCEDING, RELEASING, LEAVING, LEFT -> {}
        }
    }

    /**
     * Reads what a notice told, and obeys what it then finds. Should no answer come, the next claim or renewal finds
     * it.
     */
    private void confirm() {
        var now = loop.clock().nanos();
        if (confirming && now - confirmUntilNanos < 0) {
            confirmAgain = true; // what is being read may be from before
            return;
        }
        confirming = true;
        confirmAgain = false;
        var until = now + timings.answerNanos();
        confirmUntilNanos = until;
        ask(() -> store.read(standing.election()), (view, error) -> {
            if (!confirming || confirmUntilNanos != until) {
                return; // we have given it up
            }
            confirming = false;
            if (view != null) {
                confirmed(view);
            }
            if (confirmAgain) {
                confirm();
            }
        });
    }

    private void confirmed(View view) {
        switch (phase) {
            case WAITING -> {
                if (endedFor(view)) {
                    over();
                } else {
                    getReady(view);
                }
            }
            case IDLE -> {
                if (endedFor(view)) {
                    over();
                }
            }
            case HOLDING -> apply(view);
            case CLAIMING, RESOLVING, CONCEDING, RELEASING, LEAVING, LEFT -> {} // they have answers of their own
        }
    }

    // ---------------------------------------------------------------- claiming

    private void sendClaim() {
        become(Phase.CLAIMING);
        listed = true;
        holdings = 0;
        meanwhile = null;
        var mine = ++attempt;
        var sent = loop.clock().now();
        var asked = withNonce(newNonce(mine));
        claim = asked;
        claimedAt = sent;
        setTimer(sent.nanos() + timings.answerNanos(), () -> {
            if (mine == attempt && phase == Phase.CLAIMING) {
                unanswered(null);
            }
        });
        ask(() -> store.acquire(asked), (answer, error) -> {
            if (answer != null) {
                access.answered(); // a reading would not do: who may read may still be refused the seat
                claimant.answered();
            }
            if (mine != attempt || (phase != Phase.CLAIMING && phase != Phase.RESOLVING)) {
                var held = mine == attempt && (phase == Phase.HOLDING || phase == Phase.CONCEDING);
                if (answer != null && answer.granted() && !held) { // held already if the reading was faster
                    giveBack(asked);
                } else if (answer != null && !answer.granted()) {
                    giveBackOlder(answer.view());
                    listed = true;
                    forget();
                }
            } else if (answer == null) {
                unanswered(error);
            } else if (answer.granted()) {
                won(answer.view(), sent);
            } else if (answer.view().heldUnder(asked.nonce())) {
                prove(asked, answer.view().token()); // it was carried out twice
            } else {
                refused(answer.view(), sent);
            }
        });
    }

    private void won(View view, Moment sent) {
        claimant.attempted(Attempt.WON, latency(sent));
        learn(view);
        refusals = 0;
        if (!wanted) {
            giveBackAndForget();
            return;
        }
        become(Phase.HOLDING);
        token = view.token();
        lastProof = sent;
        if (unanswered != null) {
            claimant.attempted(Attempt.MISSED, latency(unanswered)); // of the mandate before
            unanswered = null;
        }
        claimant.granted(token, new Proof(sent, standing.config().lease()));
        renewAt(timings.renewalAfter(sent.nanos()));
        catchUp();
    }

    private void refused(View view, Moment sent) {
        claimant.attempted(Attempt.REFUSED, latency(sent));
        refusals++;
        learn(view);
        if (isOurs(view)) {
            giveBack(holderOf(view)); // an older claim of ours was carried out after we had given up on it
        }
        if (!wanted) {
            giveBackAndForget(); // the claim has listed us
        } else if (endedFor(view)) {
            over();
        } else if (isOurs(view)) {
            retryLater();
        } else {
            standBy(view);
        }
    }

    /** The claim may or may not have been carried out: read the seat. */
    private void unanswered(@Nullable Throwable error) {
        if (claim == null || claimedAt == null) {
            return;
        }
        if (fatal(error)) {
            return;
        }
        claimant.unanswered(latency(claimedAt), error);
        if (phase == Phase.RESOLVING) {
            return; // the claim failed after its timeout, and says why; the reading is under way
        }
        claimant.attempted(Attempt.UNANSWERED, latency(claimedAt));
        resolve();
        var mine = attempt;
        var asked = claim;
        var sent = claimedAt;
        ask(() -> store.read(standing.election()), (view, readError) -> {
            if (mine != attempt || phase != Phase.RESOLVING) {
                return;
            }
            if (view == null) {
                if (!fatal(readError)) {
                    retryLater();
                }
            } else if (view.heldUnder(asked.nonce())) {
                prove(asked, view.token());
            } else {
                refused(view, sent);
            }
        });
    }

    /** Until an answer comes; or we give it up. */
    private void resolve() {
        become(Phase.RESOLVING);
        var mine = attempt;
        setTimer(loop.clock().nanos() + timings.answerNanos(), () -> {
            if (mine == attempt && phase == Phase.RESOLVING) {
                retryLater();
            }
        });
    }

    /** The seat shows our claim. That counts once the store has acknowledged something that we have laid over it. */
    private void prove(Claim asked, long shown) {
        resolve();
        var mine = attempt;
        var sent = loop.clock().now();
        batcher.renew(new Lease(asked, shown, standing.config().lease()), (answer, error) -> {
            if (mine != attempt || phase != Phase.RESOLVING) {
                return;
            }
            if (answer == null) {
                if (!fatal(error)) {
                    retryLater();
                }
            } else if (answer.granted()) {
                won(answer.view(), sent);
            } else {
                refused(answer.view(), sent);
            }
        });
    }

    private void standBy(View view) {
        become(Phase.WAITING);
        claimant.following(leader(view));
        waitFor(Math.max(standbyNanos(view), holdBackNanos(view)));
        getReady(view);
        catchUp();
    }

    // ---------------------------------------------------------------- handed over

    /** Gets ready if the leader is to hand over to us. What tells it has been read. */
    private void getReady(View view) {
        if (asksUs(view)) {
            var order = view.handOver().orElseThrow();
            preparing = order.order();
            claimant.prepare(order, view.holder().map(View.Holder::candidate).orElse(""));
        }
    }

    /** Returns whether this asks us to get ready, and did not before. */
    private boolean asksUs(View view) {
        return view.holder().isPresent()
                && view.handOver()
                        .filter(order -> order.asks(standing.candidate())
                                && !order.order().equals(preparing))
                        .isPresent();
    }

    private static boolean isReady(View view) {
        return view.handOver().filter(HandOverNote::isReady).isPresent();
    }

    private boolean isForUs(View view) {
        return view.handOver()
                .filter(order -> order.isReady() && order.to().equals(standing.candidate()))
                .isPresent();
    }

    /** Returns how long to leave a vacant seat to others: to its successor, or to those of higher priority. */
    private long courtesyNanos(View view) {
        if (isForUs(view)) {
            return 0;
        }
        var held = holdBackNanos(view);
        return held > 0 || !givesWay() || isReady(view) ? held : timings.courtesyNanos();
    }

    /**
     * Returns how long to leave the seat to another who is ready for it: from when we hear of that, and again from when
     * we hear that the seat is vacant. It may not be true. So each puts us off once, and both not more than that
     * between two claims.
     */
    private long holdBackNanos(View view) {
        if (!isReady(view) || isForUs(view)) {
            return 0;
        }
        var now = loop.clock().nanos();
        var what = view.handOver().orElseThrow().order() + (view.holder().isEmpty() ? " vacant" : "");
        if (!what.equals(heldBackFor) && holdings < MOST_HOLDINGS) {
            heldBackFor = what;
            heldBackUntilNanos = now + timings.courtesyNanos();
            holdings++;
        }
        return what.equals(heldBackFor) ? Math.max(0, heldBackUntilNanos - now) : 0;
    }

    /** While we lead: withdraws an order by which nobody has got ready in time, should nobody else do that. */
    private void withdraw(View view) {
        var asked = view.handOver().filter(order -> !order.isReady());
        if (asked.isEmpty()) {
            return;
        }
        var order = asked.get();
        var now = loop.clock().nanos();
        if (!order.order().equals(watchedOrder)) {
            watchedOrder = order.order();
            orderOverNanos = now + order.within().toNanos() + 2 * timings.answerNanos();
        } else if (now - orderOverNanos >= 0) {
            orderOverNanos = now + timings.answerNanos();
            ask(
                    () -> store.note(standing.election(), token, order.text(), ""),
                    (done, error) -> {}); // or the next time
        }
    }

    private long standbyNanos(View view) {
        // back-off is for the seat of another: a claim of ours that is still to be confirmed must be in time
        var others = view.holder()
                .filter(holder -> !holder.candidate().equals(standing.candidate()))
                .isPresent();
        var wait = timings.standbyNanos(view, others ? refusals : 0);
        if (isForUs(view)) {
            return Math.min(wait, timings.retryNanos()); // it will be vacant any moment
        }
        return givesWay() ? wait + timings.courtesyNanos() : wait;
    }

    /** Obeys what was noticed while a claim was under way. */
    private void catchUp() {
        var view = meanwhile;
        meanwhile = null;
        if (view != null) {
            noticed(view);
        }
    }

    private void retryLater() {
        attempt++; // whatever is still under way has been given up
        if (wanted) {
            become(Phase.WAITING);
            waitFor(timings.retryNanos());
        } else {
            giveBackAndForget(); // it may be granted yet, and we may be listed
        }
    }

    private void waitFor(long nanos) {
        setTimer(loop.clock().nanos() + nanos, () -> {
            if (phase == Phase.WAITING) {
                sendClaim();
            }
        });
    }

    // ---------------------------------------------------------------- holding

    private void renewAt(long nanos) {
        setTimer(nanos, this::sendRenewal);
    }

    private void sendRenewal() {
        if (phase != Phase.HOLDING || claim == null) {
            return;
        }
        var config = standing.config();
        var sent = loop.clock().now();
        var held = token;
        if (isOver(sent)) {
            // A mandate knows that by itself, and ends for its own cause. One half of a joint seat is held without any.
            // What is told as lost is renewed no more, whatever answer comes yet.
            renewNoMore();
            claimant.lost(held, Cause.EXPIRED);
            return;
        }
        if (unanswered != null) {
            claimant.attempted(Attempt.MISSED, latency(unanswered)); // its answer may still come
            claimant.unanswered(latency(unanswered), null);
        }
        unanswered = sent;
        renewAt(sent.nanos() + config.renewInterval().toNanos()); // unless an answer says otherwise
        var shown = metadata;
        batcher.renew(new Lease(claim, held, config.lease()), (answer, error) -> {
            if (answer != null) {
                access.answered();
                claimant.answered();
            }
            if (phase != Phase.HOLDING || token != held) {
                countLate(sent, answer);
                return;
            }
            var countedAsMissed = !sent.equals(unanswered);
            if (!countedAsMissed) {
                unanswered = null;
            }
            if (answer == null) {
                if (!fatal(error)) {
                    if (!countedAsMissed) {
                        claimant.attempted(Attempt.MISSED, latency(sent));
                        claimant.unanswered(latency(sent), error);
                    }
                    renewAt(loop.clock().nanos() + timings.retryNanos());
                }
            } else if (answer.granted()) {
                claimant.attempted(Attempt.RENEWED, latency(sent));
                learn(answer.view());
                if (lastProof == null || sent.nanosSince(lastProof) > 0) {
                    lastProof = sent;
                    claimant.proven(held, new Proof(sent, config.lease()));
                    renewAt(timings.renewalAfter(sent.nanos()));
                }
                apply(answer.view());
                if (phase == Phase.HOLDING && unanswered == null && !shown.equals(metadata)) {
                    sendRenewal(); // we have proclaimed something meanwhile
                }
            } else {
                claimant.attempted(Attempt.LOST, latency(sent));
                lose(answer.view());
            }
        });
    }

    /** Of an answer that comes when its mandate is over, nothing follows. */
    private void countLate(Moment sent, @Nullable Answer answer) {
        if (sent.equals(unanswered)) {
            unanswered = null;
            var outcome = answer == null ? Attempt.MISSED : answer.granted() ? Attempt.RENEWED : Attempt.LOST;
            claimant.attempted(outcome, latency(sent));
        }
    }

    /**
     * Returns whether the mandate is over by our own clocks. After a freeze a renewal may be due before that is told,
     * and would keep the lease for work that is stuck.
     */
    private boolean isOver(Moment now) {
        var config = standing.config();
        return lastProof != null
                && !Validity.of(new Proof(lastProof, config.lease()), config.standDownBudget(), config.driftBound())
                        .holdsAt(now);
    }

    /** Does what a view tells a holder to do. */
    private void apply(View view) {
        if (view.token() > token) {
            lose(view); // tokens only rise: this is no old view
        } else if (endedFor(view)) {
            claimant.asked(token, Cause.ENDED, standing.config().standDownBudget());
        } else if (view.standDown() && view.token() == token) {
            claimant.asked(token, Cause.REVOKED_BY_OPERATOR, standing.config().standDownBudget());
        } else if (isReady(view) && view.token() == token) {
            claimant.asked(token, Cause.HANDED_OVER, standing.config().standDownBudget());
        } else if (view.token() == token) {
            withdraw(view);
        }
    }

    private void lose(View view) {
        var lost = token;
        become(Phase.IDLE);
        claim = null;
        if (endedFor(view)) {
            claimant.lost(lost, Cause.ENDED);
        } else {
            claimant.lost(lost, view.token() > lost ? Cause.REPLACED : Cause.EXPIRED);
        }
    }

    // ---------------------------------------------------------------- giving back

    private void sendRelease(int tries) {
        var given = claim == null ? withNonce(standing.instance() + "-0") : claim;
        var mine = attempt;
        listed = false;
        Runnable again = () -> {
            if (mine != attempt || (phase != Phase.RELEASING && phase != Phase.LEAVING)) {
                return;
            }
            if (tries < RELEASE_TRIES) {
                sendRelease(tries + 1);
            } else {
                unconfirmed = true;
                listed = true;
                released(false); // no answer: the lease runs out by itself
            }
        };
        setTimer(loop.clock().nanos() + timings.answerNanos() / RELEASE_TRIES, again);
        ask(() -> store.release(given), (answer, error) -> {
            if (mine != attempt || (phase != Phase.RELEASING && phase != Phase.LEAVING)) {
                return;
            }
            if (answer != null) {
                // an older claim of ours may have been carried out after we had given up on it
                var older = !answer.granted() && isOurs(answer.view());
                if (older && tries < RELEASE_TRIES) {
                    claim = holderOf(answer.view());
                    sendRelease(tries + 1);
                } else {
                    unconfirmed = older;
                    listed |= older;
                    released(endedFor(answer.view())); // it may have ended while we stood down
                }
            }
        });
    }

    private void released(boolean ended) {
        claim = null;
        if (phase == Phase.LEAVING) {
            become(Phase.LEFT);
            tellLeft();
        } else if (ended) {
            over();
        } else {
            become(Phase.IDLE);
            if (wanted) {
                sendClaim();
            } else if (listed) {
                setTimer(loop.clock().nanos() + standing.config().lease().toNanos(), this::forget);
            }
        }
    }

    private void tellLeft() {
        if (unconfirmed) {
            claimant.leftUnconfirmed();
        } else {
            claimant.left();
        }
    }

    /**
     * The answer to a claim that was given up shows one that was carried out: gives that back, unless it is the present
     * one, or the work of the mandate that it was may still run.
     */
    private void giveBackOlder(View view) {
        var present = claim;
        var mayBeAtWork = phase == Phase.IDLE && wanted;
        if (isOurs(view) && !mayBeAtWork && (present == null || !view.heldUnder(present.nonce()))) {
            giveBack(holderOf(view));
        }
    }

    /** Undoes a grant that nobody waits for any more. If that is lost, the lease runs out. */
    private void giveBack(Claim unwanted) {
        ask(() -> store.release(unwanted), (answer, error) -> {});
    }

    // ---------------------------------------------------------------- small things

    private void over() {
        become(Phase.IDLE);
        claimant.ended();
    }

    private boolean fatal(@Nullable Throwable error) {
        if (error == null || !access.ends(error, loop.clock().nanos())) {
            return false;
        }
        become(Phase.IDLE);
        claimant.failed(
                error instanceof ElectionException fatal
                        ? fatal
                        : new ElectionException(String.valueOf(error.getMessage()), error));
        return true;
    }

    /** From an answer, never from a notice: that may be from before an election was deleted in which we stand again. */
    private void learn(View view) {
        if (era == Claim.ANY_ERA) {
            era = view.era();
        }
        topPriority = view.topPriority();
    }

    /** Ended, or deleted, since we began. */
    private boolean endedFor(View view) {
        return era != Claim.ANY_ERA && (view.era() > era || (view.ended() && view.era() == era));
    }

    private boolean givesWay() {
        return standing.config().priority() < topPriority;
    }

    private boolean isOurs(View view) {
        return view.holder().isPresent()
                && sentNonces.contains(view.holder().get().nonce());
    }

    /** Returns the leader that we wait for: not a claim of ours that is to be confirmed, or was carried out late. */
    private Optional<String> leader(View view) {
        return view.holder()
                .filter(holder -> sentNonces.stream().noneMatch(holder.nonce()::endsWith))
                .map(View.Holder::candidate);
    }

    /** Of the randomness of the system, since that of the loop is part of a copied process. */
    private String newNonce(int attempt) {
        var chance = UUID.randomUUID().getMostSignificantBits() ^ System.nanoTime();
        var nonce = standing.instance() + '-' + Integer.toString(attempt, 36) + '.' + Long.toHexString(chance);
        sentNonces.addLast(nonce);
        if (sentNonces.size() > REMEMBERED_NONCES) {
            sentNonces.removeFirst();
        }
        return nonce;
    }

    /** Returns the claim of ours under which the seat is held. */
    private Claim holderOf(View view) {
        return withNonce(view.holder().orElseThrow().nonce());
    }

    private Claim withNonce(String nonce) {
        return new Claim(
                standing.election(),
                standing.candidate(),
                nonce,
                standing.config().lease(),
                timings.patience(),
                standing.config().priority(),
                metadata,
                era,
                least);
    }

    private Duration latency(Moment sent) {
        return Duration.ofNanos(loop.clock().nanos() - sent.nanos());
    }

    private void setTimer(long nanos, Runnable turn) {
        cancelTimer();
        timerNanos = nanos;
        timer = loop.at(nanos, turn);
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    /** The only place that assigns {@link #phase}. */
    private void become(Phase next) {
        if (phase != Phase.RELEASING || next != Phase.LEAVING) {
            cancelTimer(); // but a release that is under way goes on, and may have to be sent again
        }
        phase = next;
    }

    /**
     * Asks, and brings the outcome to the loop: a value, or what went wrong. A store that throws does not answer
     * either.
     */
    private <T> void ask(Supplier<CompletionStage<T>> request, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        deliver(loop, Requests.ask(request), then);
    }

    static <T> void deliver(Loop loop, CompletionStage<T> stage, BiConsumer<@Nullable T, @Nullable Throwable> then) {
        stage.whenComplete((value, error) ->
                loop.execute(() -> then.accept(value, error == null ? null : Causes.unwrapped(error))));
    }
}
