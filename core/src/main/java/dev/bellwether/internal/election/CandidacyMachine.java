package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides when a candidate leads: the machine behind a candidacy.
 *
 * <p>Confined to the loop. A function of its state, a command and the time: it reads no clock, takes no lock, calls no
 * client, and does nothing but through its {@link Seat} and its {@link Effects}.
 */
public final class CandidacyMachine {
    /*
     *                 granted                     asked, resign, leave to others, pulse overdue
     *   STANDING_BY ----------> LEADING ----------------------------------------> STANDING_DOWN
     *     ^     ^                  | deadline passed, or lost                       |        |
     *     |     |                  v                     lost, or budget used up    |        |
     *     |     |               FENCED <--------------------------------------------+        |
     *     |     +--- work ended ---+                                                         |
     *     +--------- work ended: release ----------------------------------------------------+
     *
     *   From STANDING_BY, and wherever the work has ended, a candidacy that is to stand no more goes to LEAVING, and
     *   when the seat has left, to CLOSED.
     *
     * Whatever the command, an overdue deadline comes first: after a pause, an answer that was waiting in the queue
     * must not revive a mandate that had run out. And the mandate ends before anybody is told that it does.
     *
     * A turn that throws may leave us anywhere between two of these. Then `broken` takes us on, in order, to the end:
     * the mandate is over first, whatever else follows. It may throw as well, and is called again until it returns; so
     * every step is safe to take twice, and what may be told once only is remembered when it has been told.
     *
     * Who was told to stand aside stays in STANDING_BY and claims nothing; a grant that comes anyway is given back. To
     * others that is shown as STANDING_ASIDE, a phase that is never assigned.
     * Reports come later than what they tell of: a grant may be told when the seat was given up and is claimed again.
     * That it is from before shows in its proof.
     *
     * We do not stand again before the old work has ended, even if it takes forever: two terms of one candidate must
     * not run side by side. Others may lead meanwhile.
     */

    /** What the machine wants done. Carried out in order, on the loop. */
    public interface Effects {
        /** Shows readers the new state: the mandate, if we lead. */
        void publish(@Nullable LocalMandate mandate);

        /** Tells the listener. */
        void tell(LeadershipEvent event);

        /** Tells the listener to get ready, and then us how that went. */
        default void prepare(HandOverNote order, LeadershipEvent.Preparing event) {}

        /** Lets the task of the mandate run, again and again. */
        void startWork(LocalMandate mandate);

        /** Lets no further step of the task begin. */
        void stopWork();

        /** Interrupts what still runs of listener and task. */
        void interruptWork();

        /** The same, also of what has not begun: it comes too late. */
        default void interruptLateWork() {
            interruptWork();
        }

        /** Halts the process: work outlasts the lease. */
        void halt(LocalMandate mandate);

        /** A mandate ended, for logs and figures. */
        void ended(LocalMandate mandate, Cause cause, Duration held, String detail);

        /** The candidacy is over. */
        void closed();
    }

    private final Standing standing;
    private final Clock clock; // handed on to mandates; never read here
    private final Seat seat;
    private final Effects effects;
    private final long pauseBoundNanos;

    private Phase phase = Phase.STANDING_BY;
    private @Nullable LocalMandate term;
    private @Nullable Moment termBegan;
    /** The work of the last mandate has ended. */
    private boolean workOver;

    private Optional<Cause> lastCause = Optional.empty();
    private Optional<String> following = Optional.empty();
    private Optional<String> followed = Optional.empty();

    private boolean closing;
    private boolean ended;
    private @Nullable ElectionException failure;
    /** Whether it has been told that the mandate was fenced, or that there was nothing to tell. */
    private boolean endTold = true;

    private @Nullable Departure departure;
    private boolean broken;
    /** While leaving after a broken turn: when to wait no more for the seat. */
    private @Nullable Long leftByNanos;

    private long pulsedNanos;
    private boolean awaitingPulse;
    /** Told to stand aside: others may lead, and we do not claim. */
    private boolean aside;
    /** When the seat was given up while we stood by: what was granted by then, and is told later, is not ours. */
    private @Nullable Long gaveUpNanos;

    /** While standing by: for whose seat we are getting ready. */
    private @Nullable HandOverNote preparing;
    /** Until when we have to be. */
    private long prepareUntilNanos;

