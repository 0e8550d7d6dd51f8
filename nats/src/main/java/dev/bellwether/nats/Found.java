package dev.bellwether.nats;

import io.nats.client.impl.Headers;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A message of the bucket's stream, as the server has it.
 *
 * @param revision its place in the stream
 * @param time when it was written, by the server's clock
 */
record Found(
        String key, long revision, Instant time, @Nullable Headers headers, String text) {

    /** Returns the value of a header, or an empty text. */
    String header(String name) {
        var value = headers == null ? null : headers.getFirst(name);
        return value == null ? "" : value;
    }
}
