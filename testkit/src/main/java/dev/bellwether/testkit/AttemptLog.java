package dev.bellwether.testkit;

import dev.bellwether.Metrics;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Metrics that write down what each candidate attempted, and what came of it. Thread-safe. */
public final class AttemptLog implements Metrics {
    private final Map<String, List<Attempt>> attempts = new ConcurrentHashMap<>();
    private final List<String> nonsense = new CopyOnWriteArrayList<>();

    /** Nothing was attempted yet. */
    public AttemptLog() {}

    @Override
    public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
        if (latency.isNegative()) {
            nonsense.add(candidate + " was told " + attempt + " after " + latency);
        }
        attempts.computeIfAbsent(candidate, name -> new CopyOnWriteArrayList<>())
                .add(attempt);
    }

    /** Returns what this one attempted, in order. */
    public List<Attempt> of(Actor actor) {
        return List.copyOf(attempts.getOrDefault(actor.id(), List.of()));
    }

    /** Returns whether this one attempted something with that outcome. */
    public boolean has(Actor actor, Attempt attempt) {
        return of(actor).contains(attempt);
    }

    /** Returns what was told and cannot be. */
    public List<String> nonsense() {
        return List.copyOf(nonsense);
    }
}