    /** Of the mandate that ended last: whether its end is to let others have the seat for a lease. */
    private boolean holdsBack;

    /** While standing by: when to claim the seat again, if that is put off. */
    private @Nullable Long claimAtNanos;
    /** While standing down, or abandoned: when to interrupt, if that is still to come. */
    private @Nullable Long interruptAtNanos;
    /**
     * While standing down: when the seat may pass, work or no work. While fenced, or abandoned: when to halt, if so
     * configured. What has been promised to others is never put off, whatever happens then.
     */
    private @Nullable Long hardEndNanos;
    /** The same on the wall clock: the machine may be suspended, and a successor does not wait. */
    private long hardEndWallMillis;

    public CandidacyMachine(Standing standing, Clock clock, Seat seat, Effects effects, Duration pauseBound) {
        this.standing = standing;
        this.clock = clock;
        this.seat = seat;
        this.effects = effects;
        this.pauseBoundNanos = pauseBound.toNanos();
    }

    // ---------------------------------------------------------------- commands of the application

    public void start() {
        claim(); // unless we were told to leave before we had begun
    }

    /** Claims the seat, unless there is a reason not to. */
    private void claim() {
        if (wantsSeat()) {
            seat.claim();
        }
    }

    /** Whether the seat is to be ours: not for who was told to leave it to others, or holds back for a while. */
    private boolean wantsSeat() {
        return phase == Phase.STANDING_BY && claimAtNanos == null && !awaitingPulse && !aside && !closing;
    }

    public void pulse(Moment now) {
        pulsedNanos = now.nanos();
        if (awaitingPulse) {
            awaitingPulse = false;
            if (!expired(now)) {
                claim();
            }
        }
    }

    /** Leaves the seat to others, and stands again when they have had time to take it. */
    public void leaveToOthers(Moment now) {
        if (!expired(now) && phase == Phase.LEADING) {
            standDown(now, Cause.STOOD_DOWN, budget());
        }
    }

    /** Leaves the seat to others, and claims it no more until {@link #standAgain}. */
    public void standAside(Moment now) {
        if (aside || closing) {
            return;
        }
        aside = true;
        if (expired(now)) {
            return;
        }
        if (phase == Phase.LEADING) {
            standDown(now, Cause.STOOD_DOWN, budget());
        } else if (phase == Phase.STANDING_BY) {
            giveUp(now); // a claim may be under way, or granted and not told yet
        }
    }

    private void giveUp(Moment now) {
        gaveUpNanos = now.nanos();
        seat.release();
    }

    /** Claims the seat again after {@link #standAside}. */
    public void standAgain(Moment now) {
        if (aside) {
            aside = false;
            if (!expired(now)) {
                claim();
            }
        }
    }

    public void resign(Moment now) {
        close(now, Cause.RESIGNED);
    }

    /** A task or the backend failed permanently. */
    public void fail(Moment now, ElectionException error) {
        if (failure == null && phase != Phase.LEAVING && phase != Phase.CLOSED) {
            failure = error;
            close(now, Cause.FAILED);
        }
    }

    private void close(Moment now, Cause cause) {
        if (closing) {
            return;
        }
        closing = true;
        if (!expired(now) && phase == Phase.LEADING) {
            standDown(now, cause, budget());
        } else if (phase == Phase.STANDING_BY) {
            leave();
        }
    }

    /**
     * Nothing of listener or task is running or waiting to run. Told after every command, as long as it is so.
     *
     * @return whether it is to be told again, if it is still so: it ended too late, and that is heard first
     */
    public boolean workEnded(Moment now) {
        if (phase == Phase.STANDING_DOWN || phase == Phase.FENCED) {
            workOver = true; // so that it halts nothing
            if (expired(now)) {
                return true;
            }
            seat.release();
            conclude(now);
        } else if (phase == Phase.CLOSED) { // it was abandoned before
            workOver = true;
            interruptAtNanos = null;
            hardEndNanos = null;
        }
        return false;
    }

