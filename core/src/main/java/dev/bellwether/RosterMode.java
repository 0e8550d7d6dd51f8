package dev.bellwether;

/**
 * What is promised of the roles of a roster: at most one leader, or at least one. All members of a group use the same.
 */
public enum RosterMode {
    /**
     * At most one leader for each role, as in an election: a claim in a journal, and proofs that count from before they
     * were asked for. No clock is compared with another, and a new owner waits for no grace period. Tokens rise. What
     * to choose unless there is a reason not to.
     */
    EXCLUSIVE,
    /**
     * At least one leader for each role while one member lives, also while roles move: the next leader begins before
     * the former one ends. Two may lead at once for as long as {@link RosterConfig#threshold()} exceeds the session;
     * and while a member is cut off from the group's coordinator, and not from the messages, for as long as that lasts.
     * A token tells two terms apart, and cannot fence.
     */
    OVERLAPPING,
    /**
     * At most one leader for each role by timestamps of the broker, as the NELI paper has it: only as sure as
     * {@link RosterConfig#clockError()}, and slower, since a new owner waits for the
     * {@link RosterConfig#gracePeriod()}. For those who want the paper's protocol and nothing else.
     */
    TIMED
}
