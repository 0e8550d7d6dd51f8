package dev.bellwether.kafka;

import dev.bellwether.spi.RecordKey;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** How the key of a record is written in the log: {@code seats/billing}, {@code standbys/billing/0/abc}. */
final class LogKey {
    private static final List<String> FOLDERS = List.of("others/", "seats/", "sessions/", "standbys/");

    private LogKey() {}

    static String name(RecordKey key) {
        return folder(key.parts().size())
                + key.parts().stream().map(LogKey::escaped).collect(Collectors.joining("/"));
    }

    /** Returns what the names of all keys begin with that have this many parts and begin with these. */
    static String beginning(List<String> beginning, int parts) {
        return folder(parts)
                + beginning.stream().map(part -> escaped(part) + "/").collect(Collectors.joining());
    }

    /** Returns the key of this name, if it has this many parts. */
    static Optional<RecordKey> parse(String name, int parts) {
        var folder = folder(parts);
        if (!name.startsWith(folder)) {
            return Optional.empty();
        }
        try {
            var found = Arrays.stream(name.substring(folder.length()).split("/", -1))
                    .map(part -> URLDecoder.decode(part, StandardCharsets.UTF_8))
                    .toList();
            return found.size() == parts ? Optional.of(new RecordKey(found)) : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // others may write to the topic, too
        }
    }

    private static String folder(int parts) {
        return parts < FOLDERS.size() ? FOLDERS.get(parts) : FOLDERS.get(0);
    }

    private static String escaped(String part) {
        return URLEncoder.encode(part, StandardCharsets.UTF_8);
    }
}
