package dev.bellwether.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.outbox.Message;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Serializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Events of an application on their way to Kafka, on a real PostgreSQL and a real broker. */
@Timeout(180)
class OutboxEventsTest {
    private final OutboxRig rig = new OutboxRig();

    @OutboxEvent(topic = "${topic.of.orders}", key = "order")
    sealed interface OrderEvent permits Placed, Paid, NoOrder {}

    record Placed(String order, int amount) implements OrderEvent {}

    record Paid(String order) implements OrderEvent {}

    record NoOrder(@Nullable String order) implements OrderEvent {}

    @Test
    void eventsArePublishedAsJsonIfTheyAreCommittedAndInTheOrderOfAllMessages() {
        rig.application().run(context -> {
            rig.transaction.executeWithoutResult(status -> {
                context.publishEvent(new Placed("order-1", 1));
                status.setRollbackOnly();
            });
            rig.transaction.executeWithoutResult(status -> {
                context.publishEvent(new Placed("order-1", 2));
                context.getBean(TransactionalOutbox.class).stash(Message.of(rig.topic, "order-1", "by hand"));
                var before = status.createSavepoint();
                context.publishEvent(new Placed("order-1", 3));
                status.rollbackToSavepoint(before);
                context.publishEvent("nothing of ours");
                context.publishEvent(new Paid("order-1"));
            });
            var records = rig.read(rig.topic, 3);
            assertThat(records)
                    .extracting(ConsumerRecord::value)
                    .containsExactly("{\"order\":\"order-1\",\"amount\":2}", "by hand", "{\"order\":\"order-1\"}");
            assertThat(records).extracting(ConsumerRecord::key).containsOnly("order-1");
            assertThat(headers(records.get(0))).containsOnlyKeys("event-id");
        });
    }

    /** An event of a child is told to the listeners of its parent, too. */
    @Test
    void inAHierarchyOfContextsAnEventIsOneMessage() {
        withoutRelay()
                .run(parent -> withoutRelay().withParent(parent).run(child -> {
                    rig.transaction.executeWithoutResult(status -> child.publishEvent(new Paid("order-1")));
                    assertThat(rig.rows()).isOne();
                    assertThat(child.getBean(RelayTroubles.class)).isSameAs(parent.getBean(RelayTroubles.class));
                }));
    }

