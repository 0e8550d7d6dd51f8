package dev.bellwether.sql;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What a candidate tells about itself, as the text of a column: {@code key=value&key=value}, percent-encoded. */
final class Metadata {
    private Metadata() {}

    static String encode(Map<String, String> metadata) {
        return new TreeMap<>(metadata)
                .entrySet().stream()
                        .map(entry -> encode(entry.getKey()) + '=' + encode(entry.getValue()))
                        .collect(Collectors.joining("&"));
    }

    /** Reads what it can: what somebody else has written there must not hurt the election. */
    static Map<String, String> decode(String text) {
        if (text.isEmpty()) {
            return Map.of();
        }
        var metadata = new LinkedHashMap<String, String>();
        for (var pair : text.split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals >= 0) {
                metadata.put(decodeOne(pair.substring(0, equals)), decodeOne(pair.substring(equals + 1)));
            }
        }
        return metadata;
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static String decodeOne(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return text;
        }
    }
}
