package dev.bellwether;

/** A step of the leader's work, run again and again while the mandate holds: see {@link Candidacy#whileLeading}. */
@FunctionalInterface
public interface LeaderTask {
    /**
     * Does a little work and returns. If the mandate is revoked meanwhile, the thread is interrupted half-way through
     * the stand-down budget; if it is fenced, at once. A {@link NotLeaderException} is no failure: it ends the step,
     * and the next may come after the retry interval. Nor is an {@link InterruptedException}, or what one has caused,
     * while the mandate is ending. Whatever else it throws is logged and counted, and {@link TaskFailure} says what
     * follows.
     */
    void run(Mandate mandate) throws Exception;
}
