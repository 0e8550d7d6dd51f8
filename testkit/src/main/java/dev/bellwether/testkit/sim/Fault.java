package dev.bellwether.testkit.sim;

/** What can go wrong in a simulated world. Each world draws some of these by its seed. */
public enum Fault {
    /** Messages take much longer than usual, now and then, and so overtake each other. */
    DELAY,
    /** Messages are lost: requests, answers, notifications. */
    LOSS,
    /** Messages arrive twice; a request is then carried out twice. */
    DUPLICATION,
    /** A process and the store cannot reach each other, in one direction or both. */
    PARTITION,
    /** The store does nothing for a while; then it does what has piled up. */
    STORE_PAUSE,
    /** The store is gone for a while and forgets anybody who was connected; what it has acknowledged stays. */
    STORE_CRASH,
    /** The loop thread does not run for a while, between any two turns; the rest of the process does. */
    STALL,
    /** A whole process does not run for a while (GC, SIGSTOP); its clocks do. */
    PAUSE,
    /** A machine is suspended: its monotonic clock stops, its wall clock runs on. */
    SUSPEND,
    /**
     * A wall clock is set. Back, too, but not in a world with {@link #SUSPEND}: together they can hide a suspension.
     */
    CLOCK_JUMP,
    /** A process is killed. Another one comes up in its place, sooner or later. */
    CRASH,
    /** A process shuts down in order, and another one comes up. */
    LEAVE,
    /** Further processes come up. */
    JOIN,
    /** An operator orders leaders to stand down, or applications do so themselves, or stand by for a while. */
    STAND_DOWN,
    /** An operator ends elections, and deletes them. A process whose candidacies have all ended is restarted. */
    END,
    /**
     * A process comes up as a copy of one that runs (a snapshot, a cloned machine): it shares instance ids and state of
     * chance.
     */
    CLONE,
    /**
     * A process is told of changes that did not happen: an end, a higher token, an order, a vacancy, a holder for
     * years.
     */
    FORGED_NOTICE,
    /**
     * For a while, calls throw that core makes in its turns: to clocks, timers, the loop, the store and the metrics.
     */
    THROW,
    /**
     * The store's clock is set back: leases that were granted before last longer, and so do answers that tell of them.
     */
    STORE_CLOCK,
    /**
     * The store shows a claim to who reads, answers nobody who writes, and then undoes it: as a database may that reads
     * what is not committed, or loses what it had not written to its disk.
     */
    UNDECIDED
}
