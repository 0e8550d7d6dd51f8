package dev.bellwether.kafka;

import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.util.Map;

/** One broker for all tests that do not hurt it; it ends with the process. */
final class SharedBroker {
    private static final KafkaBrokers BROKERS =
            KafkaInfrastructure.warm(KafkaBrokers.start(1, KafkaInfrastructure.ALL_LINKS, Map.of()));

    private SharedBroker() {}

    static KafkaBrokers get() {
        return BROKERS;
    }

    static String uri() {
        return "kafka://" + BROKERS.bootstrap();
    }
}
