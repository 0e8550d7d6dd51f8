package dev.bellwether;

/** A step of the work of one role, run again and again while the role is led here: see {@link Roster#whileLeading}. */
@FunctionalInterface
public interface RoleTask {
    /**
     * Does a little work for a role and returns. As for a {@link LeaderTask}, the thread is interrupted half-way
     * through the stand-down budget, and when the mandate has been fenced. What it throws is logged and counted, but
     * for the same exceptions, and the next step comes when the retry interval has passed since then, and the task
     * interval since this step began.
     */
    void run(int role, Mandate mandate) throws Exception;
}
