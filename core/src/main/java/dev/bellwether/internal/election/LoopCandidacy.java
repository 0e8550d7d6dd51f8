package dev.bellwether.internal.election;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.HandOver;
import dev.bellwether.LeaderTask;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.Phase;
import dev.bellwether.Status;
import dev.bellwether.TaskFailure;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.Ending;
import dev.bellwether.internal.loop.GuardedLoop;
import dev.bellwether.internal.loop.OutageLog;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.SerialExecutor;
import dev.bellwether.internal.loop.TaskEnd;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A candidacy on a loop: carries commands to its {@link CandidacyMachine}, and out what that wants done.
 *
 * <p>The public methods are for any thread. They read the snapshot, or send a command to the loop; everything else is
 * confined to the loop.
 */
public final class LoopCandidacy implements Candidacy {
    private static final Logger log = LoggerFactory.getLogger(Candidacy.class);

    /** So many looks, and more, a turn that was broken is tried to be put in order. */
    private static final int MOST_RECOVERIES = 1_000;

    private final Standing standing;
    private final GuardedLoop loop;
    private final AtomicBoolean pulseWaits = new AtomicBoolean();
    private final Arbiter arbiter;
    private final SeatElection election;
    private final Metrics metrics;
    private final Runnable onInterrupt;
    private final Optional<BooleanSupplier> worksElsewhere; // of a lock, whose user is no listener or task of ours
    private final Consumer<LoopCandidacy> onClosed;
    private final CandidacyMachine machine;
    private final MachineTurns turns;
    private final SerialExecutor events;
    private final SerialExecutor work;
    private final FlightLog flight = new FlightLog();
    private final LossLog losses;
    private final OutageLog outages;
    private final List<Listening> listeners = new ArrayList<>();
    private final Ending ending;
    private final AtomicReference<@Nullable LeaderTask> task = new AtomicReference<>();

    private volatile Snapshot snapshot = Snapshot.BEFORE;
    private @Nullable LocalMandate working; // the mandate whose steps may run
    private Loop.@Nullable Timer nextStep;
    private boolean machineClosed;
    private boolean abandoned;
    private @Nullable ElectionException broken; // by what a turn threw
    private int recoveries;
    private volatile @Nullable Throwable lostReport;
    private volatile boolean answered;
    private boolean over; // and the last event has been heard

    private record Snapshot(
            @Nullable LocalMandate mandate,
            @Nullable LocalMandate last,
            Phase phase,
            Optional<String> following,
            Optional<String> followed,
            Optional<Cause> lastCause,
            @Nullable ElectionException failure,
            @Nullable Departure departure) {
        private static final Snapshot BEFORE = new Snapshot(
                null, null, Phase.STANDING_BY, Optional.empty(), Optional.empty(), Optional.empty(), null, null);
    }

    public LoopCandidacy(
            Standing standing,
            Arbiter arbiter,
            SeatElection election,
            Loop loop,
            Executor executor,
            Metrics metrics,
            Duration pauseBound,
            OutageLog outages,
            Runnable onInterrupt,
            Optional<BooleanSupplier> worksElsewhere,
            Consumer<LoopCandidacy> onClosed) {
        this.standing = standing;
        this.arbiter = arbiter;
        this.election = election;
        this.loop = new GuardedLoop(loop, this::recover);
        this.metrics = metrics;
        this.outages = outages;
        losses = new LossLog(log, metrics);
        this.onInterrupt = onInterrupt;
        this.worksElsewhere = worksElsewhere;
        this.onClosed = onClosed;
        var config = standing.config();
        var bound = config.standDownBudget().plus(config.renewInterval().multipliedBy(2));
        ending = new Ending(this, log, bound, this::runsHere, () -> snapshot.failure);
        config.listener().ifPresent(listener -> listeners.add(new Listening(listener)));
        events = new SerialExecutor(executor, this.loop, () -> {
            turn(now -> {});
            runStep();
        });
        work = new SerialExecutor(executor, this.loop, () -> turn(now -> {}));
        var seat = arbiter.seat(standing, new Reports(), this.loop);
        machine = new CandidacyMachine(standing, loop.clock(), seat, new Doing(), pauseBound);
        turns = new MachineTurns(machine, this.loop, this::allWorkHasEnded, this::settled);
    }

    public void start() {
        loop.execute(() -> turn(now -> machine.start()));
    }

    /** Lets an overdue deadline take effect, and whatever went wrong be fixed; called now and then, on the loop. */
    public void check() {
        if (!over || !ending.hasCome()) {
            loop.runNow(this::look);
        }
    }