    /** Time has passed. Called at {@link #wakeAtNanos}, and whenever somebody thinks of it. */
    public void tick(Moment now) {
        if (expired(now)) {
            return;
        }
        switch (phase) {
            case STANDING_BY, STANDING_ASIDE -> {
                if (claimAtNanos != null && now.nanos() - claimAtNanos >= 0) {
                    claimAtNanos = null;
                    claim();
                }
            }
            case LEADING -> {
                var overdue = pulseDueNanos();
                if (overdue != null && now.nanos() - overdue >= 0) {
                    awaitingPulse = true;
                    standDown(now, Cause.UNPULSED, budget());
                }
            }
            case STANDING_DOWN -> interruptWhenDue(now);
            case FENCED -> haltWhenDue(now);
            case LEAVING -> leaveAgain(now);
            case CLOSED -> {
                interruptWhenDue(now);
                haltWhenDue(now);
            }
        }
    }

    private void interruptWhenDue(Moment now) {
        if (interruptAtNanos != null && now.nanos() - interruptAtNanos >= 0) {
            interruptAtNanos = null;
            effects.interruptWork();
        }
    }

    private void haltWhenDue(Moment now) {
        if (overruns(now) && term != null) {
            hardEndNanos = null;
            effects.halt(term);
        }
    }

    /**
     * A turn threw. The mandate is over, as far as it is not yet, and the candidacy ends, as far as it has not. Called
     * again until it returns.
     */
    public void broken(Moment now, ElectionException error) {
        endNow();
        if (phase == Phase.CLOSED) {
            effects.closed();
            return;
        }
        if (failure == null && phase != Phase.LEAVING) {
            failure = error;
        }
        broken = true;
        closing = true;
        claimAtNanos = null;
        interruptAtNanos = null;
        switch (phase) {
            case LEADING, STANDING_DOWN, FENCED -> brokenOff(now);
            case STANDING_BY, STANDING_ASIDE -> leave();
            case LEAVING, CLOSED -> {}
        }
        if (phase == Phase.LEAVING) {
            leftByNanos = leftBy(now);
            seat.leave();
        }
    }

    /** The mandate is over, though nothing else may work at the moment. Needs no memory. */
    public void endNow() {
        if (term != null) {
            term.end();
        }
    }

    /** Work that is running is interrupted and waited for, as after fencing: the lease runs out by itself. */
    private void brokenOff(Moment now) {
        var ending = present();
        var wasToEnd = hardEndNanos != null; // else there may be no work; what there is halts at the next turn
        haltBy(now, now.nanos() + budget().toNanos());
        if (wasToEnd && overruns(now)) {
            effects.halt(ending); // before anything that may throw again
        }
        if (phase == Phase.LEADING) {
            endTerm(now, ending, Cause.FAILED, "");
        }
        become(Phase.FENCED, null);
        effects.stopWork();
        effects.interruptLateWork();
        seat.concede(Duration.ZERO);
        if (!endTold) {
            effects.tell(new LeadershipEvent.Fenced(ending, lastCause.orElse(Cause.FAILED)));
            endTold = true;
        }
    }

    private long leftBy(Moment now) {
        return now.nanos() + standing.config().renewInterval().multipliedBy(2).toNanos();
    }

    private void leaveAgain(Moment now) {
        if (!broken) {
            return;
        }
        if (leftByNanos == null) { // the work has ended since
            leftByNanos = leftBy(now);
        }
        if (now.nanos() - leftByNanos < 0) {
            seat.leave(); // it may have been interrupted in that, too
        } else {
            left(Departure.UNCONFIRMED); // whatever is left runs out by itself
        }
    }

    // ---------------------------------------------------------------- reports of the seat

    public void granted(Moment now, long token, Proof proof) {
        if (!expired(now) && phase == Phase.LEADING) {
            if (present().token() == token) {
                proven(now, token, proof); // told twice
                return;
            }
            lost(now, present().token(), Cause.REPLACED); // by ourselves; a seat is never released under a mandate
        }
        var validity = validity(proof);
        if (aside && phase == Phase.STANDING_BY) {
            giveUp(now);
        } else if (!wantsSeat()) {
            seat.release();
        } else if (!validity.holdsAt(now) || isFromBeforeWeGaveUp(proof)) {
            seat.release(); // the grant took so long to come that nothing of it is left, or it has been given back
            claimAtNanos = now.nanos() + standing.config().retryInterval().toNanos();
        } else {
            var granted = new LocalMandate(standing.election(), standing.candidate(), token, validity, clock);
            term = granted;
            termBegan = now;
            gaveUpNanos = null;
            follow(Optional.empty(), false);
            pulsedNanos = now.nanos();
            hardEndNanos = null;
            workOver = false;
            become(Phase.LEADING, granted);
            endTold = false; // first: if this throws halfway, some have been told
            effects.tell(new LeadershipEvent.Acquired(granted));
            effects.startWork(granted);
        }
    }

