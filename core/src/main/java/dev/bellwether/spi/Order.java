package dev.bellwether.spi;

/** An operator's order. */
public enum Order {
    /**
     * The holder must stand down. It is told; the seat stays its own until it has released it or its lease has run
     * out.
     */
    STAND_DOWN,
    /** The election is over: the holder stands down, and claims are refused. */
    END,
    /**
     * The election is forgotten: its era rises by one, {@link #END} is undone, and it is no longer listed until the
     * next claim. A living holder keeps the seat until it has released it. The token stays.
     */
    DELETE,
    /**
     * The election that has ended stands open again: its era rises by one, {@link #END} is undone, and it is listed.
     * Where it has not ended, nothing is done, and there was nobody to order. The token stays.
     */
    REOPEN
}
