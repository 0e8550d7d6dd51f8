package dev.bellwether.zookeeper;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Fields;
import java.util.Map;

/**
 * What a candidate's node holds: its id, as the original has it; and behind a line break, only if there is anything to
 * say, its priority and metadata as {@link Fields}, one to a line.
 */
record NodeData(String candidate, int priority, Map<String, String> metadata) {
    private static final String PRIORITY = "priority";

    String text() {
        var more = new Fields.Builder()
                .andUnlessZero(PRIORITY, priority)
                .andMetadata(metadata)
                .build()
                .text();
        return more.isEmpty() ? candidate : candidate + '\n' + more.replace('&', '\n');
    }

    /** Reads what anybody may have written. */
    static NodeData of(String text) {
        var lines = text.split("\n", 2);
        var more = Fields.parse(lines.length > 1 ? lines[1].replace('\n', '&') : "");
        return new NodeData(lines[0], (int) more.number(PRIORITY), more.metadata());
    }

    Candidate shown(boolean leads) {
        return new Candidate(candidate, priority, metadata, leads);
    }
}