    private boolean isFromBeforeWeGaveUp(Proof proof) {
        return gaveUpNanos != null && proof.since().nanos() - gaveUpNanos <= 0;
    }

    public void proven(Moment now, long token, Proof proof) {
        if (expired(now) || phase != Phase.LEADING || term == null || term.token() != token) {
            return;
        }
        var later = validity(proof);
        var isLater = later.deadlineNanos() - term.last().deadlineNanos() > 0;
        if (isLater && later.holdsAt(now) && !term.extend(later)) {
            expired(now); // somebody saw it over meanwhile
        }
    }

    public void asked(Moment now, long token, Cause cause, Duration within) {
        if (expired(now) || phase != Phase.LEADING || term == null || term.token() != token) {
            return;
        }
        closeIfEnded(cause);
        standDown(now, cause, within.compareTo(budget()) < 0 ? within : budget());
    }

    public void lost(Moment now, long token, Cause cause) {
        if (expired(now) || term == null || term.token() != token) {
            return;
        }
        if (phase == Phase.LEADING || phase == Phase.STANDING_DOWN) {
            closeIfEnded(cause);
            fence(
                    now,
                    phase == Phase.LEADING ? cause : lastCause.orElse(cause),
                    "the seat was lost",
                    now.nanos() + budget().toNanos());
        }
    }

    /** Asked to get ready for the seat of this leader. What we do not claim, we do not get ready for. */
    public void prepare(Moment now, HandOverNote order, String leader) {
        if (wantsSeat()) {
            preparing = order;
            prepareUntilNanos = now.nanos() + order.within().toNanos();
            effects.prepare(order, new LeadershipEvent.Preparing(standing.election(), leader, order.within()));
        }
    }

    /** The listener has got ready for this. */
    public void prepared(Moment now, HandOverNote order) {
        if (!order.equals(preparing)) {
            return; // another has come since
        }
        preparing = null;
        if (wantsSeat() && now.nanos() - prepareUntilNanos < 0) {
            seat.ready(order);
        }
    }

    public void proclaim(Map<String, String> metadata) {
        seat.proclaim(metadata);
    }

    public void following(Optional<String> leader) {
        if (phase == Phase.STANDING_BY) {
            follow(leader, true);
        }
    }

    public void electionEnded(Moment now) {
        if (phase == Phase.STANDING_BY) {
            lastCause = Optional.of(Cause.ENDED);
            closeIfEnded(Cause.ENDED);
            leave();
        }
    }

    private void closeIfEnded(Cause cause) {
        if (cause == Cause.ENDED) {
            ended = true;
            closing = true;
        }
    }

    public void left(Departure how) {
        if (phase == Phase.LEAVING) {
            departure = how;
            become(Phase.CLOSED, null);
            effects.closed();
        }
    }

    /** Nobody will drive this machine any more, but to halt work that does not end: whatever is held runs out. */
    public void abandon(Moment now) {
        var led = phase == Phase.LEADING;
        if (led || phase == Phase.STANDING_DOWN || phase == Phase.FENCED) {
            haltBy(now, present().last().endNanos());
            interruptAtNanos = hardEndNanos == null ? null : led ? (Long) now.nanos() : interruptAtNanos;
        }
        if (led) {
            endTerm(now, present(), Cause.RESIGNED, "abandoned");
        }
        departure = departure == null ? Departure.UNCONFIRMED : departure;
        become(Phase.CLOSED, null);
        if (led) {
            seat.concede(Duration.ZERO); // last, since it may throw: it would be renewed for as long as the loop lives
        }
    }

    /** Returns whether the seat is kept for work, wherever that runs; or the process is halted if it does not end. */
    public boolean waitsForWork() {
        return phase == Phase.STANDING_DOWN
                || (phase == Phase.FENCED && standing.config().haltOnOverrun());
    }

