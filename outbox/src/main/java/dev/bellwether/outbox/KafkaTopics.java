package dev.bellwether.outbox;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the brokers about topics. */
final class KafkaTopics implements PoisonDetector.Topics {
    private static final int PATIENCE_SECONDS = 5;

    private static final Logger LOG = LoggerFactory.getLogger(KafkaTopics.class);

    private final Map<String, Object> properties;
    private final long maxRequestBytes;
    private final TopicRules.Codec compression;
    private final Partitioning partitioning;
    private final String eventIdHeader;

    KafkaTopics(RelayConfig config) {
        var producer = config.producer();
        partitioning = config.partitioning();
        eventIdHeader = config.eventIdHeader();
        properties = common(producer);
        maxRequestBytes = Long.parseLong(String.valueOf(producer.getOrDefault("max.request.size", 1 << 20))
                .strip());
        compression = TopicRules.Codec.of(producer);
    }

    /**
     * Returns those properties that every client of Kafka has: where the brokers are, how to log in, and whatever Kafka
     * does not know itself. That may be for a plug-in, such as the certificates for an SSL engine factory.
     */
    static Map<String, Object> common(Map<String, Object> producer) {
        var common = new TreeMap<>(producer);
        common.keySet()
                .removeIf(name -> !AdminClientConfig.configNames().contains(name)
                        && (ProducerConfig.configNames().contains(name)
                                || ConsumerConfig.configNames().contains(name)));
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
    public TopicRules.Codec compression() {
        return compression;
    }

    @Override
    public String eventIdHeader() {
        return eventIdHeader;
    }

    @Override
    public Optional<TopicRules> rules(String topic) {
        return ask("what topic " + topic + " takes", Optional.empty(), admin -> {
            var found = describe(admin, topic);
            return found == null
                    ? Optional.empty()
                    : Optional.of(rules(admin, topic, found.partitions().size()));
        });
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
        return ask("whether topics " + asked + " are missing", Map.of(), admin -> {
            var missing = new TreeMap<String, String>();
            var impossible = new TreeMap<String, String>();
            var answers = admin.describeTopics(asked, patience()).topicNameValues();
            for (var answer : answers.entrySet()) {
                try {
                    answer.getValue().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                } catch (ExecutionException e) {
                    if (isMissing(e)) {
                        var those = e.getCause() instanceof InvalidTopicException ? impossible : missing;
                        those.put(answer.getKey(), doesNotExist(answer.getKey(), e));
                    }
                }
            }
            if (!missing.isEmpty() && !makesTopics(admin)) {
                impossible.putAll(missing);
            }
            return impossible;
        });
    }

    @Override
    public Set<String> present(Set<String> asked) {
        return ask("which of topics " + asked + " exist", Set.of(), admin -> {
            var present = new TreeSet<String>();
            var answers = admin.describeTopics(asked, patience()).topicNameValues();
            for (var answer : answers.entrySet()) {
                try {
                    answer.getValue().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                    present.add(answer.getKey());
                } catch (ExecutionException e) {
                    LOG.debug("topic {} cannot be described", answer.getKey(), e);
                }
            }
            return present;
        });
    }

    /** Returns whether a broker makes a topic when a producer asks for it; true if we cannot or may not know. */
    private static boolean makesTopics(Admin admin) throws ExecutionException, InterruptedException, TimeoutException {
        var nodes = admin.describeCluster().nodes().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (nodes.isEmpty()) { // of a cluster that is starting
            return true;
        }
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
    public Map<String, Optional<Stranded>> stranded(Set<String> asked) {
        return ask("which partitions of topics " + asked + " have a leader", Map.of(), admin -> {
            var told = new TreeMap<String, Optional<Stranded>>();
            var answers = admin.describeTopics(asked, patience()).topicNameValues();
            for (var answer : answers.entrySet()) {
                try {
                    told.put(answer.getKey(), stranded(answer.getValue().get(PATIENCE_SECONDS, TimeUnit.SECONDS)));
                } catch (ExecutionException e) {
                    if (isMissing(e) || !(e.getCause() instanceof RetriableException)) {
                        told.put(answer.getKey(), Optional.empty()); // it is gone, or not for us to see
                    }
                }
            }
            return told;
        });
    }

    private Optional<Stranded> stranded(TopicDescription found) {
        var without = found.partitions().stream()
                .filter(partition ->
                        partition.leader() == null || partition.leader().isEmpty())
                .map(TopicPartitionInfo::partition)
                .collect(Collectors.toSet());
        return without.isEmpty()
                ? Optional.empty()
                : Optional.of(new Stranded(found.partitions().size(), without, partitioning));
    }

    @Override
    public Optional<String> fault(String topic, int partition) {
        return ask("what is wrong with topic " + topic, Optional.empty(), admin -> {
            try {
                var found = describe(admin, topic);
                return found == null || partition < found.partitions().size()
                        ? Optional.empty()
                        : Optional.of("topic " + topic + " has "
                                + found.partitions().size() + " partitions, none of them is " + partition);
            } catch (ExecutionException e) {
                return isMissing(e) ? Optional.of(doesNotExist(topic, e)) : Optional.empty();
            }
        });
    }

    // ---------------------------------------------------------------- asking

    private interface Question<T> {
        T ask(Admin admin) throws ExecutionException, InterruptedException, TimeoutException;
    }

    /** Returns the answer of the brokers; if there is none, the other one. */
    private <T> T ask(String what, T otherwise, Question<T> question) {
        Admin admin = null;
        try {
            admin = Admin.create(properties);
            return question.ask(admin);
        } catch (ExecutionException | TimeoutException | KafkaException e) { // as if no name of a broker resolves
            LOG.debug("nobody tells {}", what, e);
            return otherwise;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return otherwise;
        } finally {
            if (admin != null) {
                admin.close(Duration.ZERO); // which would wait for brokers that do not answer
            }
        }
    }

    private static @Nullable TopicDescription describe(Admin admin, String topic)
            throws ExecutionException, InterruptedException, TimeoutException {
        var answer = admin.describeTopics(List.of(topic), patience())
                .topicNameValues()
                .get(topic);
        return answer == null ? null : answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static DescribeTopicsOptions patience() {
        return new DescribeTopicsOptions().timeoutMs(PATIENCE_SECONDS * 1_000);
    }

    private static boolean isMissing(ExecutionException e) {
        return e.getCause() instanceof UnknownTopicOrPartitionException
                || e.getCause() instanceof InvalidTopicException;
    }

    private static String doesNotExist(String topic, ExecutionException e) {
        return "topic " + topic
                + (e.getCause() instanceof InvalidTopicException
                        ? " cannot exist: no topic may have this name"
                        : " does not exist");
    }
}
