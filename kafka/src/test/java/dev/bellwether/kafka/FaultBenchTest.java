package dev.bellwether.kafka;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.faults.Ground;
import dev.bellwether.testkit.kafka.Broker;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.servers.Scripts;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;

/** Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the soak profile. */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);

    @Test
    void noFaultMakesTwoLeadersOnThreeBrokers() {
        FaultBench.run(
                new Cluster(SharedCluster.get()), Setting.of("kafka", LEASE).withSteps(Scripts.where("libfaketime")));
    }

    private record Cluster(KafkaBrokers all) implements Ground {
        @Override
        public String describe() {
            return "Kafka on 3 brokers";
        }

        @Override
        public int places() {
            return KafkaInfrastructure.LINKS;
        }

        @Override
        public String uri(int place) {
            return "kafka://" + all.bootstrap(place);
        }

        @Override
        public String operatorsUri() {
            return "kafka://" + all.bootstrap();
        }

        @Override
        public List<FaultProxy> links(int place) {
            return all.brokers().stream().map(broker -> broker.link(place)).toList();
        }

        @Override
        public List<Server> servers() {
            return all.brokers().stream().map(one -> (Server) new One(one)).toList();
        }

        /** The one that coordinates all groups: their topic has one partition here. */
        @Override
        public Server leader() {
            var topic = "__consumer_offsets";
            try (var admin = Admin.create(Map.of("bootstrap.servers", all.bootstrap()))) {
                var partitions = Objects.requireNonNull(admin.describeTopics(List.of(topic))
                                .allTopicNames()
                                .get()
                                .get(topic))
                        .partitions();
                return new One(all.broker(partitions.get(0).leader().id()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }

    private record One(Broker broker) implements Ground.Server {
        @Override
        public String name() {
            return "broker " + broker.id();
        }

        @Override
        public void pause() {
            broker.pause();
        }

        @Override
        public void resume() {
            broker.resume();
        }

        @Override
        public void kill() {
            broker.kill();
        }

        @Override
        public void start() {
            broker.start();
        }
    }
}
