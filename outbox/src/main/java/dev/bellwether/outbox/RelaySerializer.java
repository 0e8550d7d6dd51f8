package dev.bellwether.outbox;

import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.ClusterResourceListener;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.KafkaThread;

/**
 * Leaves bytes as they are. It hears each time that its producer has learnt of the cluster, on the thread of that, and
 * has the thread forget that somebody has interrupted it: nothing else there does, and what the thread waits in would
 * return at once from then on. Thread-safe. Public because Kafka's client makes it.
 */
public final class RelaySerializer extends ByteArraySerializer implements ClusterResourceListener {
    /** For Kafka's client. */
    public RelaySerializer() {}

    @Override
    public void onUpdate(ClusterResource cluster) {
        if (Thread.currentThread() instanceof KafkaThread) {
            var unused = Thread.interrupted();
        }
    }
}
