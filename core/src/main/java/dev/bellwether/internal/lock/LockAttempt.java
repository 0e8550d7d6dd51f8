package dev.bellwether.internal.lock;

import dev.bellwether.Candidacy;
import dev.bellwether.ElectionException;
import dev.bellwether.HeldLock;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.LockAnswer;
import dev.bellwether.LockConfig;
import dev.bellwether.LockTask;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.UnavailableException;
import dev.bellwether.internal.loop.Retold;
import dev.bellwether.spi.Durations;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to take a lock, and the lock once it is held: a candidacy, of which this is the listener.
 *
 * <p>Thread-safe: what is not final is guarded by this, and user code is called without it.
 */
final class LockAttempt implements LeadershipListener, HeldLock {
    /*
     *   WAITING --granted--> TAKEN --closed--> RELEASED
     *      |
     *      +--time is up, refused, ended, interrupted--> GIVEN_UP
     *
     * Who waits decides between TAKEN and GIVEN_UP, under our lock, and a mandate counts only in TAKEN. A grant that
     * comes when we have given up is held by nobody: the candidacy has been told to resign, and gives the seat back.
     *
     * The work of a lock runs outside of its candidacy, on a thread of the user. To the candidacy our listener stands
     * for it: it returns from Revoked when the lock has been given back, so the seat does not pass before; and from
     * Fenced, since a seat that is not lost yet would be released for work that had ended. Both together may take as
     * long as the budget. Whenever the candidacy interrupts work, the thread that runs the task is interrupted, too,
     * whatever our listener does: that of the user may swallow an interrupt, or may not have returned from the event
     * before.
     *
     * Where overrun work is halted, that is what our user does, who has nothing to do with it once the lock has been
     * given back: the candidacy may lead on then, or end late.
     *
     * The first end of a mandate is the end of the lock: our listener resigns before it returns, so the candidacy
     * never stands again. If an executor has refused to run it, the next grant belongs to nobody, and is resigned.
     */
    private enum Phase {
        /** No answer yet, or somebody else holds the lock. */
        WAITING,
        /** Held by our user. */
        TAKEN,
        /** Given back; the candidacy may keep the seat for a while. */
        RELEASED,
        /** Never held through this attempt. */
        GIVEN_UP
    }

    private final String name;
    private final LockConfig config;
    private final LockHost host;
    private final CompletableFuture<Candidacy> stood = new CompletableFuture<>();

    private Phase phase = Phase.WAITING;
    private @Nullable Mandate granted;
    private long grantedNanos;
    private boolean answered;
    private Optional<String> holder = Optional.empty();
    private boolean ended; // by an operator
    private @Nullable ElectionException failure;
    private boolean over; // the candidacy has ended
    private boolean vacant; // as the infrastructure has answered, whether or not its events have been heard
    private boolean cutShort; // by that, while we waited
    private long patienceNanos; // that was used up
    private @Nullable Thread runner; // of a task, while it runs
    private boolean interrupted; // by us
    private boolean kept; // the seat, for a while after the release
    private boolean listening; // the listener of our user runs
    private @Nullable Long endingNanos; // since when our mandate has been over

    LockAttempt(String name, LockConfig config, LockHost host) {
        this.name = name;
        this.config = config;
        this.host = host;
    }

    void begin() {
        var settings = config.oneAttempt().toBuilder().listener(this).build();
        stood.complete(host.stand(name, settings, this::interruptTask, this::works, this::over));
    }

    // ---------------------------------------------------------------- waiting

    /**
     * Waits for the answer, at most so long for another holder. If it is no, the candidacy is over when this returns.
     */
    void await(Duration wait) throws InterruptedException {
        try {
            decide(
                    System.nanoTime(),
                    TimeUnit.NANOSECONDS.convert(wait),
                    host.requestTimeout().toNanos());
            if (!isTaken()) {
                candidacy().close();
            }
        } catch (Throwable e) { // an interrupt, or no memory: nobody is to stand for what nobody holds
            giveUp();
            candidacy().resign();
            throw e;
        }
    }

