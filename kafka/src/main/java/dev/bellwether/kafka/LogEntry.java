package dev.bellwether.kafka;

import dev.bellwether.spi.Fields;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One record of a log that keeps elections by itself. It is text: a line of named values, and what is kept behind it.
 * Immutable.
 */
sealed interface LogEntry {
    /** What all of them begin with; the version follows. */
    String MARK = "bellwether-log/";

    int VERSION = 1;
    /** A text that is longer is not kept by any reader: a checkpoint could not hold it. */
    int LONGEST_TEXT = 200_000;

    String WHAT = "what";
    String EPOCH = "epoch";
    String AS_OF = "as_of";
    String ID = "id";
    String REVISIONS = "revisions";
    String LONGEST = "longest_nanos";

    /** What an attempt is to do. */
    enum How {
        /** Replace the text, if the key is at the revision that is expected. */
        WRITE,
        /** Replace the text. */
        PUT,
        /** Remove the key. */
        REMOVE
    }

    /**
     * An attempt to change a key. Whether it is in effect is decided by each reader, by what came before it.
     *
     * @param name the key: see {@link LogKey}
     * @param epoch the reset behind which it was written
     * @param id names this one attempt, for its author
     * @param expected at which revision the key must be for a write
     * @param keptMillis for how long the text is of interest; 0 for always
     * @param hint from which offset on it is enough to read, to know what its author knew
     */
    record Attempt(
            How how, String name, String epoch, String id, long expected, long keptMillis, long hint, String text)
            implements LogEntry {}

    /**
     * All that was kept is void. Nothing is in effect until it is {@linkplain Settled settled}.
     *
     * @param epoch names the reset
     * @param asOf up to which offset its author had read; a reset that stands between makes this one void
     * @param revisions what is added to offsets from here on: above every revision that its author knows
     * @param longest the longest lease that anybody may hold who led before
     */
    record Reset(String epoch, long asOf, long revisions, Duration longest) implements LogEntry {}

    /** Revisions rise above this, and the longest lease to this, if they are below. */
    record Raise(String epoch, long revisions, Duration longest) implements LogEntry {}

    /**
     * Its author has known the reset for so long by its own clock: who led before does not any more.
     *
     * @param waited how long; void if the longest lease was raised above that
     */
    record Settled(String epoch, Duration waited) implements LogEntry {}

    /**
     * A part of a checkpoint: some keys as they were before the record at an offset.
     *
     * @param id names the checkpoint
     * @param number of this part, from 0
     * @param of how many parts there are
     * @param lines the keys, each with its text
     */
    record Part(String id, int number, int of, Frame frame, List<Line> lines) implements LogEntry {
        /** Copies the lines. */
        public Part {
            lines = List.copyOf(lines);
        }
    }

    /** All parts of a checkpoint are in one log with all that they are of: its author has seen to that. */
    record Complete(String id) implements LogEntry {}

    /** Its author has read all that there is, and found no base: anybody who has one is to write a checkpoint. */
    record Wanted() implements LogEntry {}

    /** Written by a Bellwether that knows more than this one. */
    record Unknown(String version) implements LogEntry {}

    /**
     * What a checkpoint says beside the keys.
     *
     * @param asOf all records before this offset are in it
     * @param resetOffset where the reset is that is in effect
     * @param settledRevision the revision at which that was settled
     */
    record Frame(String epoch, long asOf, long resetOffset, long settledRevision, long revisions, Duration longest) {}

    /** A key in a checkpoint. */
    record Line(String name, long revision, long writtenMillis, long untilMillis, String text) {
        private String written() {
            return name
                    + ' '
                    + revision
                    + ' '
                    + writtenMillis
                    + ' '
                    + untilMillis
                    + ' '
                    + text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r");
        }

        private static Line parse(String line) {
            var parts = line.split(" ", 5);
            return new Line(
                    parts[0],
                    Long.parseLong(parts[1]),
                    Long.parseLong(parts[2]),
                    Long.parseLong(parts[3]),
                    unescaped(parts[4]));
        }

        private static String unescaped(String text) {
            if (text.indexOf('\\') < 0) {
                return text;
            }
            var plain = new StringBuilder();
            for (var i = 0; i < text.length(); i++) {
                var c = text.charAt(i);
                if (c == '\\' && ++i < text.length()) {
                    c = switch (text.charAt(i)) {
                        case 'n' -> '\n';
                        case 'r' -> '\r';
                        default -> text.charAt(i);
                    };
                }
                plain.append(c);
            }
            return plain.toString();
        }
    }

    /** Returns the key of the record. No reader asks for more than that of an attempt; people do. */
    default byte[] key() {
        return (this instanceof Attempt attempt ? attempt.name : "log").getBytes(StandardCharsets.UTF_8);
    }

    /** Returns the value of the record. */
    default byte[] value() {
        return (MARK + VERSION + ' ' + text()).getBytes(StandardCharsets.UTF_8);
    }

