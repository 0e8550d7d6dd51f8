package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes a message into goharvest's table, if that can hold it: text, with a key, and nothing else. */
final class GoharvestInsert {
    /**
     * The header that keeps the event id, for which the table has no column: of our messages, and of records that were
     * requeued. Consumers do not see it.
     */
    static final String EVENT_ID = "bellwether-event-id";

    private GoharvestInsert() {}

    static void bind(PreparedStatement insert, Message message) throws SQLException {
        if (message.partition().isPresent() || message.timestamp().isPresent() || message.key() == null) {
            throw new IllegalArgumentException(
                    "goharvest's table holds a key, and neither partitions nor timestamps: " + message);
        }
        var headers = message.headers();
        var names = Stream.concat(Stream.of(EVENT_ID), headers.stream().map(Map.Entry::getKey))
                .toArray(String[]::new);
        var values = Stream.concat(
                        Stream.of(message.eventId().toString()),
                        headers.stream().map(header -> text(header.getValue())))
                .toArray(String[]::new);
        insert.setString(1, message.topic());
        insert.setString(2, text(message.key()));
        insert.setString(3, text(message.value()));
        insert.setArray(4, insert.getConnection().createArrayOf("text", names));
        insert.setArray(5, insert.getConnection().createArrayOf("text", values));
    }

    private static @Nullable String text(byte @Nullable [] bytes) {
        if (bytes == null) {
            return null;
        }
        try {
            return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("goharvest's table holds text only, in UTF-8", e);
        }
    }
}
