package dev.bellwether.nats;

import io.nats.client.impl.Headers;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A message of the bucket's stream, as the server has it.
 *
 * @param revision its place in the stream
 * @param time when it was written, by the server's clock
 */
record StoredMessage(
        String key, long revision, Instant time, @Nullable Headers headers, String text) {

    /** Returns the message as it stands in an answer of the server's. */
    static StoredMessage of(String key, Map<String, JsonValue> message) {
        var headers = Replies.text(message.get("hdrs"));
        return new StoredMessage(
                key,
                Replies.number(message.get("seq")),
                instant(Replies.text(message.get("time"))).orElse(Instant.EPOCH),
                headers.isEmpty() ? null : parse(Base64.getDecoder().decode(headers)),
                new String(Base64.getDecoder().decode(Replies.text(message.get("data"))), StandardCharsets.UTF_8));
    }

    /** Returns the value of a header, or an empty text. */
    String header(String name) {
        var value = headers == null ? null : headers.getFirst(name);
        return value == null ? "" : value;
    }

    static Optional<Instant> instant(String text) {
        try {
            return text.isEmpty() ? Optional.empty() : Optional.of(Instant.parse(text));
        } catch (DateTimeParseException e) {
            return Optional.empty();
        }
    }

    private static Headers parse(byte[] block) {
        var headers = new Headers();
        var lines = new String(block, StandardCharsets.UTF_8).split("\r\n", -1);
        for (var i = 1; i < lines.length; i++) {
            var colon = lines[i].indexOf(':');
            if (colon > 0) {
                add(
                        headers,
                        lines[i].substring(0, colon),
                        lines[i].substring(colon + 1).strip());
            }
        }
        return headers;
    }

    /** Others may write headers that the client does not take, and the server does: none of them is one of ours. */
    private static void add(Headers headers, String name, String value) {
        try {
            headers.add(name, value);
        } catch (IllegalArgumentException e) {
            return; // left out
        }
    }
}
