package dev.bellwether;

import java.util.Map;

/**
 * One who stands for an election, seen from outside.
 *
 * @param leads whether this one held the seat when we looked
 */
public record Candidate(String id, int priority, Map<String, String> metadata, boolean leads) {
    /** Copies the metadata. */
    public Candidate {
        metadata = Map.copyOf(metadata);
    }
}
