package dev.bellwether;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * One candidate's standing in one election, from {@link Elections#stand} to {@link #close}.
 *
 * <p>{@link #whileLeading} runs a task while this candidate leads. Code that has a loop of its own asks in each round:
 *
 * <pre>{@code
 * try (var candidacy = elections.stand("billing")) {
 *     while (goesOn.getAsBoolean()) {
 *         if (candidacy.pulse(Duration.ofSeconds(1))) { // throws when the candidacy has ended
 *             settleNextBatch.run();
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p>When a mandate ends in order, the successor waits for the step of the task that runs, and for the listener, within
 * the stand-down budget. It does not wait for work elsewhere, as in such a loop: wait for that in a listener, at
 * {@link LeadershipEvent.Revoked}, or use {@link #whileLeading}.
 *
 * <p>Thread-safe. A candidacy that loses its mandate stands again by itself; only {@link #resign}, {@link #close}, the
 * end of the election or a fatal error ends it. After that it never leads again.
 *
 * <p>A listener or task may call everything here except {@link #awaitClose} and {@link #handOver}, which would wait for
 * themselves there, and throw. No method but {@code await}, {@code pulse}, {@code handOver}, {@code awaitClose} and
 * {@code close} waits for anything.
 */
public interface Candidacy extends AutoCloseable {

    /** Returns the name of the election. */
    String election();

    /** Returns this candidate's id, as others see it. */
    String candidate();

    /**
     * Returns whether this candidate leads now. A volatile read and a comparison with the clocks: it never blocks,
     * takes no lock and allocates nothing, so you may call it in the tightest loop. It becomes false by itself when the
     * deadline passes, in a process whose other threads are all stuck or were asleep.
     *
     * <p>True means: nobody else leads, at the instant at which the clocks were read. What you do <em>after</em> that
     * instant is protected by the token and a guard at the resource, not by this answer.
     */
    boolean isLeader();

    /** Returns the mandate that is held now, or empty while somebody else, or nobody, leads. */
    Optional<Mandate> mandate();

    /**
     * Waits until this candidate leads, at most for the given time. Returns its mandate, or empty when the time has
     * passed or the candidacy has ended. In a listener it would delay the events behind it. Any number of threads may
     * wait.
     *
     * @throws ElectionException if the candidacy has ended by a {@linkplain #failure fatal error}, which is the cause
     */
    Optional<Mandate> await(Duration timeout) throws InterruptedException;

    /**
     * Runs a task again and again while this candidate leads, never while it does not. A task should do a step of work
     * and return. Steps run one after another, on the executor of the candidacy, and begin after the listener has heard
     * {@link LeadershipEvent.Acquired}. One that is running when the mandate is revoked may finish: the successor waits
     * for it within the stand-down budget. Half-way through that, and at once on fencing, its thread is interrupted.
     *
     * <p>A step begins as soon as the one before it has ended, but not sooner than
     * {@link CandidacyConfig.Builder#taskInterval} after that one began. It is 1 ms by default: set it, to a second for
     * example, unless each step waits for work by itself. After one that threw, the retry interval passes first.
     *
     * <p>{@link CandidacyConfig.Builder#onTaskFailure} sets what happens if the task throws. Returns at once. After the
     * end of the candidacy the task does not run.
     *
     * @throws IllegalStateException if the candidacy already has a task
     */
    void whileLeading(LeaderTask task);

    /**
     * Adds a listener, beside that of the configuration and any others. It is told of what happens from now on, and
     * first of the present mandate, if there is one: what it hears is paired as for the first. All listeners of a
     * candidacy are called on its executor, one after another: while one blocks, the others wait, and so does the
     * successor. One that is added after the end of the candidacy gets no events. One that is added twice hears each
     * event twice. Returns at once.
     *
     * @return what takes it away again: from then on it is not called, not even to be told how a mandate ends; a call
     *     that has begun goes on
     */
    Watch listen(LeadershipListener listener);

    /**
     * Says that the application is alive, and waits for leadership up to the given time. Returns whether this candidate
     * leads; at once if it does. In a listener the wait would delay the events behind it. With {@link
     * CandidacyConfig.Builder#maxPulseInterval} set, a leader that is not pulsed in time stands down, and does not
     * stand again before its next pulse. What it is stuck in is not waited for, unless a listener does.
     *
     * @throws IllegalStateException if the candidacy has ended
     * @throws ElectionException if it has ended by a fatal error, which is the cause
     */
    boolean pulse(Duration timeout) throws InterruptedException;

    /** Returns a snapshot of where this candidacy stands. Asks the infrastructure nothing. */
    Status status();

    /**
     * Returns the fatal error that ended this candidacy, or is ending it; empty if there was none. That it resigned, or
     * that its election ended, is no failure.
     */
    Optional<ElectionException> failure();

    /**
     * Returns whether what was held was given back when this candidacy ended; empty until it has. {@link #resign} and
     * {@link #close} do not tell: the one waits for no answer, the other no longer than it says.
     */
    Optional<Departure> departure();

    /**
     * Leaves the seat to others if it is held, in order, and stands again a lease later, behind the standbys; does
     * nothing if this candidate does not lead. For a leader that has led for long enough, or is too busy to lead well.
     * If nobody else stands, nobody leads for that lease. Returns at once: the listener hears {@link
     * LeadershipEvent.Revoked} with the cause {@link Cause#STOOD_DOWN}. May be called from a listener or a task.
     */
    void standDown();

    /**
     * Hands the seat over to a candidate that stands by, if this candidate leads: as {@link Election#handOver(String,
     * Duration)}, and for no other mandate than the present one. Waits for the outcome, as that does: call it from a
     * thread of your own.
     *
     * @throws UnavailableException if the outcome is not known; the hand-over may still be carried out
     * @throws ElectionException if this backend cannot hand over by name, or the time is zero or longer than a day
     * @throws IllegalStateException if called from a listener or task of this candidacy, which would wait for itself
     */
    default HandOver handOver(String to, Duration within) {
        throw new ElectionException(this + " cannot hand over to a candidate by name");
    }

    /** The same, to the one that is ready first: all that stand by are asked to get ready. */
    default HandOver handOver(Duration within) {
        throw new ElectionException(this + " cannot hand over");
    }

    /**
     * Shows this to observers from now on, instead of {@link CandidacyConfig#metadata}. A leader writes it at once, and
     * those who {@linkplain Election#watch watch} are told; a standby is listed with it from its next sign of life.
     * Returns at once, and writes in the background. Of several calls, the last counts.
     *
     * @throws ElectionException if it is too large or not printable, or if this backend cannot change it
     */
    default void proclaim(Map<String, String> metadata) {
        throw new ElectionException(this + " cannot change its metadata");
    }

    /**
     * Leaves the seat to others, in order if it is held, and does not lead again before {@link #standAgain}, also if
     * nobody else stands: for a process that is being drained, warms up, or knows that it is not well. Returns at once:
     * a leader's listener hears {@link LeadershipEvent.Revoked} with the cause {@link Cause#STOOD_DOWN}; what a standby
     * is granted just then, it gives back. May be called from a listener or a task. Idempotent.
     *
     * <p>Meanwhile its phase is {@link Phase#STANDING_ASIDE}, and it is not listed among the candidates, so that nobody
     * who hands over waits for it. What it knows may be old: which leader it follows, and that the election has ended,
     * of which it hears at the latest when it stands again.
     */
    void standAside();

    /**
     * Claims the seat again after {@link #standAside}, and returns at once; does nothing if this candidate does not
     * stand aside. One that an operator ordered to stand down holds back for the rest of that lease.
     */
    void standAgain();

    /**
     * Gives up the seat if it is held, in order, and stands no more. Returns at once: {@link #awaitClose} waits for the
     * end. May be called from a listener or a task. Idempotent.
     */
    void resign();

    /**
     * Waits until the candidacy has ended and its last event has been heard. Returns if it resigned or its election has
     * ended.
     *
     * @throws ElectionException if it has ended by a {@linkplain #failure fatal error}, which is the cause
     * @throws IllegalStateException if called from a listener or task of this candidacy, which would wait for itself
     */
    void awaitClose() throws InterruptedException;

    /**
     * Resigns, and waits until the work has ended and the seat is free: at most the stand-down budget and two renew
     * intervals, then the lease is left to run out. Idempotent. From a listener or task of this candidacy it does not
     * wait. A thread that is interrupted waits, too, and stays interrupted: it may be the last of its process.
     */
    @Override
    void close();
}
