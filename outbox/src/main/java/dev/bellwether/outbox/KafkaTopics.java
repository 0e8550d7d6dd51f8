package dev.bellwether.outbox;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.common.TopicPartitionInfo;
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
    private final Partitioning partitioning;
    private final String eventIdHeader;

    KafkaTopics(RelayConfig config) {
        var producer = config.producer();
        partitioning = config.partitioning();
        eventIdHeader = config.eventIdHeader();
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
    public String eventIdHeader() {
        return eventIdHeader;
    }

    @Override
    public Optional<TopicRules> rules(String topic) {
        var admin = Admin.create(properties);
        try {
            var partitions = admin.describeTopics(List.of(topic), patience())
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
    public Map<String, String> missing(Set<String> asked) {
        var admin = Admin.create(properties);
        try {
            var missing = new TreeMap<String, String>();
            var answers = admin.describeTopics(asked, patience()).topicNameValues();
            for (var answer : answers.entrySet()) {
                try {
                    answer.getValue().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                } catch (ExecutionException e) {
                    if (isMissing(e)) {
                        missing.put(answer.getKey(), doesNotExist(answer.getKey()));
                    }
                }
            }
            return missing.isEmpty() || makesTopics(admin) ? Map.of() : missing;
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("nobody tells whether topics {} are missing", asked, e);
            return Map.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Map.of();
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
    }

    /** Returns whether a broker makes a topic when a producer asks for it; true if we may not know. */
    private static boolean makesTopics(Admin admin) throws ExecutionException, InterruptedException, TimeoutException {
        var nodes = admin.describeCluster().nodes().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        var broker = new ConfigResource(
                ConfigResource.Type.BROKER, nodes.iterator().next().idString());
        var config = admin.describeConfigs(List.of(broker))
                .all()
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .get(broker);
        var makes = config == null ? null : config.get("auto.create.topics.enable");
        return makes == null || !"false".equals(makes.value());
    }

    @Override
    public Optional<Stranded> stranded(String topic) {
        var admin = Admin.create(properties);
        try {
            var found = admin.describeTopics(List.of(topic), patience())
                    .allTopicNames()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .get(topic);
            if (found == null) {
                return Optional.empty();
            }
            var without = found.partitions().stream()
                    .filter(partition ->
                            partition.leader() == null || partition.leader().isEmpty())
                    .map(TopicPartitionInfo::partition)
                    .collect(Collectors.toSet());
            return without.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Stranded(found.partitions().size(), without, partitioning));
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("nobody tells which partitions of topic {} have a leader", topic, e);
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            admin.close(Duration.ZERO); // which would wait for brokers that do not answer
        }
    }

    private static DescribeTopicsOptions patience() {
        return new DescribeTopicsOptions().timeoutMs(PATIENCE_SECONDS * 1_000);
    }

    private static boolean isMissing(ExecutionException e) {
        return e.getCause() instanceof UnknownTopicOrPartitionException
                || e.getCause() instanceof InvalidTopicException;
    }

    private static String doesNotExist(String topic) {
        return "topic " + topic + " does not exist";
    }

    @Override
    public Optional<String> fault(String topic, int partition) {
        var admin = Admin.create(properties);
        try {
            var answer = admin.describeTopics(List.of(topic), patience())
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
            return isMissing(e) ? Optional.of(doesNotExist(topic)) : Optional.empty();
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
