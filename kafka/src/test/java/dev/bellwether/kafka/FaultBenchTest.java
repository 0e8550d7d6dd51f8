package dev.bellwether.kafka;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.kafka.Broker;
import dev.bellwether.testkit.kafka.KafkaGround;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
@Tag("cluster") // three brokers and many processes, which compute
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);

    @Test
    void noFaultMakesTwoLeadersOnThreeBrokers() {
        FaultBench.run(ground(), Setting.of("kafka", LEASE).withSteps(Scripts.where("libfaketime")));
    }

    /** Three brokers, with a place for each link. */
    static KafkaGround ground() {
        return new KafkaGround(
                SharedCluster.get(),
                KafkaInfrastructure.LINKS,
                addresses -> "kafka://" + addresses,
                FaultBenchTest::coordinator);
    }

    /** The one that coordinates all groups: their topic has one partition here. */
    private static Broker coordinator() {
        var all = SharedCluster.get();
        var topic = "__consumer_offsets";
        try (var admin = Admin.create(Map.of("bootstrap.servers", all.bootstrap()))) {
            var partitions = Objects.requireNonNull(admin.describeTopics(List.of(topic))
                            .allTopicNames()
                            .get()
                            .get(topic))
                    .partitions();
            return all.broker(partitions.get(0).leader().id());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }
}
