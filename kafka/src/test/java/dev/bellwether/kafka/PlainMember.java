package dev.bellwether.kafka;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer with Kafka's range assignor in an election's group: what was there before us. */
final class PlainMember implements AutoCloseable, ConsumerRebalanceListener {
    private final KafkaConsumer<String, String> consumer;
    private final Thread thread = new Thread(this::run, "plain-member");
    private volatile boolean owns;
    private volatile boolean closed;

    PlainMember(String bootstrap, String group, String topic) {
        consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers",
                        bootstrap,
                        "group.id",
                        group,
                        "session.timeout.ms",
                        1_000,
                        "heartbeat.interval.ms",
                        100,
                        "enable.auto.commit",
                        false,
                        "auto.offset.reset",
                        "latest",
                        "partition.assignment.strategy",
                        "org.apache.kafka.clients.consumer.RangeAssignor"),
                new StringDeserializer(),
                new StringDeserializer());
        consumer.subscribe(List.of(topic), this);
        thread.setDaemon(true);
        thread.start();
    }

    boolean owns() {
        return owns;
    }

    private void run() {
        while (!closed) {
            consumer.poll(Duration.ofMillis(50));
        }
        consumer.close();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        owns = !partitions.isEmpty();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        owns = false;
    }

    @Override
    public void close() {
        leave();
    }

    void leave() {
        closed = true;
        try {
            thread.join(10_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        owns = false;
    }
}
