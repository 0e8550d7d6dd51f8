package dev.bellwether.benchmarks.outbox;

/** Somebody who relays. */
interface Contestant {
    /** Who takes part, by name. */
    String name();

    /** Makes an empty table, or empties the one that is there. */
    void reset(Stand stand) throws Exception;

    /** Fills the table with rows of so many bytes, whose keys are spread over 10,000. */
    void fill(Stand stand, int rows, int bytes, boolean headers) throws Exception;

    /** Begins to relay; to close is to end. */
    AutoCloseable start(Stand stand) throws Exception;

    /** Returns how many rows are still to be relayed; zero as soon as there is none. */
    long left(Stand stand) throws Exception;
}
