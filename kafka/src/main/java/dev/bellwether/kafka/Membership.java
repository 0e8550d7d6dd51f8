package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Fields;
import java.nio.ByteBuffer;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a candidate tells the group about itself when it joins. Immutable.
 *
 * @param stoodMillis since when it stands, by its wall clock: an order among equals, and nothing more
 * @param held the last generation in which it owned the partition; -1 if it never did
 * @param highest the highest token that it knows of
 * @param nudges how often it asked for a rebalance: a member that joins again with nothing changed is not heard
 */
record Membership(
        String candidate,
        String instance,
        int priority,
        long stoodMillis,
        int held,
        long highest,
        long nudges,
        Map<String, String> metadata) {

    /** Anybody who tells nothing, such as a member with another assignor: last in every order. */
    static final Membership UNKNOWN = new Membership("", "", Integer.MIN_VALUE, Long.MAX_VALUE, -1, 0, 0, Map.of());

    ByteBuffer encoded() {
        return ByteBuffer.wrap(Fields.with("candidate", candidate)
                .and("instance", instance)
                .and("priority", priority)
                .and("stood", stoodMillis)
                .and("held", held)
                .and("highest", highest)
                .and("nudges", nudges)
                .andMetadata(metadata)
                .build()
                .bytes());
    }

    static Membership parse(@Nullable ByteBuffer userData) {
        if (userData == null || !userData.hasRemaining()) {
            return UNKNOWN;
        }
        var fields = Fields.parse(userData);
        if (fields.text("instance").isEmpty()) {
            return UNKNOWN;
        }
        return new Membership(
                fields.text("candidate"),
                fields.text("instance"),
                (int) fields.number("priority"),
                fields.number("stood"),
                (int) fields.number("held"),
                fields.number("highest"),
                fields.number("nudges"),
                fields.metadata());
    }

    Candidate asCandidate() {
        return new Candidate(candidate, priority, metadata, false);
    }
}
