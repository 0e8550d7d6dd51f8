package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.stereotype.Component;

/** Messages that only the leader hears, on a real broker. */
@ExtendWith(BellwetherExtension.class)
@Timeout(120)
class MessageListenerTest {

    // tag::bills
    @Component
    @LeaderOnly("billing")
    static class Bills implements SmartLifecycle {
        private final KafkaListenerEndpointRegistry containers;
        private final List<String> settled = new CopyOnWriteArrayList<>();

        Bills(KafkaListenerEndpointRegistry containers) {
            this.containers = containers;
        }

        @KafkaListener(id = "bills", topics = "${topic.of.bills}", autoStartup = "false") // and not @LeaderOnly
        void settle(String bill) {
            settled.add(bill);
        }

        @Override
        public void start() {
            container().start();
        }

        @Override
        public void stop() {
            container().stop();
        }

        @Override
        public void stop(Runnable whenStopped) { // the seat waits for that
            container().stop(whenStopped);
        }

        @Override
        public boolean isRunning() {
            return container().isRunning();
        }

        @Override
        public boolean isAutoStartup() {
            return false;
        }

        private MessageListenerContainer container() {
            return Objects.requireNonNull(containers.getListenerContainer("bills"));
        }
    }
    // end::bills

    @Test
    void onlyTheLeaderHearsMessagesAndNoneIsLost(ControlledElections controlled) {
        var topic = "bills-" + UUID.randomUUID();
        OutboxRig.create(topic);
        Contexts.controlled(controlled)
                .withUserConfiguration(Listening.class)
                .withPropertyValues("topic.of.bills=" + topic)
                .run(context -> {
                    var bills = context.getBean(Bills.class);
                    var election = controlled.election("billing");
                    send(topic, "one");
                    assertThat(bills.isRunning()).isFalse();

                    election.acquire();
                    heard(bills, "one");
                    election.revoke();
                    assertThat(bills.isRunning()).isFalse();
                    send(topic, "two");
                    election.acquire();
                    heard(bills, "one", "two");

                    context.stop();
                    context.start();
                    assertThat(bills.isRunning()).isFalse();
                    send(topic, "three");
                    election.acquire();
                    heard(bills, "one", "two", "three");
                });
    }

    private static void heard(Bills bills, String... all) {
        Eventually.eventually("all are heard", OutboxRig.PATIENCE, () -> bills.settled.size() >= all.length);
        assertThat(bills.settled).containsExactly(all);
    }

    private static void send(String topic, String bill) throws Exception {
        var settings =
                Map.<String, Object>of("bootstrap.servers", OutboxRig.brokers().bootstrap());
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, bill)).get();
        }
    }

    @EnableKafka
    static class Listening {
        @Bean
        ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory() {
            var factory = new ConcurrentKafkaListenerContainerFactory<String, String>();
            factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(
                    Map.of("bootstrap.servers", OutboxRig.brokers().bootstrap(), "auto.offset.reset", "earliest"),
                    new StringDeserializer(),
                    new StringDeserializer()));
            factory.getContainerProperties().setStopImmediate(true);
            return factory;
        }

        @Bean
        Bills bills(KafkaListenerEndpointRegistry containers) {
            return new Bills(containers);
        }
    }
}
