package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.context.support.AbstractApplicationContext;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.stereotype.Component;
import org.springframework.util.backoff.FixedBackOff;

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
                .withBean(Bills.class)
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

    @Test
    void aMessageThatComesWhileTheMandateEndsIsDealtWithByTheNextLeader(ControlledElections controlled) {
        var topic = "bills-" + UUID.randomUUID();
        OutboxRig.create(topic);
        Contexts.controlled(controlled)
                .withUserConfiguration(Listening.class, Patient.class)
                .withBean(Payments.class)
                .withBean(Postings.class)
                .withPropertyValues("topic.of.bills=" + topic)
                .run(context -> {
                    var payments = context.getBean(Payments.class);
                    var postings = context.getBean(Postings.class);
                    var election = controlled.election("billing");
                    election.acquire();
                    send(topic, "one");
                    paid(payments, "one");
                    postings.whenRevoked = () -> {
                        send(topic, "two");
                        Eventually.eventually(
                                "the container has done with it, or tries on",
                                OutboxRig.PATIENCE,
                                () -> postings.done.contains("two")
                                        || postings.tried.stream()
                                                        .filter("two"::equals)
                                                        .count()
                                                > 12);
                    };
                    election.revoke();
                    assertThat(payments.paid()).containsExactly("one");
                    election.acquire();
                    paid(payments, "one", "two");
                });
    }

    @Test
    void aMessageThatAContainerHasWhenItsContextEndsIsDealtWithByTheNextLeader() {
        var topic = "bills-" + UUID.randomUUID();
        OutboxRig.create(topic);
        var application = Contexts.plain()
                .withUserConfiguration(Draining.class, Patient.class)
                .withBean(Payments.class)
                .withBean(Postings.class)
                .withBean(LateToEnd.class)
                .withPropertyValues("topic.of.bills=" + topic, "bellwether.uri=memory:" + UUID.randomUUID());
        application.run(context -> {
            var postings = context.getBean(Postings.class);
            var payments = context.getBean(Payments.class);
            var released = new CompletableFuture<Boolean>();
            postings.whenHeard = released::join;
            context.getBean(LateToEnd.class).whenDestroyed = () -> {
                released.complete(true);
                Eventually.eventually(
                        "the container has done with its messages, or left them",
                        OutboxRig.PATIENCE,
                        () -> postings.done.size() == 5
                                || postings.threads.stream().noneMatch(Thread::isAlive));
            };
            send(topic, "one", "two", "three", "four", "five");
            Eventually.eventually("the first is heard", OutboxRig.PATIENCE, () -> !postings.tried.isEmpty());
            context.close(); // the container works on: Spring does not wait for it any longer
            assertThat(payments.paid()).isEmpty();
        });
        application.run(context -> paid(context.getBean(Payments.class), "one", "two", "three", "four", "five"));
    }

    private static void paid(Payments payments, String... all) {
        Eventually.eventually(
                "all are paid", OutboxRig.PATIENCE, () -> payments.paid().containsAll(List.of(all)));
        assertThat(payments.paid()).containsExactly(all);
    }

    private static void heard(Bills bills, String... all) {
        Eventually.eventually("all are heard", OutboxRig.PATIENCE, () -> bills.settled.size() >= all.length);
        assertThat(bills.settled).containsExactly(all);
    }

    private static void send(String topic, String... bills) throws Exception {
        var settings =
                Map.<String, Object>of("bootstrap.servers", OutboxRig.brokers().bootstrap());
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (var bill : bills) {
                producer.send(new ProducerRecord<>(topic, bill)).get();
            }
        }
    }

    // tag::patient
    @Configuration
    static class Patient {
        /** Tries again for as long as the container runs, where Spring Kafka's own gives up after ten attempts. */
        @Bean
        CommonErrorHandler triesForever() {
            return new DefaultErrorHandler(new FixedBackOff(100, FixedBackOff.UNLIMITED_ATTEMPTS));
        }
    }
    // end::patient

    /** What the listener has done elsewhere. */
    static class Payments {
        private final List<String> paid = new CopyOnWriteArrayList<>();

        @LeaderOnly("billing")
        void pay(String bill) {
            paid.add(bill);
        }

        List<String> paid() {
            return paid;
        }
    }

    @LeaderOnly("billing")
    static class Postings extends Bills {
        private final Payments payments;
        private final List<String> tried = new CopyOnWriteArrayList<>();
        private final List<String> done = new CopyOnWriteArrayList<>();
        private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
        private volatile Runnable whenHeard = () -> {};
        private volatile Sending whenRevoked = () -> {};

        Postings(KafkaListenerEndpointRegistry containers, Payments payments) {
            super(containers);
            this.payments = payments;
        }

        @Override
        void settle(String bill) {
            threads.add(Thread.currentThread());
            tried.add(bill);
            whenHeard.run();
            payments.pay(bill);
            done.add(bill);
        }

        @EventListener
        void revoked(RevokedEvent event) throws Exception {
            whenRevoked.run();
        }
    }

    interface Sending {
        void run() throws Exception;
    }

    /** Ends when all with a lifecycle has stopped, and the seat is given up. */
    static class LateToEnd implements DisposableBean {
        private volatile Runnable whenDestroyed = () -> {};

        LateToEnd(Candidacies candidacies) {} // which end after it

        @Override
        public void destroy() {
            whenDestroyed.run();
        }
    }

    /** Its containers deal with all that they have before they stop, and Spring waits for 200 ms. */
    static class Draining extends Listening {
        @Override
        ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
                ObjectProvider<CommonErrorHandler> errors) {
            var factory = super.kafkaListenerContainerFactory(errors);
            factory.getContainerProperties().setStopImmediate(false);
            return factory;
        }

        @Bean(AbstractApplicationContext.LIFECYCLE_PROCESSOR_BEAN_NAME)
        DefaultLifecycleProcessor lifecycleProcessor() {
            var processor = new DefaultLifecycleProcessor();
            processor.setTimeoutPerShutdownPhase(200);
            return processor;
        }
    }

    @EnableKafka
    static class Listening {
        @Bean
        ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory(
                ObjectProvider<CommonErrorHandler> errors) {
            var factory = new ConcurrentKafkaListenerContainerFactory<String, String>();
            factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(
                    Map.of("bootstrap.servers", OutboxRig.brokers().bootstrap(), "auto.offset.reset", "earliest"),
                    new StringDeserializer(),
                    new StringDeserializer()));
            factory.getContainerProperties().setStopImmediate(true);
            errors.ifAvailable(factory::setCommonErrorHandler); // as Spring Boot does it
            return factory;
        }
    }
}