    private void look() {
        var error = lostReport;
        if (error != null) {
            recover(error);
            lostReport = null;
        }
        events.look();
        work.look();
        turn(machine::tick);
    }

    /** A turn threw: the candidacy ends, in order. If this throws as well, it is called again. */
    private void recover(Throwable thrown) {
        machine.endNow(); // before anything that takes memory
        var error = broken;
        if (error == null) {
            error = new ElectionException("a turn of " + this + " failed: " + thrown, thrown);
            broken = error;
        }
        if (recoveries++ < MOST_RECOVERIES) {
            machine.broken(loop.clock().now(), error);
        } else { // it cannot be ended in order: at least nobody waits for it forever
            abandoned = true;
            machineClosed = true;
            machine.abandon(loop.clock().now());
        }
        turn(now -> {});
    }

    /** The mandate, if there is one, is over; whatever else is going on. */
    public void endNow() {
        machine.endNow();
    }

    /** The loop is about to stop, though the work or the infrastructure may not have let us finish. */
    public void abandon() {
        abandoned = true;
        machineClosed = true;
        loop.runNow(() -> turn(machine::abandon));
        ending.come(); // whatever else is going on
    }

    /** Returns whether the loop must not stop yet: this was abandoned, and work that does not end is to be halted. */
    public boolean isToHalt() {
        return machine.isToHalt();
    }

    // ---------------------------------------------------------------- for any thread

    @Override
    public String election() {
        return standing.election();
    }

    @Override
    public String candidate() {
        return standing.candidate();
    }

    @Override
    public boolean isLeader() {
        var mandate = snapshot.mandate;
        return mandate != null && mandate.isValid();
    }

    @Override
    public Optional<Mandate> mandate() {
        var mandate = snapshot.mandate;
        return mandate != null && mandate.isValid() ? Optional.of(mandate) : Optional.empty();
    }

    @Override
    public Optional<Mandate> await(Duration timeout) throws InterruptedException {
        return ending.await(timeout, this::mandate);
    }

    @Override
    public void whileLeading(LeaderTask task) {
        if (!this.task.compareAndSet(null, Objects.requireNonNull(task, "task"))) {
            throw new IllegalStateException(this + " already has a task");
        }
        loop.execute(this::runStep);
    }

    @Override
    public Watch listen(LeadershipListener listener) {
        var added = new Listening(Objects.requireNonNull(listener, "listener"));
        loop.execute(() -> {
            var leads = machine.phase() == Phase.LEADING ? machine.term() : null;
            listeners.add(added);
            if (leads != null) {
                var event = new LeadershipEvent.Acquired(leads);
                tell(added, event);
                added.wasTold(event);
            }
        });
        return () -> {
            added.over = true;
            loop.execute(() -> listeners.remove(added));
        };
    }

    @Override
    public boolean pulse(Duration timeout) throws InterruptedException {
        requireOpen();
        if (pulseWaits.compareAndSet(false, true)) { // however fast they come, the loop holds one of them
            try {
                loop.execute(() -> {
                    pulseWaits.set(false);
                    turn(machine::pulse);
                });
            } catch (RuntimeException | Error e) { // such as of memory: the next one waits for nothing
                pulseWaits.set(false);
                throw e;
            }
        }
        var leads = isLeader() || await(timeout).isPresent();
        if (!leads) {
            requireOpen();
        }
        return leads;
    }

    private void requireOpen() {
        ending.throwFailure();
        var phase = snapshot.phase;
        if (phase == Phase.CLOSED || phase == Phase.LEAVING) {
            throw new IllegalStateException("the candidacy in \"" + election() + "\" has ended: it cannot be pulsed");
        }
    }

    @Override
    public Optional<ElectionException> failure() {
        return Optional.ofNullable(snapshot.failure);
    }

    @Override
    public Optional<Departure> departure() {
        return Optional.ofNullable(snapshot.departure);
    }

    @Override
    public Status status() {
        var s = snapshot;
        var validity = s.mandate == null ? null : s.mandate.validity();
        var sinceProof = validity == null
                ? Optional.<Duration>empty()
                : Optional.of(
                        Duration.ofNanos(loop.clock().nanos() - validity.since().nanos()));
        return new Status(
                s.phase,
                s.following,
                s.followed,
                s.last == null ? 0 : s.last.token(),
                s.lastCause,
                sinceProof,
                Optional.ofNullable(s.failure));
    }

