package dev.bellwether;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * A candidate, seen from outside.
 *
 * @param leads whether this one held the seat when we looked
 * @param heard when the backend last had a sign of it, where standbys give signs only now and then: one that was killed
 *     since is listed still. Empty where the backend itself takes those off the list that are gone
 */
public record Candidate(String id, int priority, Map<String, String> metadata, boolean leads, Optional<Instant> heard) {
    /** One that is there. */
    public Candidate(String id, int priority, Map<String, String> metadata, boolean leads) {
        this(id, priority, metadata, leads, Optional.empty());
    }

    /** Copies the metadata. */
    public Candidate {
        metadata = Map.copyOf(metadata);
    }
}
