package dev.bellwether.kafka;

import org.apache.kafka.common.utils.KafkaThread;
import org.jspecify.annotations.Nullable;

/**
 * The thread on which a client of Kafka's speaks to the brokers. Nobody ends it by an interrupt, and nothing in the
 * client forgets one: from then on what it waits in returns at once, and it keeps a processor busy. So we forget it,
 * whenever that thread comes by.
 *
 * <p>Thread-safe.
 */
final class NetworkThread {
    private NetworkThread() {}

    /** Forgets on such a thread that it was interrupted, and returns it; null on any other. */
    static @Nullable Thread calm() {
        var present = Thread.currentThread();
        if (present instanceof KafkaThread) {
            var unused = Thread.interrupted();
            return present;
        }
        return null;
    }
}
