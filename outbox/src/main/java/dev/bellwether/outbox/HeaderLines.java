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
 * Headers as text, a line each, so that any language writes them with plain SQL: {@code name: value}; {@code name:: base64} for
 * what is no text of one line; {@code name} alone for null.
 */
final class HeaderLines {
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
            lines.append(name(header.getKey()));
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

    /** Returns the name if it can be written. */
    static String name(String name) {
        if (name.isEmpty() || name.indexOf(':') >= 0 || !isPlain(name) || !name.equals(name.strip())) {
            throw new IllegalArgumentException(
                    "header name \"" + name
                            + "\": it must not be empty, nor hold a colon or a control character, nor begin or end with a blank");
        }
        return name;
    }

    /**
     * Reads what {@link #write}, or somebody by hand, has written.
     *
     * @throws IllegalArgumentException if it is malformed
     */
    static List<Header> read(String lines) {
        var headers = new ArrayList<Header>(4);
        var from = 0;
        while (from < lines.length()) {
            var end = lines.indexOf('\n', from);
            if (end < 0) {
                end = lines.length();
            }
            if (end > from) {
                headers.add(line(lines, from, end));
            }
            from = end + 1;
        }
        return headers;
    }

    private static Header line(String lines, int from, int end) {
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

    private static boolean isPlain(String text) {
        return text.chars().noneMatch(c -> c < ' ' || c == 0x7f);
    }
}
