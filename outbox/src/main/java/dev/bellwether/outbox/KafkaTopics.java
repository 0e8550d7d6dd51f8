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
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the brokers about topics. */
final class KafkaTopics implements Judge.Topics {
    private static final int PATIENCE_SECONDS = 5;

    private static final Logger LOG = LoggerFactory.getLogger(KafkaTopics.class);

    private final Map<String, Object> properties;
    private final long maxRequestBytes;
    private final String compression;

    KafkaTopics(Map<String, Object> producer) {
        properties = common(producer);
        maxRequestBytes = Long.parseLong(String.valueOf(producer.getOrDefault("max.request.size", 1 << 20)));
        compression = String.valueOf(producer.getOrDefault("compression.type", ProducerSettings.COMPRESSION));
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
    public long maxRequestBytes() {
        return maxRequestBytes;
    }

    @Override
    public String compression() {
        return compression;
    }

    @Override
    public Optional<TopicRules> rules(String topic) {
        var admin = Admin.create(properties);
        try {
            var partitions = admin.describeTopics(
                            List.of(topic), new DescribeTopicsOptions().timeoutMs(PATIENCE_SECONDS * 1_000))
                    .allTopicNames()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .get(topic);
            return partitions == null
                    ? Optional.empty()
                    : Optional.of(rules(admin, topic, partitions.partitions().size()));
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("nobody tells what topic {} takes", topic, e);
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
    }

    private static TopicRules rules(Admin admin, String topic, int partitions)
            throws InterruptedException, TimeoutException {
        try {
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var config = admin.describeConfigs(List.of(resource))
                    .all()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .get(resource);
            if (config == null) {
                return new TopicRules(partitions, false, Long.MAX_VALUE);
            }
            return new TopicRules(
                    partitions,
                    config.get("cleanup.policy").value().contains("compact"),
                    Long.parseLong(config.get("max.message.bytes").value()));
        } catch (ExecutionException e) {
            LOG.debug("the settings of topic {} may not be read", topic, e);
            return new TopicRules(partitions, false, Long.MAX_VALUE);
        }
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
