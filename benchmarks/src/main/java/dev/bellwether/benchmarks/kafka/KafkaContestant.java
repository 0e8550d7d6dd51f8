package dev.bellwether.benchmarks.kafka;

import java.time.Duration;

/** One candidate, of whatever make. */
interface KafkaContestant extends AutoCloseable {

    /** Returns whether it believes to lead. */
    boolean leads();

    /** Returns how often it led and then did so no more, without having been closed. */
    int lost();

    /** Leaves in order. */
    @Override
    void close();

    /** Makes candidates. */
    interface Make {
        String name();

        /** Lets one stand, over the given brokers; the name of the election is new for each round. */
        KafkaContestant stand(String bootstrap, String election, Duration session);
    }
}