    @Test
    void anEventOutsideATransactionIsRefused() {
        withoutRelay().run(context -> {
            assertThatThrownBy(() -> context.publishEvent(new Paid("order-1")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Paid.class.getName())
                    .hasMessageContaining("@Transactional");
            assertThatThrownBy(() -> rig.transaction.executeWithoutResult(status -> {
                        context.publishEvent(new Paid("order-1"));
                        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                            @Override
                            public void afterCommit() {
                                context.publishEvent(new Paid("order-2"));
                            }
                        });
                    }))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("after the commit");
            assertThat(rig.rows()).isOne();
        });
    }

    @OutboxEvent(topic = "orders", key = "ordre")
    record Mistyped(String order) {}

    @OutboxEvent(topic = "orders", key = "order +")
    record Unfinished(String order) {}

    @OutboxEvent(topic = "orders", key = "T(java.lang.System).getProperty('user.name')")
    record Reaching(String order) {}

    @OutboxEvent(topic = "${no.such.property}")
    record Nowhere(String order) {}

    @Test
    void anEventThatMakesNoMessageIsRefusedByName() {
        withoutRelay().run(context -> {
            assertRefused(context, new NoOrder(null), "the key \"order\"", NoOrder.class.getName(), "null");
            assertRefused(context, new Mistyped("order-1"), "the key \"ordre\"", Mistyped.class.getName());
            assertRefused(context, new Unfinished("order-1"), "the key \"order +\"", Unfinished.class.getName());
            assertRefused(context, new Reaching("order-1"), "the key \"T(", "has no value");
            assertRefused(context, new Nowhere("order-1"), "no.such.property");
            assertThat(rig.rows()).isZero();
        });
    }

    private void assertRefused(ApplicationEventPublisher publisher, Object event, String... says) {
        assertThatThrownBy(() -> rig.transaction.executeWithoutResult(status -> publisher.publishEvent(event)))
                .isInstanceOfAny(IllegalStateException.class, IllegalArgumentException.class)
                .hasMessageContainingAll(says);
    }

    // tag::payload
    @OutboxEvent(topic = "${topic.of.payments}", key = "account", payload = "toRecord()", type = "payment.taken.v1")
    record PaymentTaken(String account, boolean erased) {
        public @Nullable Payment toRecord() { // such as one that Avro has generated; null makes a tombstone
            return erased ? null : new Payment(account);
        }
    }
    // end::payload

    record Payment(String account) {}

    /** As those that ask a registry: it is set up by properties, and writes more than the value. */
    public static final class RegistrySerializer implements Serializer<Object> {
        private final AtomicReference<String> settings = new AtomicReference<>("none");
        private boolean closed;

        @Override
        public void configure(Map<String, ?> all, boolean isKey) {
            settings.set((isKey ? "key" : "value") + " by " + all.get("schema.registry.url") + ", "
                    + (all.containsKey("bootstrap.servers") ? "with" : "without") + " the application's settings");
        }

        @Override
        public byte[] serialize(String topic, Object data) {
            throw new UnsupportedOperationException("headers are missing");
        }

        @Override
        public byte[] serialize(String topic, Headers headers, Object data) {
            headers.add("schema", "17".getBytes(UTF_8));
            return (data + " of " + settings.get()).getBytes(UTF_8);
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    @Test
    void kafkasSerializersWriteKeyAndValueOfWhatThePayloadSays() {
        var name = RegistrySerializer.class.getName();
        rig.application()
                .withPropertyValues(
                        "topic.of.payments=" + rig.topic,
                        "bellwether.outbox.events.key-serializer=" + name,
                        "bellwether.outbox.events.value-serializer=" + name,
                        "bellwether.outbox.events.properties[schema.registry.url]=http://registry")
                .run(context -> {
                    rig.transaction.executeWithoutResult(
                            status -> context.publishEvent(new PaymentTaken("account-1", false)));
                    var record = rig.read(rig.topic, 1).get(0);
                    var by = " by http://registry, with the application's settings";
                    assertThat(record.key()).isEqualTo("account-1 of key" + by);
                    assertThat(record.value()).isEqualTo(new Payment("account-1") + " of value" + by);
                    assertThat(headers(record)).containsEntry("schema", "17").doesNotContainKey("content-type");
                });
    }

    @Test
    void serializersThatAreABeanTakeThePlaceOfJackson() {
        var serializer = new RegistrySerializer();
        rig.application()
                .withPropertyValues("topic.of.payments=" + rig.topic)
                .withBean(
                        EventSerializers.class,
                        () -> EventSerializers.of(serializer).withContentType("application/x-test"))
                .run(context -> {
                    rig.transaction.executeWithoutResult(
                            status -> context.publishEvent(new PaymentTaken("account-1", false)));
                    var record = rig.read(rig.topic, 1).get(0);
                    assertThat(record.key()).isEqualTo("account-1");
                    assertThat(record.value()).isEqualTo(new Payment("account-1") + " of none");
                    assertThat(headers(record)).containsEntry("content-type", "application/x-test");
                    assertThat(serializer.closed).isFalse();
                });
        assertThat(serializer.closed).isTrue();
    }

    @Test
    void aSerializerThatIsNoneIsRefusedAtTheStart() {
        withoutRelay()
                .withPropertyValues("bellwether.outbox.events.value-serializer=java.lang.String")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("bellwether.outbox.events.value-serializer is java.lang.String"));
    }

    @Test
    void messagesOfEventsAreCloudEventsIfTheyAreToBe() {
        rig.application()
                .withPropertyValues(
                        "spring.application.name=order desk",
                        "topic.of.payments=" + rig.topic,
                        "bellwether.outbox.events.cloud-events.enabled=true")
                .withBean(
                        OutboxAutoConfiguration.MessageCustomizer.class,
                        () -> (event, message) ->
                                message.header("kind", event.getClass().getSimpleName()))
                .run(context -> {
                    var began = Instant.now();
                    rig.transaction.executeWithoutResult(status -> {
                        context.publishEvent(new Placed("order-1", 1));
                        context.publishEvent(new PaymentTaken("account-1", true));
                    });
                    var records = rig.read(rig.topic, 2);
                    var placed = headers(records.get(0));
                    assertThat(placed)
                            .containsEntry("ce_specversion", "1.0")
                            .containsEntry("ce_id", Objects.requireNonNull(placed.get("event-id")))
                            .containsEntry("ce_source", "/order%20desk")
                            .containsEntry("ce_type", Placed.class.getCanonicalName())
                            .containsEntry("content-type", "application/json")
                            .containsEntry("kind", "Placed");
                    assertThat(Instant.parse(Objects.requireNonNull(placed.get("ce_time"))))
                            .isBetween(began.minusMillis(1), Instant.now());
                    assertThat(records.get(1).value()).isNull();
                    assertThat(headers(records.get(1)))
                            .containsEntry("ce_type", "payment.taken.v1")
                            .doesNotContainKey("content-type");
                });
    }

    @Test
    void cloudEventsWithoutASourceAreRefusedAtTheStart() {
        withoutRelay()
                .withPropertyValues("bellwether.outbox.events.cloud-events.enabled=true")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("cloud-events.source")
                        .hasMessageContaining("spring.application.name"));
        withoutRelay()
                .withPropertyValues(
                        "bellwether.outbox.events.cloud-events.enabled=true",
                        "bellwether.outbox.events.cloud-events.source=order desk")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining("cloud-events.source is \"order desk\""));
    }

    private ApplicationContextRunner withoutRelay() {
        return rig.application().withPropertyValues("bellwether.outbox.relay.enabled=false");
    }

    private static Map<String, String> headers(ConsumerRecord<String, String> record) {
        var headers = new TreeMap<String, String>();
        record.headers().forEach(header -> headers.put(header.key(), new String(header.value(), UTF_8)));
        return headers;
    }
}
