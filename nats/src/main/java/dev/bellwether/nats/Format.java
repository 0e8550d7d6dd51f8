package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link Seat} is written. Ours is a JSON document; Choria's is the leader's name and nothing else, so that there our document
 * goes along as a header, which Choria does not look at. Immutable.
 */
final class Format {
    private static final String DOCUMENT = "Bellwether";
    private static final String OPERATION = "KV-Operation";
    private static final String MARKER = "Nats-Marker-Reason";
    private static final String MARKER_OF_AGE = "MaxAge";
    private static final int LONGEST_FOREIGN_NAME = 200;

    private final boolean choria;
    private final Duration ttl;

    /** A format; Choria's needs the bucket's TTL, which is the lease of Choria's own. */
    Format(boolean choria, Duration ttl) {
        this.choria = choria;
        this.ttl = ttl;
    }

    byte[] body(Seat seat) {
        if (!choria) {
            return document(seat).getBytes(StandardCharsets.UTF_8);
        }
        return seat.isHeld() ? seat.candidate().getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    Headers headers(Seat seat) {
        var headers = new Headers();
        if (choria) {
            headers.put(DOCUMENT, ascii(document(seat)));
            if (!seat.isHeld()) {
                headers.put(OPERATION, "DEL");
            }
        }
        return headers;
    }

    Seat seat(Found found) {
        var document = choria ? found.header(DOCUMENT) : found.text();
        var operation = found.header(OPERATION);
        if (found.header(MARKER).equals(MARKER_OF_AGE)) {
            return Seat.bare(Seat.Kind.EXPIRED, "");
        }
        if (!found.header(MARKER).isEmpty() || (!operation.isEmpty() && !(choria && !document.isEmpty()))) {
            return Seat.bare(Seat.Kind.DELETED, "");
        }
        if (!document.isEmpty()) {
            try {
                return read(JsonParser.parse(document).map);
            } catch (JsonParseException | ElectionException | DateTimeException e) {
                return foreign(found); // somebody wrote something else here
            }
        }
        return foreign(found);
    }

    private Seat foreign(Found found) {
        var name = found.text().replaceAll("\\p{Cntrl}", "?");
        var shown = name.isBlank() ? "?" : name.substring(0, Math.min(name.length(), LONGEST_FOREIGN_NAME));
        var bare = Seat.bare(Seat.Kind.FOREIGN, shown);
        return choria ? bare.renewed(0, null, ttl) : bare;
    }

    private static Seat read(Map<String, JsonValue> map) {
        if (map == null || !map.containsKey("bellwether")) {
            throw new ElectionException("no record of ours");
        }
        var metadata = new HashMap<String, String>();
        var described = map.get("metadata");
        if (described != null && described.map != null) {
            described.map.forEach((key, value) -> metadata.put(key, text(value)));
        }
        var since = text(map.get("since"));
        return new Seat(
                kind(text(map.get("state"))),
                text(map.get("candidate")),
                text(map.get("nonce")),
                number(map.get("token")),
                Duration.ofNanos(number(map.get("lease_nanos"))),
                since.isEmpty() ? null : Instant.parse(since),
                (int) number(map.get("priority")),
                Map.copyOf(metadata),
                flag(map.get("stand_down")),
                flag(map.get("ended")),
                number(map.get("era")),
                flag(map.get("listed")));
    }

    private static Seat.Kind kind(String state) {
        return switch (state) {
            case "held" -> Seat.Kind.HELD;
            case "pending" -> Seat.Kind.PENDING;
            case "vacant" -> Seat.Kind.VACANT;
            default -> throw new ElectionException("no state of ours");
        };
    }

    static String document(Seat seat) {
        var metadata = new HashMap<String, JsonValue>();
        seat.metadata().forEach((key, value) -> metadata.put(key, new JsonValue(value)));
        var map = new HashMap<String, JsonValue>();
        map.put("bellwether", new JsonValue(1));
        map.put(
                "state",
                new JsonValue(
                        switch (seat.kind()) {
                            case HELD -> "held";
                            case PENDING -> "pending";
                            case VACANT, DELETED, EXPIRED, ABSENT, FOREIGN -> "vacant";
                        }));
        map.put("candidate", new JsonValue(seat.candidate()));
        map.put("nonce", new JsonValue(seat.nonce()));
        map.put("token", new JsonValue(seat.token()));
        map.put("lease_nanos", new JsonValue(seat.lease().toNanos()));
        if (seat.since() != null) {
            map.put("since", new JsonValue(seat.since().toString()));
        }
        map.put("priority", new JsonValue(seat.priority()));
        map.put("metadata", new JsonValue(metadata));
        map.put("stand_down", new JsonValue(seat.standDown()));
        map.put("ended", new JsonValue(seat.ended()));
        map.put("era", new JsonValue(seat.era()));
        map.put("listed", new JsonValue(seat.listed()));
        return new JsonValue(map).toJson();
    }

    /** A header holds ASCII only. */
    private static String ascii(String json) {
        var ascii = new StringBuilder();
        for (var i = 0; i < json.length(); i++) {
            var c = json.charAt(i);
            if (c < 128) {
                ascii.append(c);
            } else {
                ascii.append("\\u%04x".formatted((int) c));
            }
        }
        return ascii.toString();
    }

    static String text(@Nullable JsonValue value) {
        return value == null || value.string == null ? "" : value.string;
    }

    static long number(@Nullable JsonValue value) {
        return value == null || value.number == null ? 0 : value.number.longValue();
    }

    private static boolean flag(@Nullable JsonValue value) {
        return value != null && Boolean.TRUE.equals(value.bool);
    }
}
