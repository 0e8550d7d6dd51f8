package dev.bellwether.benchmarks.outbox;

import java.sql.SQLException;

/** Somebody who relays. */
interface OutboxContestant {
    /** Who takes part, by name. */
    String name();

    /** Returns whether he is quick enough for as many rows as we are. */
    boolean isQuick();

    /** Makes an empty table, or empties the one that is there. */
    void reset(OutboxServers stand) throws Exception;

    /** Fills the table with rows of so many bytes, whose keys are spread over 10,000. */
    void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws Exception;

    /** Returns whether it relays in a process of its own: how long that takes to start is not counted. */
    default boolean isProcess() {
        return false;
    }

    /** Begins to relay; to close is to end. */
    AutoCloseable start(OutboxServers stand) throws Exception;

    /** Returns how many rows are still to be relayed; zero as soon as there is none. */
    long left(OutboxServers stand) throws Exception;

    /** Returns a way to write one row in a transaction of its own; each thread has one. */
    Pen pen(OutboxServers stand) throws SQLException;

    /** Writes rows. */
    interface Pen extends AutoCloseable {
        void write(String key, String value) throws SQLException;

        @Override
        void close() throws SQLException;
    }
}
