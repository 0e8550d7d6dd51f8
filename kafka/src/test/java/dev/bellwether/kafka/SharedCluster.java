package dev.bellwether.kafka;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.util.Map;

/**
 * Three brokers for all tests that need more than one; whoever stops one starts it again. They end with the process.
 */
final class SharedCluster {
    private static final KafkaBrokers BROKERS =
            KafkaInfrastructure.warm(KafkaBrokers.start(3, KafkaInfrastructure.ALL_LINKS, Map.of()));

    private SharedCluster() {}

    static KafkaBrokers get() {
        return BROKERS;
    }
}
