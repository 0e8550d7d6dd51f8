package dev.bellwether;

/**
 * What follows when a task of {@link Candidacy#whileLeading} throws. It is logged and counted either way, as a warning
 * if the mandate was ending meanwhile.
 */
public enum TaskFailure {
    /**
     * The task runs again when the retry interval has passed since it threw, and the task interval since it began, if
     * the mandate still holds.
     */
    RETRY,
    /**
     * The candidacy stands down in order, tells {@link LeadershipEvent.Failed}, and stands no more. A step that fails
     * while its mandate is ending anyway does not do that: the candidacy stands again.
     */
    END
}
