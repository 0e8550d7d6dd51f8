package dev.bellwether.spring;

import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** The elections that {@link LeaderOnly} methods name, as far as their beans have been made. Thread-safe. */
final class NamedElections {
    private final Set<String> names = new ConcurrentSkipListSet<>();

    void add(String election) {
        names.add(election);
    }

    Set<String> all() {
        return Set.copyOf(names);
    }
}
