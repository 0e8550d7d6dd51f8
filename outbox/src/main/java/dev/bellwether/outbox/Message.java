package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.time.Instant;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What is to be published: a Kafka record to be. Immutable, as long as nobody writes into the arrays.
 *
 * <p>Messages of one topic and key are published in the order of their rows; a message without a key has no order.
 */
public final class Message {
    private final UUID eventId;
    private final String topic;
    private final byte @Nullable [] key;
    private final byte @Nullable [] value;
    private final List<Map.Entry<String, byte @Nullable []>> headers;
    private final OptionalInt partition;
    private final Optional<Instant> timestamp;

    private Message(Builder builder) {
        eventId = builder.eventId == null ? EventIds.next() : builder.eventId;
        topic = builder.topic;
        key = builder.key;
        value = builder.value;
        headers = List.copyOf(builder.headersOf(eventId));
        partition = builder.partition;
        timestamp = builder.timestamp;
    }

    /** Begins a message to this topic, without a key, and without a value: a tombstone. */
    public static Builder to(String topic) {
        return new Builder(topic);
    }

    /** Returns a message of text. */
    public static Message of(String topic, String key, @Nullable String value) {
        return to(topic).key(key).value(value).build();
    }

    /** Returns the id by which consumers know the event again, whatever else changes. */
    public UUID eventId() {
        return eventId;
    }

    /** Returns the topic. */
    public String topic() {
        return topic;
    }

    byte @Nullable [] key() {
        return key;
    }

    byte @Nullable [] value() {
        return value;
    }

    List<Map.Entry<String, byte @Nullable []>> headers() {
        return headers;
    }

    OptionalInt partition() {
        return partition;
    }

    Optional<Instant> timestamp() {
        return timestamp;
    }

    /** Returns it with more headers; those of these names that it has stay as they are. */
    Message with(Map<String, String> more) {
        var builder = new Builder(topic);
        builder.eventId = eventId;
        builder.key = key;
        builder.value = value;
        builder.headers.addAll(headers);
        builder.partition = partition;
        builder.timestamp = timestamp;
        more.forEach((name, content) -> {
            if (headers.stream().noneMatch(header -> header.getKey().equals(name))) {
                builder.header(name, content);
            }
        });
        return builder.build();
    }

    @Override
    public String toString() {
        return "message " + eventId + " to " + topic;
    }

    /** Collects the parts of a message. */
    public static final class Builder {
        private final String topic;
        private @Nullable UUID eventId;
        private byte @Nullable [] key;
        private byte @Nullable [] value;
        private final List<Map.Entry<String, byte @Nullable []>> headers = new ArrayList<>();
        private OptionalInt partition = OptionalInt.empty();
        private Optional<Instant> timestamp = Optional.empty();
        private Map<String, String> cloudEvent = Map.of();

        private Builder(String topic) {
            if (topic.isEmpty() || topic.length() > 249) {
                throw new IllegalArgumentException("topic \"" + topic + "\": it must have 1 to 249 characters");
            }
            this.topic = topic;
        }

        /** Gives the event an id of your own. Default: a new one, which rises with time. */
        public Builder eventId(UUID eventId) {
            this.eventId = eventId;
            return this;
        }

        /** Gives it a key: records of one key stay in order. */
        public Builder key(@Nullable String key) {
            return key(key == null ? null : key.getBytes(UTF_8));
        }

        /** Gives it a key. */
        public Builder key(byte @Nullable [] key) {
            this.key = key;
            return this;
        }

        /** Gives it a value; null is a tombstone. */
        public Builder value(@Nullable String value) {
            return value(value == null ? null : value.getBytes(UTF_8));
        }

        /** Gives it a value; null is a tombstone. */
        public Builder value(byte @Nullable [] value) {
            this.value = value;
            return this;
        }

        /** Adds a header. */
        public Builder header(String name, @Nullable String value) {
            return header(name, value == null ? null : value.getBytes(UTF_8));
        }

        /**
         * Adds a header.
         *
         * @throws IllegalArgumentException for {@code event-id}, in which the relay carries the
         *     {@linkplain #eventId event id}
         */
        public Builder header(String name, byte @Nullable [] value) {
            if (name.equals(HeaderLines.EVENT_ID)) {
                throw new IllegalArgumentException("header \"" + name
                        + "\" is the relay's own: consumers drop records by it. Give the event an id with eventId");
            }
            headers.add(new SimpleImmutableEntry<>(name, value));
            return this;
        }

        /** Sends it to this partition. Default: Kafka's choice by the key. */
        public Builder partition(int partition) {
            if (partition < 0) {
                throw new IllegalArgumentException("partition is " + partition + ": it must not be negative");
            }
            this.partition = OptionalInt.of(partition);
            return this;
        }

        /** Gives it a time, not before 1970. Default: when it is published. */
        public Builder timestamp(Instant timestamp) {
            if (timestamp.isBefore(Instant.EPOCH)) {
                throw new IllegalArgumentException(
                        "timestamp is " + timestamp + ": it must not be before 1970, for which Kafka has none");
            }
            this.timestamp = Optional.of(timestamp);
            return this;
        }

        /**
         * Makes it a CloudEvent, in the binary mode of its protocol binding for Kafka: headers {@code ce_specversion},
         * {@code ce_id}, which is the {@linkplain #eventId event id}, {@code ce_source}, {@code ce_type} and
         * {@code ce_time}. The value stays as it is; say what it is by a header {@code content-type}.
         *
         * @param source who tells of the event, for all time: such as {@code https://example.com/billing}, or
         *     {@code /billing}
         * @param type what has happened, such as {@code com.example.OrderPlaced}
         * @param time when it happened
         */
        public Builder cloudEvent(URI source, String type, Instant time) {
            if (source.toString().isEmpty()) {
                throw new IllegalArgumentException(
                        "the source of a CloudEvent is empty: it must be a URI like /billing");
            }
            if (type.isEmpty()) {
                throw new IllegalArgumentException(
                        "the type of a CloudEvent is empty: it must be like com.example.OrderPlaced");
            }
            cloudEvent = Map.of(
                    "ce_specversion",
                    "1.0",
                    "ce_source",
                    source.toASCIIString(),
                    "ce_type",
                    type,
                    "ce_time",
                    time.toString());
            return this;
        }

        private List<Map.Entry<String, byte @Nullable []>> headersOf(UUID eventId) {
            if (cloudEvent.isEmpty()) {
                return headers;
            }
            var all = new ArrayList<>(headers);
            all.add(new SimpleImmutableEntry<>("ce_id", eventId.toString().getBytes(UTF_8)));
            cloudEvent.forEach((name, value) -> all.add(new SimpleImmutableEntry<>(name, value.getBytes(UTF_8))));
            return all;
        }

        /** Returns the message. */
        public Message build() {
            return new Message(this);
        }
    }
}
