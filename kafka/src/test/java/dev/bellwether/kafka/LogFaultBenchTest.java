package dev.bellwether.kafka;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.kafka.KafkaGround;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * As {@link FaultBenchTest}, by the log of a topic: the broker that is killed, frozen and cut off is the one that leads
 * the log.
 */
class LogFaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final String TOPIC = "bench-log";

    @Test
    void noFaultMakesTwoLeadersOnThreeBrokers() {
        FaultBench.run(ground(), Setting.of("kafka-log", LEASE).withSteps(Scripts.where("libfaketime")));
    }

    private static KafkaGround ground() {
        return new KafkaGround(
                SharedCluster.get(),
                KafkaInfrastructure.LINKS,
                addresses -> "kafka://" + addresses + LogInfrastructure.query(TOPIC, Duration.ofSeconds(2)),
                () -> LogClusterContractTest.leader(SharedCluster.get(), TOPIC));
    }
}
