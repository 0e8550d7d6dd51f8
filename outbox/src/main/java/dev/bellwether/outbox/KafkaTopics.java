package dev.bellwether.outbox;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Asks the brokers about topics. */
final class KafkaTopics implements Judge.Topics {
    private static final int PATIENCE_SECONDS = 5;

    private final Map<String, Object> properties;

    KafkaTopics(Map<String, Object> producer) {
        properties = common(producer);
    }

    /** Returns those properties that every client of Kafka has: where the brokers are, and how to log in. */
    static Map<String, Object> common(Map<String, Object> producer) {
        var common = new TreeMap<>(producer);
        common.keySet().retainAll(AdminClientConfig.configNames());
        List.of(
                        "client.id",
                        "request.timeout.ms",
                        "retries",
                        "metric.reporters",
                        "send.buffer.bytes",
                        "receive.buffer.bytes")
                .forEach(common::remove);
        return common;
    }

    @Override
    public Optional<String> fault(String topic, int partition) {
        var admin = Admin.create(properties);
        try {
            var answer = admin.describeTopics(
                            List.of(topic), new DescribeTopicsOptions().timeoutMs(PATIENCE_SECONDS * 1_000))
                    .topicNameValues()
                    .get(topic);
            if (answer == null) {
                return Optional.empty();
            }
            var partitions =
                    answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS).partitions().size();
            return partition < partitions
                    ? Optional.empty()
                    : Optional.of(
                            "topic " + topic + " has " + partitions + " partitions, none of them is " + partition);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException
                    || e.getCause() instanceof InvalidTopicException) {
                return Optional.of("topic " + topic + " does not exist");
            }
            return Optional.empty(); // nobody knows
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
    }
}
