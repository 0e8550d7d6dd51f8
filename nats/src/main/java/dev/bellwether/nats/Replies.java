package dev.bellwether.nats;

import io.nats.client.support.JsonValue;
import org.jspecify.annotations.Nullable;

/** Reads fields of the server's replies; one that is missing is empty, or 0. */
final class Replies {
    private Replies() {}

    static String text(@Nullable JsonValue value) {
        return value == null || value.string == null ? "" : value.string;
    }

    static long number(@Nullable JsonValue value) {
        return value == null || value.number == null ? 0 : value.number.longValue();
    }
}
