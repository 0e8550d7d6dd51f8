package dev.bellwether.kafka;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many brokers keep what a topic of ours holds, whatever the brokers' own defaults are: what is acknowledged must
 * outlive one of them.
 */
final class Replication {
    private static final Logger log = LoggerFactory.getLogger(Replication.class);
    private static final String IN_SYNC = "min.insync.replicas";
    private static final int REPLICAS = 3;

    private Replication() {}

    /** Returns how many replicas a topic gets on so many brokers. */
    static short on(int brokers) {
        return (short) Math.max(1, Math.min(REPLICAS, brokers));
    }

    /** Returns the fewest replicas that any of its partitions has. */
    static int of(TopicDescription topic) {
        return topic.partitions().stream()
                .mapToInt(partition -> partition.replicas().size())
                .min()
                .orElse(1);
    }

    /** Returns these settings and how many of so many replicas must have a record before it is acknowledged. */
    static Map<String, String> with(Map<String, String> settings, int replicas) {
        var config = new TreeMap<>(settings);
        config.put(IN_SYNC, Integer.toString(Math.min(2, replicas)));
        return config;
    }

    /** Returns a topic to be made on so many brokers. */
    static NewTopic topic(String name, int partitions, Map<String, String> settings, int brokers) {
        var replicas = on(brokers);
        return new NewTopic(name, Optional.of(partitions), Optional.of(replicas)).configs(with(settings, replicas));
    }

    /** Returns what an administrator enters to make the topic. */
    static String command(Settings brokers, String name, int partitions, Map<String, String> settings) {
        return "kafka-topics.sh --bootstrap-server " + brokers.bootstrap() + " --create --topic " + name
                + " --partitions " + partitions + " --replication-factor " + REPLICAS + ' '
                + with(settings, REPLICAS).entrySet().stream()
                        .map(entry -> "--config " + entry.getKey() + '=' + entry.getValue())
                        .collect(Collectors.joining(" "));
    }

    /** We have made a topic on so many brokers: warns if they are too few. */
    static void warnOfBrokers(String topic, int brokers) {
        if (brokers < REPLICAS) {
            log.warn(
                    "{} broker(s) answered, so topic {} has no more replicas, and keeps that number. While one of"
                            + " them is down nobody may lead, and what it loses with its disk is lost: two may lead"
                            + " then. Run three brokers, and give the topic 3 replicas (kafka-reassign-partitions.sh)",
                    brokers,
                    topic);
        }
    }

    /** The topic was there: warns if there are brokers that could keep more replicas of it. Nobody waits. */
    // the callback says what the future would
    @SuppressWarnings("FutureReturnValueIgnored")
    static void warnOfReplicas(AdminConnection admin, TopicDescription topic) {
        var replicas = of(topic);
        if (replicas < REPLICAS) {
            admin.ask(client -> client.describeCluster().nodes()).whenComplete((nodes, unknown) -> {
                if (nodes != null) {
                    warnOfReplicas(topic.name(), replicas, nodes.size());
                }
            });
        }
    }

    private static void warnOfReplicas(String topic, int replicas, int brokers) {
        if (replicas < on(brokers)) {
            log.warn(
                    "topic {} has {} replica(s), and there are {} brokers. While one of its brokers is down nobody"
                            + " may lead, and what that loses with its disk is lost: two may lead then. Give the topic"
                            + " {} replicas (kafka-reassign-partitions.sh). If a broker created it by itself, raise"
                            + " default.replication.factor as well",
                    topic,
                    replicas,
                    brokers,
                    on(brokers));
        }
    }
}
