package dev.bellwether.testkit;

import java.util.Map;
import java.util.TreeMap;

/** What the server kept at one time, to be compared with what it keeps later. */
final class Leftovers {
    private final Stage stage;
    private final Map<String, Long> before;

    private Leftovers(Stage stage, Map<String, Long> before) {
        this.stage = stage;
        this.before = before;
    }

    static Leftovers of(Stage stage) {
        return new Leftovers(stage, count(stage));
    }

    /** Waits until nothing has grown; servers take a moment to see a connection go. */
    void requireSame() {
        try {
            stage.eventually("no leftovers", () -> grown().isEmpty());
        } catch (AssertionError e) {
            throw new AssertionError("left behind on the server, beyond " + before + ": " + grown(), e);
        }
    }

    private Map<String, Long> grown() {
        var grown = new TreeMap<String, Long>();
        count(stage).forEach((kind, count) -> {
            var more = count - before.getOrDefault(kind, 0L);
            if (more > 0) {
                grown.put(kind, more);
            }
        });
        return grown;
    }

    private static Map<String, Long> count(Stage stage) {
        return Map.copyOf(stage.infrastructure().leftovers());
    }
}
