package dev.bellwether.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Puts events of a class into the outbox when the application publishes them
 * ({@code ApplicationEventPublisher.publishEvent}), in the transaction of the thread that does: they go to Kafka if and
 * only if that commits. Outside a transaction, publishing such an event throws.
 *
 * <p>Holds for subclasses, and for classes that implement an interface with it. Other listeners receive the event as
 * usual. The condition of order is that of {@link dev.bellwether.outbox.Outbox}: a transaction that publishes events of
 * one key must have locked the row that the key stands for, or check its version.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface OutboxEvent {
    /** The topic that they go to; {@code ${…}} stands for a property of the application. */
    String topic();

    /**
     * Finds the key of an event: an expression of Spring on the event, such as {@code orderId}, {@code order.id} or
     * {@code "customer-" + customer}. It must not be null. Without it records have no key, and no order.
     */
    String key() default "";

    /**
     * Finds what the record's value is made of: an expression on the event, such as {@code toAvro()}; null makes a
     * tombstone. Default: the event itself.
     */
    String payload() default "";

    /** What CloudEvents call it, such as {@code com.example.order.placed.v1}. Default: the name of its class. */
    String type() default "";
}