    @Override
    public HandOver handOver(String to, Duration within) {
        return handOver(Optional.of(to), within);
    }

    @Override
    public HandOver handOver(Duration within) {
        return handOver(Optional.empty(), within);
    }

    private HandOver handOver(Optional<String> to, Duration within) {
        if (runsHere()) {
            throw new IllegalStateException("handOver was called from a listener or task of " + this
                    + ", which the hand-over waits for: call it from another thread");
        }
        return election.handOver(to, within, Optional.of(standing.candidate()));
    }

    @Override
    public void proclaim(Map<String, String> metadata) {
        var shown = CandidacyConfig.builder().metadata(metadata).build().metadata();
        arbiter.proclaimObjection().ifPresent(why -> {
            throw new ElectionException(this + " cannot change its metadata on " + arbiter.describe() + ": " + why);
        });
        loop.execute(() -> turn(now -> machine.proclaim(shown)));
    }

    @Override
    public void standDown() {
        loop.execute(() -> turn(machine::leaveToOthers));
    }

    @Override
    public void standAside() {
        loop.execute(() -> turn(machine::standAside));
    }

    @Override
    public void standAgain() {
        loop.execute(() -> turn(machine::standAgain));
    }

    @Override
    public void resign() {
        loop.execute(() -> turn(machine::resign));
    }

    @Override
    public void awaitClose() throws InterruptedException {
        ending.awaitClose();
    }

    @Override
    public void close() {
        resign();
        ending.awaitClosed();
    }

    public Duration lease() {
        return standing.config().lease();
    }

    /**
     * Returns whether the infrastructure has answered a claim, and by all that is known nobody is in the seat. Needs no
     * thread of the executor.
     */
    public boolean seesVacantSeat() {
        var s = snapshot;
        return answered && s.phase == Phase.STANDING_BY && s.following.isEmpty();
    }

    /** Returns whether the caller is a listener or task of this candidacy. */
    public boolean runsHere() {
        return events.runsHere() || work.runsHere();
    }

    /** Waits for the end as long as {@link #close} may, counted from the given reading of {@link System#nanoTime}. */
    public void awaitClosed(long sinceNanos) {
        ending.awaitClosed(sinceNanos);
    }

    @Override
    public String toString() {
        return "candidacy " + candidate() + " in \"" + election() + '"';
    }

    // ---------------------------------------------------------------- the turns of the loop

    private void turn(Consumer<Moment> command) {
        turns.take(command);
    }

    /** Returns whether everything that was told has been heard, and nothing works that is waited for; on the loop. */
    public boolean workHasEnded() {
        return events.idle() && work.idle();
    }

    /** An executor may have refused what was told to those who work elsewhere. */
    private boolean allWorkHasEnded() {
        return workHasEnded()
                && !(machine.waitsForWork()
                        && worksElsewhere.filter(BooleanSupplier::getAsBoolean).isPresent());
    }

    /** Returns the same, but for what an executor seems to have dropped. */
    public boolean isHeard() {
        return events.isHeard() && work.isHeard();
    }

    private void settled(Moment now) {
        over = over || (machineClosed && (workHasEnded() || (abandoned && !machine.isToHalt())));
        if (over || machine.asksNothing()) {
            outages.gone(this, now.nanos());
        } else if (machine.rests()) {
            outages.rests(this, now.nanos());
        }
        publish(snapshot.mandate); // what changed without a change of phase
        if (over && !ending.hasCome()) {
            ending.come(); // last: until then we are looked at now and then, should this turn have been broken
        }
    }

    private void publish(@Nullable LocalMandate mandate) {
        var before = snapshot;
        var next = new Snapshot(
                mandate,
                machine.term(),
                machine.phase() == Phase.CLOSED && !over ? Phase.LEAVING : machine.phase(),
                machine.followingNow(),
                machine.followedBefore(),
                machine.lastCause(),
                machine.failure(),
                over ? machine.departure() : null);
        if (next.equals(before)) {
            return;
        }
        if (over) {
            onClosed.accept(this); // first: who has waited for the end may stand again under the same id
        }
        snapshot = next;
        if (!Objects.equals(mandate, before.mandate) || next.phase == Phase.CLOSED || next.failure != before.failure) {
            ending.turned();
        }
    }

