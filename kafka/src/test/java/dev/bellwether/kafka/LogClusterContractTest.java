package dev.bellwether.kafka;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.kafka.Broker;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract by the log of a topic, on three brokers, where a restart of the server is the death of its leader. */
@Tag("cluster")
class LogClusterContractTest extends ElectionsContract {
    private final KafkaBrokers brokers = SharedCluster.get();

    @BeforeAll
    static void awaitSettled() {
        LogInfrastructure.awaitSettled(SharedCluster.get());
    }

    @Override
    protected Infrastructure infrastructure() {
        return new LogInfrastructure(brokers) {
            @Override
            public void restartServer() {
                var leader = leader(brokers, "contract-log");
                leader.kill();
                leader.start();
            }

            @Override
            public Duration patience() {
                return Duration.ofSeconds(
                        60); // a dead broker is noticed after two seconds, and its partitions then move
            }

            @Override
            public int cycles() {
                return 50;
            }
        };
    }

    /** Returns the broker that leads the log of this topic. */
    static Broker leader(KafkaBrokers brokers, String topic) {
        try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            var described = admin.describeTopics(List.of(topic)).allTopicNames().get();
            return brokers.broker(Objects.requireNonNull(described.get(topic))
                    .partitions()
                    .get(0)
                    .leader()
                    .id());
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException("the brokers do not tell who leads " + topic, e);
        }
    }
}
