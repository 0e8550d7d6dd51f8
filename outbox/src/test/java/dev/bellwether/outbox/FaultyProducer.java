package dev.bellwether.outbox;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A producer of Kafka with something done to it at certain calls. */
final class FaultyProducer {
    private FaultyProducer() {}

    /** Is called before and after each method of the producer. */
    interface Fault {
        /** Returns whether the call is left out. */
        default boolean instead(Producer<byte[], byte[]> producer, String method) {
            return false;
        }

        /** Returns whether a record is not sent, nor its callback called. */
        default boolean insteadOfSending(ProducerRecord<byte[], byte[]> record) {
            return false;
        }

        default void before(String method) {}

        default void after(String method) {}
    }

    static Producer<byte[], byte[]> of(Map<String, Object> properties, Fault fault) {
        return of(new KafkaProducer<>(properties), fault);
    }

    @SuppressWarnings("unchecked")
    static Producer<byte[], byte[]> of(Producer<byte[], byte[]> producer, Fault fault) {
        return (Producer<byte[], byte[]>) Proxy.newProxyInstance(
                FaultyProducer.class.getClassLoader(), new Class<?>[] {Producer.class}, (proxy, method, arguments) -> {
                    fault.before(method.getName());
                    if (fault.instead(producer, method.getName())
                            || (method.getName().equals("send")
                                    && fault.insteadOfSending((ProducerRecord<byte[], byte[]>) arguments[0]))) {
                        return null;
                    }
                    try {
                        var result = method.invoke(producer, arguments);
                        fault.after(method.getName());
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
