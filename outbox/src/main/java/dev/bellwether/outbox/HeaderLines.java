package dev.bellwether.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.jspecify.annotations.Nullable;

/**
 * Headers as text, a line each, so that any language writes them with plain SQL: {@code name: value};
 * {@code name:: base64} for what is no text of one line; {@code name} alone for null. A name that cannot stand so,
 * since it has a colon for example, is written as {@code ::base64}.
 */
final class HeaderLines {
    /** The header of event ids, unless a relay is told of another. */
    static final String EVENT_ID = "event-id";

    private HeaderLines() {}

    /** Returns null if there are none. */
    static @Nullable String write(List<? extends Map.Entry<String, byte @Nullable []>> headers) {
        if (headers.isEmpty()) {
            return null;
        }
        var lines = new StringBuilder();
        for (var header : headers) {
            if (lines.length() > 0) {
                lines.append('\n');
            }
            lines.append(isName(header.getKey()) ? header.getKey() : encode(header.getKey()));
            var value = header.getValue();
            if (value == null) {
                continue;
            }
            var text = new String(value, UTF_8);
            if (isPlain(text) && java.util.Arrays.equals(text.getBytes(UTF_8), value)) {
                lines.append(": ").append(text);
            } else {
                lines.append(":: ").append(Base64.getEncoder().encodeToString(value));
            }
        }
        return lines.toString();
    }

    /** Returns whether the name can be written as it is. */
    private static boolean isName(String name) {
        return !name.isEmpty() && name.indexOf(':') < 0 && isPlain(name) && name.equals(name.strip());
    }

    private static String encode(String name) {
        return "::" + Base64.getEncoder().encodeToString(name.getBytes(UTF_8));
    }

    /** Returns the name if it is a plain one. */
    static String name(String name) {
        if (!isName(name)) {
            throw new IllegalArgumentException("header name \"" + name
                    + "\": it must not be empty, nor hold a colon or a control character, nor begin or end"
                    + " with a blank");
        }
        return name;
    }

    /**
     * Reads what {@link #write}, or somebody by hand, has written.
     *
     * @param reserved the name of a header that may not be among them
     * @throws IllegalArgumentException if it is, or if something is malformed
     */
    static List<Header> read(String lines, String reserved) {
        var headers = new ArrayList<Header>(4);
        var from = 0;
        while (from < lines.length()) {
            var end = lines.indexOf('\n', from);
            if (end < 0) {
                end = lines.length();
            }
            if (end > from) {
                var header = line(lines, from, end);
                if (header.key().equals(reserved)) {
                    throw new IllegalArgumentException("header " + reserved
                            + " is the relay's own, for the event id: give the header another name, or the"
                            + " relay another eventIdHeader");
                }
                headers.add(header);
            }
            from = end + 1;
        }
        return headers;
    }

    private static Header line(String lines, int from, int end) {
        if (lines.startsWith("::", from)) {
            return encoded(lines.substring(from + 2, end));
        }
        var colon = lines.indexOf(':', from);
        if (colon < 0 || colon >= end) {
            return new RecordHeader(lines.substring(from, end), (byte[]) null);
        }
        if (colon == from) {
            throw new IllegalArgumentException("a header has no name: \"" + lines.substring(from, end) + '"');
        }
        var name = lines.substring(from, colon);
        var encoded = colon + 1 < end && lines.charAt(colon + 1) == ':';
        var begin = colon + (encoded ? 2 : 1);
        if (begin < end && lines.charAt(begin) == ' ') {
            begin++;
        }
        var value = lines.substring(begin, end);
        return new RecordHeader(name, encoded ? Base64.getDecoder().decode(value.strip()) : value.getBytes(UTF_8));
    }

    /** Reads what stands behind the two colons that an encoded name begins with. */
    private static Header encoded(String rest) {
        var colon = rest.indexOf(':');
        var name = new String(
                Base64.getDecoder()
                        .decode(
                                colon < 0
                                        ? rest.strip()
                                        : rest.substring(0, colon).strip()),
                UTF_8);
        if (colon < 0) {
            return new RecordHeader(name, (byte[]) null);
        }
        return rest.startsWith("::", colon)
                ? new RecordHeader(
                        name,
                        Base64.getDecoder().decode(rest.substring(colon + 2).strip()))
                : new RecordHeader(
                        name,
                        (rest.startsWith(": ", colon) ? rest.substring(colon + 2) : rest.substring(colon + 1))
                                .getBytes(UTF_8));
    }

    private static boolean isPlain(String text) {
        return text.chars().noneMatch(c -> c < ' ' || c == 0x7f);
    }
}
