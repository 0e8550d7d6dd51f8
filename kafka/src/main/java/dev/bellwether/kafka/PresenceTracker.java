package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.spi.Fields;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * The list of candidates on the wire: the group's assignor sends it to the owner, and the owner writes it into the
 * journal.
 */
final class PresenceTracker {
    private PresenceTracker() {}

    /**
     * A record and a group's state have their limits, 1 MB by default; there the metadata is left out, and not the
     * candidates.
     */
    private static final int MOST_METADATA = 200_000;

    static Fields of(List<Candidate> candidates) {
        var fields = new Fields.Builder();
        var metadata = 0;
        var sorted =
                candidates.stream().sorted(Comparator.comparing(Candidate::id)).toList();
        for (var i = 0; i < sorted.size(); i++) {
            var one = sorted.get(i);
            var told = Fields.with("id", one.id()).and("priority", one.priority());
            var brief = text(told.build());
            var whole = text(told.andMetadata(one.metadata()).build());
            metadata += 2 * (whole.length() - brief.length());
            fields.and("candidate" + i, metadata <= MOST_METADATA ? whole : brief);
        }
        return fields.build();
    }

    private static String text(Fields fields) {
        return new String(fields.bytes(), StandardCharsets.UTF_8);
    }

    static List<Candidate> parse(Fields fields) {
        var candidates = new ArrayList<Candidate>();
        for (Map.Entry<String, String> entry : fields.values().entrySet()) {
            if (entry.getKey().startsWith("candidate")) {
                var one = Fields.parse(entry.getValue().getBytes(StandardCharsets.UTF_8));
                candidates.add(new Candidate(one.text("id"), (int) one.number("priority"), one.metadata(), false));
            }
        }
        candidates.sort(Comparator.comparing(Candidate::id));
        return List.copyOf(candidates);
    }
}