    private synchronized void decide(long beganNanos, long waitNanos, long answerNanos) throws InterruptedException {
        while (phase == Phase.WAITING) {
            var waited = System.nanoTime() - beganNanos;
            vacant = !answered && waited >= answerNanos && host.isVacant(candidacy());
            var patience = answered ? waitNanos : Math.max(waitNanos, vacant ? vacantNanos() : answerNanos);
            var left = patience - waited;
            if (granted != null) {
                phase = granted.isValid() ? Phase.TAKEN : Phase.GIVEN_UP;
            } else if (over || left <= 0) {
                phase = Phase.GIVEN_UP;
                cutShort = over;
                patienceNanos = patience;
            } else {
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
            }
        }
    }

    /** Some seats can be had only when they have been watched, or held without leading, for as long as a lease. */
    private long vacantNanos() {
        return config.candidacy().lease().plus(host.requestTimeout()).toNanos();
    }

    private synchronized void giveUp() {
        if (phase == Phase.WAITING) {
            phase = Phase.GIVEN_UP;
        }
    }

    synchronized boolean isTaken() {
        return phase == Phase.TAKEN;
    }

    /** Says who has the lock, or throws if that is not known. */
    synchronized LockAnswer refusal() {
        if (failure != null) {
            throw Retold.of(this + " cannot be taken", failure);
        }
        if (ended) {
            throw new ElectionException(this + " cannot be taken: an operator has ended the election of this name."
                    + " Reopen it, and try again");
        }
        if (cutShort) {
            throw new IllegalStateException(this + " was not taken: its elections were closed meanwhile");
        }
        if (granted == null && vacant) {
            throw new UnavailableException("nobody is known to hold " + this + ", and it was not granted within "
                    + Durations.show(Duration.ofNanos(patienceNanos))
                    + ": where it cannot be taken at once, it must be watched for the longest"
                    + " lease that it was held with. It is not held here; try again, and wait longer");
        }
        if (granted == null && !answered) {
            throw new UnavailableException("no answer within " + Durations.show(host.requestTimeout()) + " whether "
                    + this + " is free. It is not held here; try again later");
        }
        return new LockAnswer(Optional.empty(), holder);
    }

    // ---------------------------------------------------------------- what the candidacy tells

    @Override
    public void onEvent(LeadershipEvent event) throws Exception {
        var ends = event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced;
        var began = ends ? ending() : 0;
        try {
            if (ends || !heard(event)) {
                candidacy().resign();
            }
            if (config.candidacy().listener().isPresent()) {
                tell(config.candidacy().listener().get(), event); // before we wait: it may give the lock back
            }
        } finally {
            if (ends && config.candidacy().haltOnOverrun()) {
                awaitReleasedOrHalted();
            } else if (ends) {
                awaitReleased(began, config.candidacy().standDownBudget());
            }
        }
    }

    /** Returns since when we have known that the mandate is over. */
    private synchronized long ending() {
        if (endingNanos == null) {
            endingNanos = System.nanoTime();
        }
        return endingNanos;
    }

    private void tell(LeadershipListener listener, LeadershipEvent event) throws Exception {
        listens(true);
        try {
            listener.onEvent(event);
        } finally {
            listens(false);
        }
    }

    private synchronized void listens(boolean now) {
        listening = now;
    }

    /**
     * Returns whether work of our user may outlast the mandate: if the lock has not been given back, or a listener
     * runs. That our own listener has not been told yet is none: it may be told late.
     */
    private synchronized boolean works() {
        return phase == Phase.TAKEN || listening;
    }

    /** Returns whether the candidacy may go on: not if it was granted the seat again, or when nobody waits for it. */
    private synchronized boolean heard(LeadershipEvent event) {
        var goesOn = true;
        if (event instanceof LeadershipEvent.Acquired acquired) {
            goesOn = phase == Phase.WAITING && granted == null;
            if (goesOn) {
                granted = acquired.mandate();
                grantedNanos = host.clock().nanos();
            }
        } else if (event instanceof LeadershipEvent.Following following
                && following.leader().isPresent()) {
            holder = following.leader();
            answered = true;
        } else if (event instanceof LeadershipEvent.Ended) {
            ended = true;
        } else if (event instanceof LeadershipEvent.Failed failed) {
            failure = failed.error();
        }
        notifyAll();
        return goesOn;
    }

    private synchronized void over() {
        over = true;
        notifyAll();
    }

