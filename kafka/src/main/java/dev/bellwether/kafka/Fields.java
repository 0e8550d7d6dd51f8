package dev.bellwether.kafka;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Named values on the wire: {@code name=value&name=value}, percent-encoded, so that a console consumer shows something readable.
 * Immutable. What cannot be read is as good as absent: others may write to the topic too.
 */
record Fields(Map<String, String> values) {
    private static final String METADATA = "m.";

    Fields {
        values = Map.copyOf(values);
    }

    static Builder with(String name, Object value) {
        return new Builder().and(name, value);
    }

    static Fields parse(byte[] bytes) {
        var values = new LinkedHashMap<String, String>();
        for (var pair : new String(bytes, StandardCharsets.UTF_8).split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                decode(pair.substring(equals + 1)).ifPresent(value -> values.put(pair.substring(0, equals), value));
            }
        }
        return new Fields(values);
    }

    static Fields parse(ByteBuffer buffer) {
        var bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return parse(bytes);
    }

    byte[] bytes() {
        var text = new StringBuilder();
        new TreeMap<>(values)
                .forEach((name, value) -> text.append(text.isEmpty() ? "" : "&")
                        .append(name)
                        .append('=')
                        .append(URLEncoder.encode(value, StandardCharsets.UTF_8)));
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    String text(String name) {
        return values.getOrDefault(name, "");
    }

    long number(String name) {
        try {
            return Long.parseLong(text(name));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    Map<String, String> metadata() {
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

    static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<>();

        Builder and(String name, Object value) {
            values.put(name, value.toString());
            return this;
        }

        Builder andMetadata(Map<String, String> metadata) {
            metadata.forEach(
                    (key, value) -> values.put(METADATA + URLEncoder.encode(key, StandardCharsets.UTF_8), value));
            return this;
        }

        Fields build() {
            return new Fields(values);
        }
    }
}
