package dev.bellwether;

/** A step of the work of one role, run again and again while the role is led here: see {@link Roster#whileLeading}. */
@FunctionalInterface
public interface RoleTask {
    /**
     * Does a little work for a role and returns. The thread is interrupted as that of a {@link LeaderTask} is. What it
     * throws is logged and counted, except what is no failure there. The next step comes when the retry interval has
     * passed since then, and the task interval since this step began.
     */
    void run(int role, Mandate mandate) throws Exception;
}
