package dev.bellwether;

import java.util.Optional;

/**
 * What became of a hand-over: see {@link Election#handOver}.
 *
 * <pre>{@code
 * var handOver = elections.election("billing").handOver("pod-7", Duration.ofSeconds(30));
 * var said = switch (handOver.outcome()) {
 *     case DONE -> "pod-7 leads";
 *     case NOBODY_LEADS -> "there is nothing to hand over";
 *     case NOT_A_CANDIDATE -> "pod-7 does not stand";
 *     case UNDER_WAY -> "another hand-over is under way";
 *     case NOT_READY -> "pod-7 was not ready in time; the leader leads on";
 *     case TAKEN_BY_ANOTHER -> "another leads, since one of the two died";
 * };
 * }</pre>
 *
 * @param outcome what became of it
 * @param leader who led when that was seen, if anybody did
 */
public record HandOver(Outcome outcome, Optional<Leader> leader) {
    /** How a hand-over ended. */
    public enum Outcome {
        /** The candidate has the seat. It may hear of that itself a moment later. */
        DONE,
        /** Nobody leads, so there is nothing to hand over. */
        NOBODY_LEADS,
        /** The candidate is not on the backend's list of who stands. Nothing was asked of anybody. */
        NOT_A_CANDIDATE,
        /** Another hand-over is under way. Nothing was asked of anybody. */
        UNDER_WAY,
        /** The candidate did not get ready in time, or failed in that. The leader leads on. */
        NOT_READY,
        /** Another candidate leads: the leader was gone before it could hand over, or its successor died then. */
        TAKEN_BY_ANOTHER
    }

    /** Returns whether the candidate leads that was to get the seat. */
    public boolean isDone() {
        return outcome == Outcome.DONE;
    }
}
