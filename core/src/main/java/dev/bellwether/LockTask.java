package dev.bellwether;

/**
 * What is run under a {@link RunLock}.
 *
 * @param <E> what it throws; {@link RuntimeException} if nothing that must be declared
 */
@FunctionalInterface
public interface LockTask<E extends Exception> {
    /**
     * Does the work. Send {@link Mandate#token} along with what you write, and call {@link Mandate#ensure} before each
     * step of a long run. It runs on the thread that called {@link RunLock#tryRun}, which is interrupted if the mandate
     * ends.
     */
    void run(Mandate mandate) throws E;
}
