package dev.bellwether;

import java.time.Duration;

/**
 * A {@link RunLock} that is held. Its lease is renewed until it is closed; a lock that is forgotten is held as long as
 * the process lives.
 *
 * <pre>{@code
 * var answer = lock.tryLock();
 * if (answer.isHeld()) {
 *     try (var held = answer.lock().get()) {
 *         reports.write("all", held.mandate().token());
 *     }
 * } else {
 *     out.println("not now: " + answer.holder().orElse("somebody") + " has it");
 * }
 * }</pre>
 *
 * <p>Thread-safe, and bound to no thread: any may use and close it. No thread is interrupted if the mandate ends; to be
 * told, ask the mandate, or set a {@link CandidacyConfig.Builder#listener}. When the mandate is revoked in order, the
 * seat passes as soon as this is closed, at the latest when the stand-down budget is used up.
 */
public interface HeldLock extends AutoCloseable {

    /** Returns the mandate, with its token; also when it is over, or the lock has been given back. */
    Mandate mandate();

    /** Returns whether the lock is held now: it has not been given back, and its mandate is valid. */
    boolean isHeld();

    /**
     * Gives the lock back, but keeps the seat from others for so long from now, as {@link LockConfig.Builder#atLeast}
     * describes. Returns at once if the seat is kept, else as {@link #close}. Idempotent.
     */
    void release(Duration kept);

    /**
     * Gives the lock back, at the earliest {@link LockConfig#atLeast} after it was taken. Waits until the seat is free,
     * no longer than {@link Candidacy#close} does; returns at once if the seat is kept, and in a listener of the lock.
     * Idempotent.
     */
    @Override
    void close();
}
