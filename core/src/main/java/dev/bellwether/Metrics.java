package dev.bellwether;

import dev.bellwether.internal.loop.AllMetrics;
import java.time.Duration;
import java.util.List;

/**
 * Receives what happens, to be counted and measured: implement what you need. All methods do nothing by default.
 *
 * <p>Called on the loop thread: count, and return; to block here delays the renewals. What is thrown here is
 * logged once and dropped. The time since the last proof is {@link Status#sinceProof}.
 *
 * <p>The name of an election is followed by the number of the partition in rosters, as in {@code prices[3]}, and by
 * {@code ()} in locks.
 */
public interface Metrics {

    /** Returns one that tells all of these, in this order; what one of them throws, the others do not notice. */
    static Metrics all(List<Metrics> all) {
        return new AllMetrics(all);
    }

    /** A mandate began. */
    default void termBegan(String election, String candidate, long token) {}

    /** A mandate ended. */
    default void termEnded(String election, String candidate, Cause cause, Duration held) {}

    /**
     * The work under a mandate that ended in order was not done when the stand-down budget was used up, or when the
     * seat was lost: the candidate has heard {@link LeadershipEvent.Revoked} and then {@link LeadershipEvent.Fenced},
     * and another may have led while it still worked.
     */
    default void overran(String election, String candidate, long token) {}

    /**
     * A claim or a renewal was answered, or not. Told on every backend: of a leader each renewal, of a standby each
     * claim. Where a group decides who leads, as on Kafka, standbys do not ask. Not told of rosters, of which a member
     * writes for all of its partitions at once.
     */
    default void attempted(String election, String candidate, Attempt attempt, Duration latency) {}

    /** A listener or task threw. */
    default void callbackFailed(String election, String candidate, Throwable failure) {}

    /** A listener or task began to run, so long after it was due. */
    default void callbackDelayed(String election, String candidate, Duration queued) {}

    /** The loop did not run for so long: GC, SIGSTOP, suspend, or starvation. */
    default void stalled(Duration length) {}

    /**
     * The infrastructure has stopped answering, as far as anybody who stands here can tell: leaders by their renewals,
     * standbys within a lease. Told once for each outage, of each {@link Elections}, with a sentence for people: who
     * does not answer, and why.
     */
    default void outageBegan(String what) {}

    /** It answers again, so long after the first question that it did not answer; or nobody here asks any more. */
    default void outageEnded(Duration length) {}

    /** What was attempted, and what came of it. */
    enum Attempt {
        /** The seat was vacant and is ours. */
        WON,
        /** The seat is somebody else's. */
        REFUSED,
        /** The claim got no answer: it may have been carried out. */
        UNANSWERED,
        /** Our leadership was confirmed. */
        RENEWED,
        /** The lease was no longer ours. */
        LOST,
        /**
         * The renewal got no answer, or none before the next one was sent: it may have been carried out.
         */
        MISSED
    }
}
