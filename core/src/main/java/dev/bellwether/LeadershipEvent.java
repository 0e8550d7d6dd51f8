package dev.bellwether;

import java.time.Duration;
import java.util.Optional;

/**
 * A turn in the life of a candidacy.
 *
 * <p>Every {@link Acquired} is followed, before the next one, by exactly one {@link Revoked} or {@link Fenced}, or by a
 * {@code Revoked} and then a {@code Fenced} when the stand-down overran its budget; at {@link Candidacy#close}, too. A
 * {@code Revoked} that could not be told before its {@code Fenced} is not told at all. A new subtype would break
 * exhaustive switches and is therefore a major release.
 */
public sealed interface LeadershipEvent {

    /** Returns the name of the election. */
    String election();

    /** We lead. Prepare what leading takes; {@link Candidacy#whileLeading} starts its task after you have returned. */
    record Acquired(Mandate mandate) implements LeadershipEvent {
        @Override
        public String election() {
            return mandate.election();
        }
    }

    /**
     * The mandate ends in order: {@link Candidacy#isLeader} is false already, and the seat is still ours. Finish or put
     * away what is half done, then return: only then is the seat handed over. There is time until the stand-down budget
     * is used up; half-way your thread is interrupted, and at its end {@link Fenced} follows.
     */
    record Revoked(Mandate mandate, Cause cause) implements LeadershipEvent {
        @Override
        public String election() {
            return mandate.election();
        }
    }

    /**
     * The mandate is over and somebody else may lead already, or any moment now. Stop at once, finish nothing: whatever
     * you write from here on is for the guard at the resource to refuse. Nobody waits for you.
     */
    record Fenced(Mandate mandate, Cause cause) implements LeadershipEvent {
        @Override
        public String election() {
            return mandate.election();
        }
    }

    /** We stand by. The leader that we wait for has changed: empty means that nobody leads as far as we know. */
    record Following(String election, Optional<String> leader, Optional<String> previous) implements LeadershipEvent {}

    /**
     * We stand by, and the leader is about to hand its seat over to us as soon as you have returned: see {@link
     * Election#handOver}. Do now what takes long, such as to fill caches; what leading takes comes with {@link
     * Acquired}. If you throw, or return after the given time, the leader leads on. Nobody is interrupted then; and we
     * may lead before you have returned, if the leader dies meanwhile: {@code Acquired} is told when you have.
     *
     * @param leader who leads until then
     * @param within how long you have, from when this candidate heard of it
     */
    record Preparing(String election, String leader, Duration within) implements LeadershipEvent {}

    /** The election is over: an operator ended or deleted it. This candidacy stands no more. */
    record Ended(String election) implements LeadershipEvent {}

    /** An error that no retry can fix, or a task that failed, ended the candidacy. */
    record Failed(String election, ElectionException error) implements LeadershipEvent {}
}
