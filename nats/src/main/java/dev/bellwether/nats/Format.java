package dev.bellwether.nats;

import dev.bellwether.ElectionException;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link SeatRecord} is written. Ours is a JSON document; Choria's is the leader's name and nothing else, so that there our document
 * goes along as a header, which Choria does not look at. Immutable.
 */
final class Format {
    private static final String DOCUMENT = "Bellwether";
    private static final String OPERATION = "KV-Operation";
    private static final String MARKER = "Nats-Marker-Reason";
    private static final String MARKER_OF_AGE = "MaxAge";
    private static final String FORMAT = "bellwether";
    /** Others are never taken for a vacant seat. */
    private static final int VERSION = 2;

    private static final int LONGEST_FOREIGN_NAME = 200;
    /** What is longer was not written by us. */
    private static final int LONGEST_DOCUMENT = 1 << 20;

    private static final long LONGEST_LEASE_NANOS = Duration.ofDays(3_650).toNanos();

    private final boolean choria;
    private final Duration ttl;

    /** A format; Choria's needs the bucket's TTL, which is the lease of Choria's own. */
    Format(boolean choria, Duration ttl) {
        this.choria = choria;
        this.ttl = ttl;
    }

    byte[] body(SeatRecord record) {
        if (record.kind() == SeatRecord.Kind.DELETED) {
            return new byte[0];
        }
        if (!choria) {
            return document(record).getBytes(StandardCharsets.UTF_8);
        }
        return record.isHeld() ? record.candidate().getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    Headers headers(SeatRecord record) {
        var headers = new Headers();
        var deleted = record.kind() == SeatRecord.Kind.DELETED;
        if (choria && !deleted) {
            headers.put(DOCUMENT, ascii(document(record)));
        }
        if (deleted || (choria && !record.isHeld())) {
            headers.put(OPERATION, "DEL");
        }
        return headers;
    }

    StoredRecord stored(Found found) {
        return new StoredRecord(found.revision(), found.time(), record(found));
    }

    private SeatRecord record(Found found) {
        var document = choria ? found.header(DOCUMENT) : found.text();
        var operation = found.header(OPERATION);
        if (choria && found.header(MARKER).equals(MARKER_OF_AGE)) {
            return SeatRecord.bare(SeatRecord.Kind.EXPIRED, "");
        }
        if (!found.header(MARKER).isEmpty() || (!operation.isEmpty() && !(choria && !document.isEmpty()))) {
            return SeatRecord.bare(SeatRecord.Kind.DELETED, "");
        }
        if (document.isEmpty() || document.length() > LONGEST_DOCUMENT) {
            return foreign(found);
        }
        try {
            return read(JsonParser.parse(document).map);
        } catch (JsonParseException | RuntimeException | StackOverflowError e) {
            return foreign(found); // somebody wrote something else here
        }
    }

    private SeatRecord foreign(Found found) {
        var text = found.text();
        var name =
                text.substring(0, Math.min(text.length(), LONGEST_FOREIGN_NAME)).replaceAll("\\p{Cntrl}", "?");
        var bare = SeatRecord.bare(SeatRecord.Kind.FOREIGN, name.isBlank() ? "?" : name);
        return choria ? bare.keptFor(ttl) : bare;
    }

    private static SeatRecord read(Map<String, JsonValue> map) {
        if (map == null || !map.containsKey(FORMAT)) {
            throw new ElectionException("no record of ours");
        }
        if (number(map.get(FORMAT)) != VERSION) {
            return SeatRecord.bare(SeatRecord.Kind.UNKNOWN, text(map.get("candidate")));
        }
        var metadata = new HashMap<String, String>();
        var described = map.get("metadata");
        if (described != null && described.map != null) {
            described.map.forEach((key, value) -> metadata.put(key, text(value)));
        }
        var since = text(map.get("since"));
        var lease = number(map.get("lease_nanos"));
        if (lease < 0 || lease > LONGEST_LEASE_NANOS || number(map.get("token")) < 0) {
            throw new ElectionException("no lease of ours");
        }
        return new SeatRecord(
                kind(text(map.get("state"))),
                text(map.get("candidate")),
                text(map.get("nonce")),
                text(map.get("stamp")),
                number(map.get("token")),
                number(map.get("base")),
                Duration.ofNanos(lease),
                since.isEmpty() ? null : Instant.parse(since),
                (int) number(map.get("priority")),
                Map.copyOf(metadata),
                new SeatRecord.Orders(
                        number(map.get("stand_down")),
                        flag(map.get("ended")),
                        number(map.get("era")),
                        flag(map.get("listed")),
                        number(map.get("origin"))));
    }

    private static SeatRecord.Kind kind(String state) {
        return switch (state) {
            case "held" -> SeatRecord.Kind.HELD;
            case "pending" -> SeatRecord.Kind.PENDING;
            case "vacant" -> SeatRecord.Kind.VACANT;
            default -> throw new ElectionException("no state of ours");
        };
    }

    /** What is empty is left out: a bucket of Choria's takes messages of 1,024 bytes. */
    static String document(SeatRecord record) {
        var metadata = new HashMap<String, JsonValue>();
        record.metadata().forEach((key, value) -> metadata.put(key, new JsonValue(value)));
        var map = new HashMap<String, JsonValue>();
        map.put(FORMAT, new JsonValue(VERSION));
        map.put(
                "state",
                new JsonValue(
                        switch (record.kind()) {
                            case HELD -> "held";
                            case PENDING -> "pending";
                            case VACANT, DELETED, EXPIRED, ABSENT, FOREIGN, UNKNOWN -> "vacant";
                        }));
        map.put("stamp", new JsonValue(record.stamp()));
        map.put("token", new JsonValue(record.token()));
        map.put("lease_nanos", new JsonValue(record.lease().toNanos()));
        if (!record.nonce().isEmpty()) {
            map.put("candidate", new JsonValue(record.candidate()));
            map.put("nonce", new JsonValue(record.nonce()));
        }
        if (record.since() != null) {
            map.put("since", new JsonValue(record.since().toString()));
        }
        if (!metadata.isEmpty()) {
            map.put("metadata", new JsonValue(metadata));
        }
        var orders = record.orders();
        putUnlessZero(map, "base", record.base());
        putUnlessZero(map, "priority", record.priority());
        putUnlessZero(map, "stand_down", orders.standDown());
        putUnlessZero(map, "era", orders.era());
        putUnlessZero(map, "origin", orders.origin());
        map.put("ended", new JsonValue(orders.ended()));
        map.put("listed", new JsonValue(orders.listed()));
        return new JsonValue(map).toJson();
    }

    private static void putUnlessZero(Map<String, JsonValue> map, String name, long value) {
        if (value != 0) {
            map.put(name, new JsonValue(value));
        }
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
