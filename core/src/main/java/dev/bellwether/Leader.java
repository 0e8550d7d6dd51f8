package dev.bellwether;

import java.time.Instant;
import java.util.Map;

/**
 * Who leads an election, seen from outside.
 *
 * @param since when the seat was taken, by the infrastructure's clock: for display, never for decisions
 * @param metadata what the candidate tells about itself
 */
public record Leader(String candidate, long token, Instant since, Map<String, String> metadata) {
    /** Copies the metadata. */
    public Leader {
        metadata = Map.copyOf(metadata);
    }
}
