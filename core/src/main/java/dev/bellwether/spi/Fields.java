package dev.bellwether.spi;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Named values as text: {@code name=value&name=value}, percent-encoded. A person can read it wherever a store shows it,
 * and it is ASCII. Immutable. A value that cannot be read counts as absent, because others may write to the store too.
 */
public record Fields(Map<String, String> values) {
    private static final String METADATA = "m.";

    /** Copies the values. */
    public Fields {
        values = Map.copyOf(values);
    }

    /** Begins with one value. */
    public static Builder with(String name, Object value) {
        return new Builder().and(name, value);
    }

    /** Reads what {@link #bytes} wrote. */
    public static Fields parse(byte[] bytes) {
        return parse(new String(bytes, StandardCharsets.UTF_8));
    }

    /** Reads what {@link #text()} wrote. */
    public static Fields parse(String text) {
        var values = new LinkedHashMap<String, String>();
        for (var pair : text.split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                decode(pair.substring(equals + 1)).ifPresent(value -> values.put(pair.substring(0, equals), value));
            }
        }
        return new Fields(values);
    }

    /** Reads what {@link #bytes} wrote, and leaves the buffer where it is. */
    public static Fields parse(ByteBuffer buffer) {
        var bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return parse(bytes);
    }

    /** Returns the values as bytes of {@link #text()}. */
    public byte[] bytes() {
        return text().getBytes(StandardCharsets.UTF_8);
    }

    /** Returns the values as text, in the order of their names. */
    public String text() {
        var text = new StringBuilder();
        new TreeMap<>(values)
                .forEach((name, value) -> text.append(text.isEmpty() ? "" : "&")
                        .append(name)
                        .append('=')
                        .append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
        return text.toString();
    }

    /** Returns a value; an empty text if it is absent. */
    public String text(String name) {
        return values.getOrDefault(name, "");
    }

    /** Returns a number; 0 if it is absent or is none. */
    public long number(String name) {
        try {
            return Long.parseLong(text(name));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** Returns the metadata among the values. */
    public Map<String, String> metadata() {
        var metadata = new TreeMap<String, String>();
        values.forEach((name, value) -> {
            if (name.startsWith(METADATA)) {
                decode(name.substring(METADATA.length())).ifPresent(key -> metadata.put(key, value));
            }
        });
        return metadata;
    }

    private static Optional<String> decode(String text) {
        try {
            return Optional.of(URLDecoder.decode(text, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** Collects values. Confined to one thread. */
    public static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<>();

        /** Makes an empty one. */
        public Builder() {}

        /** Adds a value. */
        public Builder and(String name, Object value) {
            values.put(name, value.toString());
            return this;
        }

        /** Adds a number, unless it is 0. */
        public Builder andUnlessZero(String name, long value) {
            return value == 0 ? this : and(name, value);
        }

        /** Adds metadata. */
        public Builder andMetadata(Map<String, String> metadata) {
            metadata.forEach(
                    (key, value) -> values.put(METADATA + URLEncoder.encode(key, StandardCharsets.UTF_8), value));
            return this;
        }

        /** Returns the values. */
        public Fields build() {
            return new Fields(values);
        }
    }
}