    /**
     * Holds up the candidacy until the lock has been given back. It interrupts us half-way through its budget, which is
     * meant for the task, and at the end of that.
     */
    private void awaitReleased(long began, Duration bound) {
        var waiting = true;
        for (var interrupts = 0; waiting && interrupts < 2; interrupts++) {
            try {
                waitWhileTaken(began, bound.toNanos());
                waiting = false;
            } catch (InterruptedException e) {
                // the second time the budget is used up
            }
        }
    }

    /**
     * Where overrun work is halted, by no clock of ours and whatever interrupts us: work that has ended is not halted,
     * and the loop may be late. If the candidacy ends, nothing is to be halted any more, and that ends this.
     */
    private synchronized void awaitReleasedOrHalted() {
        while (isHeldElsewhere() && !over) {
            try {
                wait();
            } catch (InterruptedException e) {
                // it is meant for the task, which has received one, too
            }
        }
    }

    /** Not on the thread that runs the task: there we would wait for ourselves. */
    private synchronized boolean isHeldElsewhere() {
        return phase == Phase.TAKEN && runner != Thread.currentThread();
    }

    private synchronized void waitWhileTaken(long beganNanos, long boundNanos) throws InterruptedException {
        var left = boundNanos - (System.nanoTime() - beganNanos);
        while (isHeldElsewhere() && left > 0) {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
            left = boundNanos - (System.nanoTime() - beganNanos);
        }
    }

    private synchronized void interruptTask() {
        if (runner != null) {
            interrupted = true;
            runner.interrupt();
        }
    }

    // ---------------------------------------------------------------- held

    /** Runs a task under the lock, and gives it back. Returns whether the task ran. */
    <E extends Exception> boolean run(LockTask<E> task) throws E {
        var mandate = mandate();
        try {
            enter();
            if (!mandate.isValid()) {
                return false;
            }
            task.run(mandate);
            if (mandate.isValid()) { // so it was all the time
                return true;
            }
        } catch (Throwable thrown) {
            if (mandate.isValid()) {
                throw thrown;
            }
            throw lost(thrown);
        } finally {
            leave();
            close();
        }
        throw lost(null);
    }

    private synchronized void enter() {
        host.taskBegins();
        runner = Thread.currentThread();
    }

    private synchronized void leave() {
        if (runner != null) {
            host.taskEnded();
        }
        runner = null;
        if (interrupted) {
            interrupted = Thread.interrupted(); // ours must not follow the thread into other work
        }
    }

    private NotLeaderException lost(@Nullable Throwable thrown) {
        var cause = candidacy().status().lastCause().map(Enum::name).orElse("its deadline has passed");
        var lost = new NotLeaderException(mandate() + " ended while the task of the lock ran (" + cause
                + "): the end of the task was not protected by the lock");
        if (thrown != null) {
            lost.initCause(thrown);
        }
        return lost;
    }

    @Override
    public synchronized Mandate mandate() {
        if (granted == null) {
            throw new IllegalStateException(this + " has no mandate in phase " + phase);
        }
        return granted;
    }

    @Override
    public boolean isHeld() {
        return isTaken() && mandate().isValid();
    }

    @Override
    public void release(Duration keptFree) {
        boolean keeps;
        synchronized (this) {
            if (phase != Phase.TAKEN && (phase != Phase.RELEASED || kept)) {
                return;
            }
            keeps = phase == Phase.TAKEN
                    && keptFree.compareTo(Duration.ZERO) > 0
                    && mandate().isValid();
            phase = Phase.RELEASED;
            kept = keeps;
            notifyAll();
        }
        if (keeps) {
            keep(keptFree);
        } else {
            candidacy().close(); // once more, if that threw before
        }
    }

    private void keep(Duration time) {
        try {
            host.keep(candidacy(), time);
        } catch (Throwable e) {
            candidacy().resign(); // rather free too soon than never
            throw e;
        }
    }

    @Override
    public void close() {
        release(config.atLeast().minusNanos(heldNanos()));
    }

    private synchronized long heldNanos() {
        return host.clock().nanos() - grantedNanos;
    }

    private Candidacy candidacy() {
        return stood.join(); // its events may come before who stands has got it
    }

    @Override
    public String toString() {
        return "lock \"" + name + "\" on " + host.describe();
    }
}
