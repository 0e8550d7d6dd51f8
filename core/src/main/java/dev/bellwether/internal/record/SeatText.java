package dev.bellwether.internal.record;

import dev.bellwether.spi.Fields;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordTraits;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** How a {@link SeatRecord} is written as text, and what else may be found in its place. Immutable. */
final class SeatText {
    private static final String FORMAT = "bellwether";
    /** A record of another format is never taken for a vacant seat. */
    private static final int VERSION = 4;

    private static final int LONGEST_NAME = 200;
    /** What is longer was not written by us. */
    private static final int LONGEST_TEXT = 1 << 20;

    private static final long LONGEST_LEASE_NANOS = Duration.ofDays(3_650).toNanos();

    private final RecordTraits traits;

    SeatText(RecordTraits traits) {
        this.traits = traits;
    }

    static Draft draft(SeatRecord record) {
        return record.kind() == SeatRecord.Kind.DELETED
                ? new Draft("", "")
                : new Draft(text(record), record.isHeld() ? record.candidate() : "");
    }

    /** What is empty or 0 is left out, because some stores take short records only. */
    static String text(SeatRecord record) {
        var orders = record.orders();
        var fields = Fields.with(FORMAT, VERSION)
                .and(
                        "state",
                        switch (record.kind()) {
                            case HELD -> "held";
                            case PENDING -> "pending";
                            case VACANT, DELETED, EXPIRED, ABSENT, FOREIGN, UNKNOWN -> "vacant";
                        })
                .and("stamp", record.stamp())
                .and("token", record.token())
                .and("lease_nanos", record.lease().toNanos())
                .andUnlessZero("grace_nanos", record.grace().toNanos())
                .andUnlessZero("base", record.base())
                .andUnlessZero("priority", record.priority())
                .andUnlessZero("stand_down", orders.standDown())
                .andUnlessZero("era", orders.era())
                .andUnlessZero("origin", orders.origin())
                .and("ended", orders.ended())
                .and("listed", orders.listed())
                .andMetadata(record.metadata());
        if (!orders.note().isEmpty()) {
            fields.and("note", orders.note());
        }
        if (!record.nonce().isEmpty()) {
            fields.and("candidate", record.candidate()).and("nonce", record.nonce());
        }
        if (record.isShared()) {
            fields.and("session", record.session());
        }
        if (record.since() != null) {
            fields.and("since", record.since());
        }
        return fields.build().text();
    }

    StoredRecord stored(Found found) {
        return new StoredRecord(found.revision(), found.written(), record(found));
    }

    private SeatRecord record(Found found) {
        return switch (found.what()) {
            case TEXT -> read(found.text());
            case NAME -> traits.others().apply() ? foreign(found.text(), found.lease()) : foreign(found.text());
            case DELETED -> SeatRecord.bare(SeatRecord.Kind.DELETED, "");
            case EXPIRED -> SeatRecord.bare(SeatRecord.Kind.EXPIRED, "");
            case NOTHING -> SeatRecord.ABSENT;
        };
    }

    private SeatRecord read(String text) {
        if (text.isEmpty() || text.length() > LONGEST_TEXT) {
            return foreign(text);
        }
        var fields = Fields.parse(text);
        var version = fields.text(FORMAT);
        if (!version.isEmpty() || isOfJson(text)) {
            return version.equals(Integer.toString(VERSION))
                    ? read(fields, text)
                    : SeatRecord.bare(SeatRecord.Kind.UNKNOWN, fields.text("candidate"));
        }
        return foreign(text);
    }

    /** An early Bellwether wrote a JSON document, of which a candidate may lead still. */
    private static boolean isOfJson(String text) {
        return text.startsWith("{") && text.contains('"' + FORMAT + '"');
    }

    private SeatRecord read(Fields fields, String text) {
        var kind = kind(fields.text("state"));
        var lease = fields.number("lease_nanos");
        var grace = fields.number("grace_nanos");
        if (kind == null
                || lease < 0
                || lease > LONGEST_LEASE_NANOS
                || grace < 0
                || grace > LONGEST_LEASE_NANOS
                || fields.number("token") < 0) {
            return foreign(text); // somebody wrote something like ours
        }
        Instant since;
        try {
            since = fields.text("since").isEmpty() ? null : Instant.parse(fields.text("since"));
        } catch (DateTimeException e) {
            return foreign(text);
        }
        return new SeatRecord(
                kind,
                fields.text("candidate"),
                fields.text("nonce"),
                fields.text("stamp"),
                fields.number("token"),
                fields.number("base"),
                Duration.ofNanos(lease),
                Duration.ofNanos(grace),
                since,
                (int) fields.number("priority"),
                fields.metadata(),
                fields.text("session"),
                new SeatRecord.Orders(
                        fields.number("stand_down"),
                        fields.text("ended").equals("true"),
                        fields.number("era"),
                        fields.text("listed").equals("true"),
                        fields.number("origin"),
                        fields.text("note")));
    }

    private static SeatRecord.@Nullable Kind kind(String state) {
        return switch (state) {
            case "held" -> SeatRecord.Kind.HELD;
            case "pending" -> SeatRecord.Kind.PENDING;
            case "vacant" -> SeatRecord.Kind.VACANT;
            default -> null;
        };
    }

    private SeatRecord foreign(String text) {
        return foreign(text, traits.foreign());
    }

    private static SeatRecord foreign(String text, Duration lease) {
        var name = text.substring(0, Math.min(text.length(), LONGEST_NAME)).replaceAll("[\\p{Cc}\\p{Zl}\\p{Zp}]", "?");
        return SeatRecord.bare(SeatRecord.Kind.FOREIGN, name.isBlank() ? "?" : name)
                .keptFor(lease);
    }
}
