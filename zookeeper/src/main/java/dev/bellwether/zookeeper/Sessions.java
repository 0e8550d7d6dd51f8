package dev.bellwether.zookeeper;

import java.time.Duration;

/** Where candidacies find the session that their nodes live in. Thread-safe. */
interface Sessions extends AutoCloseable {

    /** Returns the one that observers and operators use. */
    SeatSession main();

    /**
     * Returns one for candidacies with a lease of this length, opening it if need be; it stays until it is given back
     * as often.
     */
    SeatSession take(Duration lease);

    /** The session for this lease is not needed any more by somebody who has taken it. */
    void giveBack(Duration lease);

    @Override
    void close();
}