    /** Runs the next step of the task, if there is a mandate to work under and none is running. */
    private void runStep() {
        var present = task.get();
        var mandate = working;
        if (present == null || mandate == null || !work.idle() || nextStep != null) {
            return;
        }
        if (!events.idle()) {
            return; // Acquired may not have been heard yet: when all has been, we come again
        }
        var begun = loop.clock().nanos();
        work.submit(
                () -> {
                    if (mandate.isValid()) {
                        present.run(mandate);
                    }
                    return null;
                },
                (failure, queuedNanos) -> stepEnded(mandate, begun, failure, queuedNanos));
    }

    private void stepEnded(LocalMandate mandate, long begunNanos, @Nullable Throwable failure, long queuedNanos) {
        metrics.callbackDelayed(election(), candidate(), Duration.ofNanos(queuedNanos));
        var config = standing.config();
        if (failure instanceof NotLeaderException) {
            // it stopped with its mandate: no failure, and nothing to try again at once
        } else if (failure != null && (working != mandate || !mandate.isValid())) { // the deadline may not be told yet
            TaskEnd.failedLate(log, "the task of " + this, election(), candidate(), metrics, failure);
        } else if (failure != null) {
            metrics.callbackFailed(election(), candidate(), failure);
            Quietly.run(() -> log.error("the task of {} failed", this, failure));
            if (config.onTaskFailure() == TaskFailure.END) {
                turn(now -> machine.fail(now, new ElectionException("the task of " + this + " failed", failure)));
                return;
            }
        }
        if (working == mandate) {
            var now = loop.clock().nanos();
            var due = TaskEnd.nextNanos(begunNanos, config.taskInterval(), now, config.retryInterval(), failure);
            nextStep = loop.at(due, () -> {
                nextStep = null;
                runStep();
            });
        }
    }

