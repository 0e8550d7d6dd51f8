package dev.bellwether.spring;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Serializer;
import org.jspecify.annotations.Nullable;

/**
 * What makes keys and values of {@linkplain OutboxEvent events}: serializers of Kafka, which are closed with this. A
 * bean of this type takes the place of what {@code bellwether.outbox.events} sets.
 *
 * <p>Thread-safe if the serializers are, as those must be that a producer is given.
 */
public final class EventSerializers implements AutoCloseable {
    private final Serializer<Object> keys;
    private final Serializer<Object> values;
    private final Optional<String> contentType;

    private EventSerializers(Serializer<Object> keys, Serializer<Object> values, Optional<String> contentType) {
        this.keys = keys;
        this.values = values;
        this.contentType = contentType;
    }

    /** Takes these, which have been configured, if they need it. */
    public static EventSerializers of(Serializer<?> keys, Serializer<?> values) {
        return new EventSerializers(ofAny(keys), ofAny(values), Optional.empty());
    }

    /** Writes keys as text. */
    public static EventSerializers of(Serializer<?> values) {
        return of(textOrBytes(), values);
    }

    /** Returns the same, with messages that say in a header {@code content-type} what their value is. */
    public EventSerializers withContentType(String mediaType) {
        return new EventSerializers(keys, values, Optional.of(mediaType));
    }

    byte @Nullable [] key(String topic, Headers headers, Object key) {
        return keys.serialize(topic, headers, key);
    }

    byte @Nullable [] value(String topic, Headers headers, Object value) {
        return values.serialize(topic, headers, value);
    }

    Optional<String> contentType() {
        return contentType;
    }

    static Serializer<Object> textOrBytes() {
        return (topic, key) ->
                key instanceof byte[] bytes ? bytes : key.toString().getBytes(UTF_8);
    }

    /** Types are told at run time only; a serializer that is given another refuses it. */
    @SuppressWarnings("unchecked")
    private static Serializer<Object> ofAny(Serializer<?> serializer) {
        return (Serializer<Object>) serializer;
    }

    @Override
    public void close() {
        try (keys) {
            values.close();
        }
    }
}
