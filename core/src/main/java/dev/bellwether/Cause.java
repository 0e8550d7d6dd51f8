package dev.bellwether;

/** Why a mandate ended. */
public enum Cause {
    /** We gave up the seat: {@link Candidacy#resign} or {@link Candidacy#close}. */
    RESIGNED,
    /** We left the seat to others: {@link Candidacy#standDown}, {@link Candidacy#standAside}. */
    STOOD_DOWN,
    /** An operator ordered it: {@link Election#standDown}. */
    REVOKED_BY_OPERATOR,
    /** The seat was handed over to a standby that is ready for it: {@link Election#handOver}. */
    HANDED_OVER,
    /** Our group moved the seat to another member, in order: a role of a roster, or an election on Kafka. */
    MOVED,
    /** Somebody else holds the seat, and we were not asked: what we had written may have been lost. */
    REPLACED,
    /** The infrastructure did not answer until the deadline. */
    UNREACHABLE,
    /** This process did not run for too long (GC, SIGSTOP, suspend), or its wall clock jumped. */
    PAUSED,
    /** The infrastructure says that our lease is gone, and nobody else has it yet. */
    EXPIRED,
    /** The application did not call {@link Candidacy#pulse} in time. */
    UNPULSED,
    /** The election is over: {@link Election#end} or {@link Election#delete}. */
    ENDED,
    /** A fatal error, or a task that failed under {@link TaskFailure#END}. */
    FAILED;

    /**
     * Returns whether leadership was lost: nobody here or among the operators gave it up, and it moved to no other
     * member in order. Such an end is worth an alert.
     */
    public boolean isLoss() {
        return switch (this) {
            case REPLACED, UNREACHABLE, PAUSED, EXPIRED, UNPULSED, FAILED -> true;
            case RESIGNED, STOOD_DOWN, REVOKED_BY_OPERATOR, HANDED_OVER, MOVED, ENDED -> false;
        };
    }
}
