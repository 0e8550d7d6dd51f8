package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** The list of candidates on the wire: the group's assignor sends it to the owner, and the owner writes it into the journal. */
final class Roll {
    private Roll() {}

    static Fields of(List<Candidate> candidates) {
        var fields = new Fields.Builder();
        var sorted =
                candidates.stream().sorted(Comparator.comparing(Candidate::id)).toList();
        for (var i = 0; i < sorted.size(); i++) {
            var one = sorted.get(i);
            fields.and(
                    "candidate" + i,
                    new String(
                            Fields.with("id", one.id())
                                    .and("priority", one.priority())
                                    .andMetadata(one.metadata())
                                    .build()
                                    .bytes(),
                            StandardCharsets.UTF_8));
        }
        return fields.build();
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
