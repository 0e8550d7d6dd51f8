package dev.bellwether.kafka;

import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.ClusterResourceListener;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Leaves bytes as they are. It hears each time that its producer has learnt of the cluster, also of an idle one, on the
 * thread of that, and has the thread forget that somebody has interrupted it: nothing else there does, and what the
 * thread waits in would return at once from then on. Thread-safe. Public because Kafka's client makes it, for relays of
 * an outbox too.
 */
public final class CalmSerializer extends ByteArraySerializer implements ClusterResourceListener {
    /** For Kafka's client. */
    public CalmSerializer() {}

    @Override
    public void onUpdate(ClusterResource cluster) {
        NetworkThread.calm();
    }
}
