package dev.bellwether;

import java.time.Duration;

/**
 * A lock for one run: of all that try at the same time, in any process, one runs; the others learn which.
 *
 * <pre>{@code
 * var ran = elections.lock("nightly-report").tryRun(mandate -> report.run());
 * if (!ran) {
 *     System.out.println("another process runs it");
 * }
 * }</pre>
 *
 * <p>It is a candidacy of a single term, so all rules of leadership are those of a lock. It has a token that only ever
 * rises, its lease is renewed for as long as it is held, and it is never held twice at once. You need not guess how
 * long a run takes: the lock lasts until it is given back, or until the process that has it dies and its lease has run
 * out.
 *
 * <p>A lock and an election of one name are one seat: while a {@link Candidacy} leads, nobody gets the lock, and while
 * the lock is held, no candidacy leads. An operator sees who holds it, and can order it to be given back, as for any
 * election.
 *
 * <p>Not re-entrant: a holder that tries again is refused, also on the same thread. Two threads of one process
 * exclude each other as two processes do. Thread-safe; a lock needs no thread, and nothing to be closed while it is not
 * held.
 */
public interface RunLock {

    /** Returns the name of the lock, which is that of its election. */
    String name();

    /** Tries once: {@link #tryLock(Duration)} without waiting for another to give the lock back. */
    default LockAnswer tryLock() throws InterruptedException {
        return tryLock(Duration.ZERO);
    }

    /**
     * Takes the lock, waiting at most this long for its holder. The answer is definite: the lock is held, or it is
     * not, and will not be through this call. A claim that is still under way when the time is over is withdrawn;
     * if the infrastructure carries it out later, it is given back, and nobody holds the lock through it.
     *
     * <p>Even without waiting it takes a round trip or two to the infrastructure to learn who holds the lock. For that
     * first answer it waits as long as {@link ElectionsConfig#requestTimeout} says. If nobody holds the lock and it
     * cannot be taken at once, because a former holder may not have noticed its end, this waits for that, a lease and
     * {@code requestTimeout} at most. Then it waits, after the answer as after the time is over, until the claim has
     * been withdrawn: at most as long as {@link Candidacy#close}.
     *
     * <p>Called from a listener or task, it needs another thread of the executor: on one with a single thread no answer
     * comes. Called again while another attempt is under way, it is an attempt of its own.
     *
     * @throws UnavailableException if no answer came, or nobody holds the lock and it takes longer to take it: it is
     *     not held here; try again later, and if the message says so, wait longer
     * @throws ElectionException if the infrastructure refuses, the election of this name has been ended, or the time is
     *     negative
     * @throws InterruptedException if the thread is interrupted: the lock is not held here
     * @throws IllegalStateException if the {@link Elections} are closed, now or while this waits
     */
    LockAnswer tryLock(Duration wait) throws InterruptedException;

    /** Tries once: {@link #tryRun(Duration, LockTask)} without waiting for somebody else to give the lock back. */
    default <E extends Exception> boolean tryRun(LockTask<E> task) throws E, InterruptedException {
        return tryRun(Duration.ZERO, task);
    }

    /**
     * Takes the lock as {@link #tryLock(Duration)} does, runs the task on this thread, and gives the lock back. Returns
     * whether the task ran.
     *
     * <p>If the mandate ends while the task runs, because an operator ordered it, the {@link Elections} are closed, or
     * the infrastructure is out of reach until the deadline, this thread is interrupted: half-way through the
     * stand-down budget if the mandate ends in order, at once if it is too late for that. Then this throws
     * {@link NotLeaderException}, whatever the task itself returned or threw. What the task throws under a valid
     * mandate comes through as it is.
     *
     * <p>Throws what {@link #tryLock(Duration)} throws if the lock cannot be tried; then the task has not run.
     *
     * @throws NotLeaderException if the mandate was over before the task was: the end of it may have run beside another
     */
    <E extends Exception> boolean tryRun(Duration wait, LockTask<E> task) throws E, InterruptedException;
}
