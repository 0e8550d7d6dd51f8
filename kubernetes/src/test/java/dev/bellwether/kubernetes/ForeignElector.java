package dev.bellwether.kubernetes;

import java.time.Duration;

/** A candidate that elects on a Lease by a program that is not ours. Stands again by itself when it has lost. */
interface ForeignElector extends AutoCloseable {
    /** Returns whether its work may go on: from when it is told that it leads until it is told that it does not. */
    boolean leads();

    /** Leaves in order, releasing what it holds, and returns when it does not lead any more. */
    @Override
    void close();

    /**
     * Who, where, and how it is configured.
     *
     * @param port by which it reaches the API server
     */
    record Setting(int port, String namespace, String name, String identity, Timings timings) {}

    /** What all of them are configured with. */
    record Timings(Duration lease, Duration renewDeadline, Duration retryPeriod) {}
}