    /** An end that nobody asked for is never silent, also if there is no listener. */
    private void logEnd(LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Failed failed) {
            log.error("{} has failed, and does not stand any more", this, failed.error());
        } else if (event instanceof LeadershipEvent.Ended) {
            log.error("{} has ended: an operator ended the election, so that nobody can lead it", this);
        }
    }

    private void tellListener(LeadershipEvent event, Consumer<@Nullable Throwable> then) {
        List.copyOf(listeners).forEach(listener -> {
            if (listener.isFor(event)) {
                tell(listener, event, then);
                listener.wasTold(event);
            }
        });
    }

    /** Tells all listeners, and then that they have got ready, unless one has failed in it. */
    private void prepare(HandOverNote order, LeadershipEvent.Preparing event) {
        var failures = new boolean[1];
        tellListener(event, failure -> failures[0] |= failure != null);
        events.submit(() -> null, (failure, queuedNanos) -> {
            if (failure == null && !failures[0]) {
                turn(now -> machine.prepared(now, order));
            } else {
                Quietly.run(() -> log.warn("{} is not ready for a hand-over, so the leader leads on", this));
            }
        });
    }

    private void tell(Listening listener, LeadershipEvent event) {
        tell(listener, event, failure -> {});
    }

    private void tell(Listening listener, LeadershipEvent event, Consumer<@Nullable Throwable> then) {
        events.submit(
                () -> {
                    listener.hear(event);
                    return null;
                },
                (failure, queuedNanos) -> {
                    metrics.callbackDelayed(election(), candidate(), Duration.ofNanos(queuedNanos));
                    if (failure != null) {
                        metrics.callbackFailed(election(), candidate(), failure);
                        Quietly.run(() -> log.error(
                                "the listener of {} failed on {}; nothing else is affected", this, event, failure));
                    }
                    then.accept(failure);
                });
    }

    /**
     * One who is told; of the end of a mandate only if it was told of the beginning. Confined to the loop, but for the
     * flag.
     */
    private static final class Listening {
        private final LeadershipListener listener;
        private @Nullable Mandate told;
        private volatile @Nullable Mandate fenced;
        private volatile boolean over;

        private Listening(LeadershipListener listener) {
            this.listener = listener;
        }

        private boolean isFor(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Revoked revoked) {
                return revoked.mandate().equals(told);
            } else if (event instanceof LeadershipEvent.Fenced fenced) {
                this.fenced = fenced.mandate();
                return fenced.mandate().equals(told);
            }
            return true;
        }

        private void wasTold(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Acquired acquired) {
                told = acquired.mandate();
            }
        }

        private void hear(LeadershipEvent event) throws Exception {
            if (!over && !isOvertaken(event)) {
                listener.onEvent(event);
            }
        }

        /** Who hears late that the seat is still ours must not hear it when another may have it. */
        private boolean isOvertaken(LeadershipEvent event) {
            return event instanceof LeadershipEvent.Revoked revoked
                    && revoked.mandate().equals(fenced);
        }
    }

    /** What the machine wants done. */
    private final class Doing implements CandidacyMachine.Effects {
        @Override
        public void publish(@Nullable LocalMandate mandate) {
            LoopCandidacy.this.publish(mandate);
            if (mandate != null) {
                Quietly.run(() -> log.info("{} leads, token {}", LoopCandidacy.this, mandate.token()));
                metrics.termBegan(election(), candidate(), mandate.token());
            }
        }

        @Override
        public void tell(LeadershipEvent event) {
            Quietly.run(() -> {
                flight.turned(event, loop.clock().nanos());
                losses.turned(LoopCandidacy.this, event);
                logEnd(event);
            });
            tellListener(event, failure -> {}); // last: it has been told, or this has thrown
        }

        @Override
        public void prepare(HandOverNote order, LeadershipEvent.Preparing event) {
            Quietly.run(() -> log.info(
                    "{} gets ready, within {}, for the seat of {}",
                    LoopCandidacy.this,
                    Durations.show(event.within()),
                    event.leader()));
            LoopCandidacy.this.prepare(order, event);
        }

        @Override
        public void startWork(LocalMandate mandate) {
            working = mandate;
            runStep();
        }

        @Override
        public void stopWork() {
            working = null;
            if (nextStep != null) {
                nextStep.cancel(); // else it would add to those of the next mandate, which come by themselves
                nextStep = null;
            }
        }

        @Override
        public void interruptWork() {
            events.interrupt();
            work.interrupt();
            onInterrupt.run();
        }

        @Override
        public void interruptLateWork() {
            events.interruptAll();
            work.interruptAll();
            onInterrupt.run();
        }

        @Override
        public void halt(LocalMandate mandate) {
            if (worksElsewhere.map(BooleanSupplier::getAsBoolean).orElse(true)) {
                MachineTurns.halt(log, mandate);
            }
        }

        @Override
        public void ended(LocalMandate mandate, Cause cause, Duration held, String detail) {
            losses.ended(LoopCandidacy.this, "", mandate, cause, held, detail);
            metrics.termEnded(election(), candidate(), cause, held);
        }

        @Override
        public void closed() {
            machineClosed = true;
            outages.gone(LoopCandidacy.this, loop.clock().nanos());
        }
    }

    /** Carries the reports of the seat to the loop. */
    private final class Reports implements Claimant {
        /**
         * A report that is lost for lack of memory leaves us waiting for it: that ends the candidacy, at the next look.
         */
        private void report(Consumer<Moment> command) {
            try {
                loop.execute(() -> turn(command));
            } catch (Throwable e) {
                lostReport = e;
                throw e;
            }
        }

        @Override
        public void granted(long token, Proof proof) {
            report(now -> machine.granted(now, token, proof));
        }

        @Override
        public void proven(long token, Proof proof) {
            report(now -> machine.proven(now, token, proof));
        }

        @Override
        public void asked(long token, Cause cause, Duration within) {
            report(now -> machine.asked(now, token, cause, within));
        }

        @Override
        public void lost(long token, Cause cause) {
            report(now -> machine.lost(now, token, cause));
        }

        @Override
        public void prepare(HandOverNote order, String leader) {
            report(now -> machine.prepare(now, order, leader));
        }

        @Override
        public void following(Optional<String> leader) {
            report(now -> machine.following(leader));
        }

        @Override
        public void ended() {
            report(machine::electionEnded);
        }

        @Override
        public void failed(ElectionException error) {
            report(now -> machine.fail(now, error));
        }

        @Override
        public void left() {
            report(now -> machine.left(Departure.CONFIRMED));
        }

        @Override
        public void leftUnconfirmed() {
            report(now -> machine.left(Departure.UNCONFIRMED));
        }

        @Override
        public void answered() {
            answered = true;
            loop.execute(() -> outages.answered(LoopCandidacy.this, loop.clock().nanos()));
        }

        @Override
        public void unanswered(Duration waited, @Nullable Throwable why) {
            loop.execute(() -> {
                if (!machineClosed && !machine.asksNothing() && !machine.rests()) {
                    var retry = standing.config().retryInterval();
                    outages.unanswered(
                            LoopCandidacy.this, waited, retry, why, loop.clock().nanos());
                }
            });
        }

        @Override
        public void attempted(Metrics.Attempt attempt, Duration latency) {
            loop.execute(() -> metrics.attempted(election(), candidate(), attempt, latency));
        }
    }
}