    /** Returns whether it has been abandoned, and is to be driven until its work has ended or is halted. */
    public boolean isToHalt() {
        return phase == Phase.CLOSED && hardEndNanos != null;
    }

    // ---------------------------------------------------------------- what follows

    /** Revokes the mandate, in order; the seat is kept until the work has ended or the time is up. */
    private void standDown(Moment now, Cause cause, Duration within) {
        var ending = present();
        var validity = ending.last();
        endTerm(now, ending, cause, "");
        /*
         * A successor may come when `within` has passed by the infrastructure's clock, or when the lease runs out if
         * that is sooner. Ours stops before either.
         */
        var withinNanos = within.toNanos();
        var hardEnd = now.nanos()
                + withinNanos
                - (long) Math.ceil(withinNanos * standing.config().driftBound());
        if (validity.endNanos() - hardEnd < 0) {
            hardEnd = validity.endNanos();
        }
        hardEndNanos = hardEnd;
        hardEndWallMillis = onTheWall(now, hardEnd);
        interruptAtNanos = now.nanos() + (hardEnd - now.nanos()) / 2;
        become(Phase.STANDING_DOWN, null);
        effects.stopWork();
        seat.concede(within);
        effects.tell(new LeadershipEvent.Revoked(ending, cause));
    }

    /** Ends the mandate at once; what runs is interrupted, and at the given time the process halts if so configured. */
    private void fence(Moment now, Cause cause, String detail, long haltAtNanos) {
        var ending = present();
        if (phase == Phase.LEADING) {
            endTerm(now, ending, cause, detail);
            seat.concede(Duration.ZERO); // work that does not end must not keep the seat from others
        }
        haltBy(now, haltAtNanos);
        become(Phase.FENCED, null);
        effects.stopWork();
        effects.interruptLateWork();
        effects.tell(new LeadershipEvent.Fenced(ending, cause));
        endTold = true;
    }

    /**
     * Lets the process halt at this time, if so configured and the work has not ended; sooner, if it was to have ended
     * sooner, or if the lease runs out before, by either clock.
     */
    private void haltBy(Moment now, long nanos) {
        if (!standing.config().haltOnOverrun() || workOver) {
            hardEndNanos = null;
            return;
        }
        var lease = present().last();
        var wallMillis = Math.min(onTheWall(now, nanos), lease.endWallMillis());
        hardEndWallMillis = hardEndNanos == null ? wallMillis : Math.min(hardEndWallMillis, wallMillis);
        var byTheWall = now.nanos() + (hardEndWallMillis - now.wallMillis()) * Validity.NANOS_PER_MILLI;
        hardEndNanos = earlier(earlier(hardEndNanos, nanos), earlier(lease.endNanos(), byTheWall));
    }

    private static long onTheWall(Moment now, long nanos) {
        return now.wallMillis() + (nanos - now.nanos()) / Validity.NANOS_PER_MILLI;
    }

    private void endTerm(Moment now, LocalMandate ending, Cause cause, String detail) {
        ending.end();
        lastCause = Optional.of(cause);
        holdsBack = cause == Cause.REVOKED_BY_OPERATOR || (cause == Cause.STOOD_DOWN && !aside);
        var held = termBegan == null ? 0 : now.nanosSince(termBegan);
        effects.ended(ending, cause, Duration.ofNanos(held), detail);
    }

    /** The work has ended: leave, or stand again. */
    private void conclude(Moment now) {
        endTold = true; // Revoked is enough, if the work ended in time
        interruptAtNanos = null;
        hardEndNanos = null;
        if (closing) {
            leave();
            return;
        }
        var cause = lastCause.orElse(Cause.EXPIRED);
        become(Phase.STANDING_BY, null);
        if (holdsBack) {
            claimAtNanos = now.nanos() + standing.config().lease().toNanos();
        } else if (cause == Cause.HANDED_OVER) {
            // its successor, and should that be dead, all others: these hold back for one
            claimAtNanos = now.nanos() + 2 * standing.config().retryInterval().toNanos();
        } else {
            claim();
        }
    }

    private void leave() {
        claimAtNanos = null;
        if (failure != null) {
            effects.tell(new LeadershipEvent.Failed(standing.election(), failure));
        } else if (ended) {
            effects.tell(new LeadershipEvent.Ended(standing.election()));
        }
        become(Phase.LEAVING, null);
        seat.leave();
    }

