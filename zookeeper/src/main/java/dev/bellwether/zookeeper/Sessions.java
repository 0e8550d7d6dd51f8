package dev.bellwether.zookeeper;

import java.time.Duration;

/** Where candidacies find the session that their nodes live in. Thread-safe. */
interface Sessions extends AutoCloseable {

    /** Returns the one that observers and operators use. */
    Session main();

    /** Returns one for candidacies with a lease of this length, opening it if need be. */
    Session holding(Duration lease);

    @Override
    void close();
}
