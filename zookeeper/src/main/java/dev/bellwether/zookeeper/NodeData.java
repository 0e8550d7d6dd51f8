package dev.bellwether.zookeeper;

import dev.bellwether.Candidate;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a candidate's node holds: its id, as the original has it; and behind a line break, only if there is anything to
 * say, its priority and metadata, as {@code name=value} lines with percent signs for what would confuse them.
 */
record NodeData(String candidate, int priority, Map<String, String> metadata) {
    private static final String PRIORITY = "priority";
    private static final String METADATA = "metadata.";

    String text() {
        var text = new StringBuilder(candidate);
        if (priority != 0) {
            text.append('\n').append(PRIORITY).append('=').append(priority);
        }
        new TreeMap<>(metadata)
                .forEach((key, value) -> text.append('\n')
                        .append(METADATA)
                        .append(escape(key))
                        .append('=')
                        .append(escape(value)));
        return text.toString();
    }

    /** Reads what anybody may have written. */
    static NodeData of(String text) {
        var lines = text.split("\n", -1);
        var priority = 0;
        var metadata = new TreeMap<String, String>();
        for (var i = 1; i < lines.length; i++) {
            var equals = lines[i].indexOf('=');
            if (equals < 0) {
                continue;
            }
            var name = lines[i].substring(0, equals);
            var value = lines[i].substring(equals + 1);
            if (name.equals(PRIORITY) && value.matches("-?\\d{1,4}")) {
                priority = Integer.parseInt(value);
            } else if (name.startsWith(METADATA)) {
                metadata.put(Paths.decode(name.substring(METADATA.length())), Paths.decode(value));
            }
        }
        return new NodeData(lines[0], priority, metadata);
    }

    Candidate shown(boolean leads) {
        return new Candidate(candidate, priority, metadata, leads);
    }

    private static String escape(String text) {
        return text.replace("%", "%25").replace("\n", "%0A").replace("=", "%3D");
    }
}
