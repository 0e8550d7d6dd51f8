package dev.bellwether.benchmarks.kafka;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Under which of Kafka's group protocols and assignors an owner of a partition is left in peace while another member
 * joins and leaves.
 */
public final class Protocols {
    private static final String TOPIC = "seat";
    private static final Duration STEP = Duration.ofMillis(20);
    private static final Map<String, String> FAST = Map.of(
            "group.consumer.heartbeat.interval.ms", "100",
            "group.consumer.min.heartbeat.interval.ms", "10",
            "group.consumer.session.timeout.ms", "1000",
            "group.consumer.min.session.timeout.ms", "100");

    private Protocols() {}

    /** Takes the number of rounds, 20 by default. */
    public static void main(String[] args) throws InterruptedException, ExecutionException {
        var rounds = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        try (var brokers = KafkaBrokers.start(1, 0, FAST);
                var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 1))).all().get();
            var own = "dev.bellwether.kafka.SeatAssignor";
            var kafkas = "org.apache.kafka.clients.consumer.";
            look(brokers, rounds, "classic, ours", classic(own));
            look(brokers, rounds, "classic, cooperative-sticky", classic(kafkas + "CooperativeStickyAssignor"));
            look(brokers, rounds, "classic, range", classic(kafkas + "RangeAssignor"));
            look(brokers, rounds, "KIP-848, uniform", kip848("uniform"));
            look(brokers, rounds, "KIP-848, range", kip848("range"));
            var session = new HashMap<>(kip848("uniform"));
            session.put("session.timeout.ms", 300);
            try (var refused = new Member(brokers, "refused", session)) {
                refused.poll();
                System.out.println("KIP-848: a client chose its session");
            } catch (ConfigException e) {
                System.out.println("KIP-848: a client that chooses its session: " + e.getMessage());
            }
        }
    }

    private static Map<String, Object> classic(String assignor) {
        return Map.of(
                "group.protocol",
                "classic",
                "session.timeout.ms",
                1_000,
                "heartbeat.interval.ms",
                100,
                "partition.assignment.strategy",
                assignor);
    }

    private static Map<String, Object> kip848(String assignor) {
        return Map.of("group.protocol", "consumer", "group.remote.assignor", assignor);
    }

    private static void look(KafkaBrokers brokers, int rounds, String what, Map<String, Object> settings) {
        var moved = 0;
        var disturbed = 0;
        for (var i = 0; i < rounds; i++) {
            var group = "group-" + UUID.randomUUID();
            try (var owner = new Member(brokers, group, settings)) {
                for (var turn = 0; turn < 500 && !owner.owns; turn++) {
                    owner.poll();
                }
                try (var newcomer = new Member(brokers, group, settings)) {
                    for (var turn = 0; turn < 40; turn++) {
                        owner.poll();
                        newcomer.poll();
                    }
                    moved += newcomer.owns ? 1 : 0;
                }
                disturbed += owner.losses > 0 ? 1 : 0;
            }
        }
        System.out.printf(
                "%-28s the seat moved to a newcomer in %d of %d joins; its owner was disturbed in %d%n",
                what, moved, rounds, disturbed);
    }

    private static final class Member implements AutoCloseable, ConsumerRebalanceListener {
        private final KafkaConsumer<String, String> consumer;
        private boolean owns;
        private int losses;

        private Member(KafkaBrokers brokers, String group, Map<String, Object> settings) {
            var properties = new HashMap<>(settings);
            properties.put("bootstrap.servers", brokers.bootstrap());
            properties.put("group.id", group);
            properties.put("enable.auto.commit", false);
            properties.put("auto.offset.reset", "latest");
            consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(TOPIC), this);
        }

        private void poll() {
            if (!consumer.poll(STEP).isEmpty()) {
                throw new IllegalStateException("nobody writes to " + TOPIC);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owns = owns || !partitions.isEmpty();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) {
                owns = false;
                losses++;
            }
        }

        @Override
        public void close() {
            consumer.unsubscribe();
            consumer.close();
        }
    }
}