    /** Ends whatever time has run out, and returns whether that ended a mandate. */
    private boolean expired(Moment now) {
        if (phase == Phase.LEADING) {
            var validity = present().last();
            var isSeenOver = present().validity() == null || !validity.holdsAt(now);
            if (isSeenOver && !present().isEnded()) {
                var lateNanos = now.nanos() - validity.deadlineNanos();
                var paused = lateNanos > pauseBoundNanos || validity.jumpedBy(now) || validity.isLongBefore(now);
                fence(now, paused ? Cause.PAUSED : Cause.UNREACHABLE, describe(now, validity), validity.endNanos());
                return true;
            }
        }
        if (phase == Phase.STANDING_DOWN && overruns(now)) {
            fence(now, lastCause.orElse(Cause.EXPIRED), "the work overran the stand-down budget", now.nanos());
            return true;
        }
        return false;
    }

    /** While standing down or fenced: whether the time for that is over. */
    private boolean overruns(Moment now) {
        return hardEndNanos != null && (now.nanos() - hardEndNanos >= 0 || now.wallMillis() >= hardEndWallMillis);
    }

    private String describe(Moment now, Validity validity) {
        var wall = Duration.ofMillis(now.wallMillis() - validity.since().wallMillis());
        var monotonic = Duration.ofNanos(now.nanosSince(validity.since()));
        return "last proof %s ago, %s by the wall clock; lease %s"
                .formatted(
                        Durations.show(monotonic),
                        Durations.show(wall),
                        Durations.show(standing.config().lease()));
    }

    private void follow(Optional<String> leader, boolean tell) {
        if (!leader.equals(following)) {
            followed = following;
            following = leader;
            if (tell) {
                effects.tell(new LeadershipEvent.Following(standing.election(), following, followed));
            }
        }
    }

    /** The only place that assigns {@link #phase}. */
    private void become(Phase next, @Nullable LocalMandate mandate) {
        phase = next;
        effects.publish(mandate);
    }

    private LocalMandate present() {
        if (term == null) {
            throw new IllegalStateException("no mandate in phase " + phase);
        }
        return term;
    }

    private Validity validity(Proof proof) {
        return Validity.of(proof, budget(), standing.config().driftBound());
    }

    private Duration budget() {
        return standing.config().standDownBudget();
    }

    private @Nullable Long pulseDueNanos() {
        return standing.config()
                .maxPulseInterval()
                .map(interval -> pulsedNanos + interval.toNanos())
                .orElse(null);
    }

    // ---------------------------------------------------------------- what others may see

    /** Returns whether it waits until it is told to claim again. */
    public boolean asksNothing() {
        return phase == Phase.STANDING_BY && (aside || awaitingPulse);
    }

    /** Returns whether it asks nothing for a while, and then again by itself. */
    public boolean rests() {
        return phase == Phase.FENCED || (phase == Phase.STANDING_BY && claimAtNanos != null);
    }

    public Phase phase() {
        return phase == Phase.STANDING_BY && aside ? Phase.STANDING_ASIDE : phase;
    }

    public Optional<String> followingNow() {
        return following;
    }

    public Optional<String> followedBefore() {
        return followed;
    }

    public Optional<Cause> lastCause() {
        return lastCause;
    }

    /** Returns the last mandate, ended or not. */
    @Nullable
    public LocalMandate term() {
        return term;
    }

    /** Returns whether what was held was given back; null until we have left. */
    @Nullable
    public Departure departure() {
        return departure;
    }

    @Nullable
    public ElectionException failure() {
        return failure;
    }

    /** Returns when {@link #tick} must be called, or null if never. */
    @Nullable
    public Long wakeAtNanos() {
        return switch (phase) {
            case STANDING_BY, STANDING_ASIDE -> claimAtNanos;
            case LEADING ->
                earlier(present().isEnded() ? null : (Long) present().last().deadlineNanos(), pulseDueNanos());
            case STANDING_DOWN, CLOSED -> earlier(interruptAtNanos, hardEndNanos);
            case FENCED -> hardEndNanos;
            case LEAVING -> null;
        };
    }

    private static @Nullable Long earlier(@Nullable Long one, @Nullable Long other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return one - other < 0 ? one : other;
    }
}