    private String text() {
        if (this instanceof Attempt attempt) {
            return Fields.with(WHAT, attempt.how)
                            .and(EPOCH, attempt.epoch)
                            .and(ID, attempt.id)
                            .andUnlessZero("expected", attempt.expected)
                            .andUnlessZero("kept_millis", attempt.keptMillis)
                            .and("hint", attempt.hint)
                            .build()
                            .text()
                    + '\n'
                    + attempt.text;
        }
        if (this instanceof Reset reset) {
            return Fields.with(WHAT, "RESET")
                    .and(EPOCH, reset.epoch)
                    .and(AS_OF, reset.asOf)
                    .and(REVISIONS, reset.revisions)
                    .and(LONGEST, reset.longest.toNanos())
                    .build()
                    .text();
        }
        if (this instanceof Raise raise) {
            return Fields.with(WHAT, "RAISE")
                    .and(EPOCH, raise.epoch)
                    .and(REVISIONS, raise.revisions)
                    .and(LONGEST, raise.longest.toNanos())
                    .build()
                    .text();
        }
        if (this instanceof Settled settled) {
            return Fields.with(WHAT, "SETTLED")
                    .and(EPOCH, settled.epoch)
                    .and(LONGEST, settled.waited.toNanos())
                    .build()
                    .text();
        }
        if (this instanceof Part part) {
            var text = new StringBuilder(Fields.with(WHAT, "PART")
                    .and(ID, part.id)
                    .and("number", part.number)
                    .and("of", part.of)
                    .and(EPOCH, part.frame.epoch)
                    .and(AS_OF, part.frame.asOf)
                    .and("reset_offset", part.frame.resetOffset)
                    .and("settled_revision", part.frame.settledRevision)
                    .and(REVISIONS, part.frame.revisions)
                    .and(LONGEST, part.frame.longest.toNanos())
                    .build()
                    .text());
            part.lines.forEach(line -> text.append('\n').append(line.written()));
            return text.toString();
        }
        if (this instanceof Complete complete) {
            return Fields.with(WHAT, "COMPLETE").and(ID, complete.id).build().text();
        }
        if (this instanceof Wanted) {
            return Fields.with(WHAT, "WANTED").build().text();
        }
        throw new IllegalStateException("only read, never written: " + this);
    }

    /** Returns what a record says; empty if it is none of ours, or cannot be read by anybody. */
    static Optional<LogEntry> parse(byte @Nullable [] key, byte @Nullable [] value) {
        if (key == null || value == null || !isOfLog(value)) {
            return Optional.empty();
        }
        var text = new String(value, StandardCharsets.UTF_8);
        var space = text.indexOf(' ');
        var version = space < 0 ? text.substring(MARK.length()) : text.substring(MARK.length(), space);
        if (!version.equals(Integer.toString(VERSION))) {
            return Optional.of(new Unknown(version));
        }
        try {
            var end = text.indexOf('\n', space);
            var fields = Fields.parse(text.substring(space + 1, end < 0 ? text.length() : end));
            var body = end < 0 ? "" : text.substring(end + 1);
            var name = new String(key, StandardCharsets.UTF_8);
            return name.chars().anyMatch(Character::isWhitespace)
                    ? Optional.empty() // a checkpoint could not hold it
                    : Optional.of(parse(name, fields, body, end >= 0));
        } catch (IllegalArgumentException | IndexOutOfBoundsException | ArithmeticException e) {
            return Optional.empty(); // all readers of this version leave it out alike
        }
    }

    private static LogEntry parse(String name, Fields fields, String body, boolean hasBody) {
        var epoch = fields.text(EPOCH);
        var longest = Duration.ofNanos(natural(fields, LONGEST));
        return switch (fields.text(WHAT)) {
            case "WRITE", "PUT", "REMOVE" ->
                new Attempt(
                        How.valueOf(fields.text(WHAT)),
                        name,
                        epoch,
                        fields.text(ID),
                        natural(fields, "expected"),
                        natural(fields, "kept_millis"),
                        fields.number("hint"),
                        body);
            case "RESET" -> new Reset(epoch, natural(fields, AS_OF), natural(fields, REVISIONS), longest);
            case "RAISE" -> new Raise(epoch, natural(fields, REVISIONS), longest);
            case "SETTLED" -> new Settled(epoch, longest);
            case "PART" -> {
                var lines = new ArrayList<Line>();
                if (hasBody) {
                    body.lines().forEach(line -> lines.add(Line.parse(line)));
                }
                var frame = new Frame(
                        epoch,
                        natural(fields, AS_OF),
                        natural(fields, "reset_offset"),
                        natural(fields, "settled_revision"),
                        natural(fields, REVISIONS),
                        longest);
                yield new Part(
                        fields.text(ID),
                        Math.toIntExact(natural(fields, "number")),
                        Math.toIntExact(natural(fields, "of")),
                        frame,
                        lines);
            }
            case "COMPLETE" -> new Complete(fields.text(ID));
            case "WANTED" -> new Wanted();
            default -> throw new IllegalArgumentException("no such record: " + fields.text(WHAT));
        };
    }

    private static long natural(Fields fields, String name) {
        var number = fields.number(name);
        if (number < 0 || number > Long.MAX_VALUE / 4) {
            throw new IllegalArgumentException(name + " is " + number);
        }
        return number;
    }

    /** Returns whether a record is of a log that keeps elections by itself, anybody who wrote it. */
    static boolean isOfLog(byte @Nullable [] value) {
        if (value == null || value.length < MARK.length()) {
            return false;
        }
        for (var i = 0; i < MARK.length(); i++) {
            if (value[i] != MARK.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}
